import type { Client, McpSubscription } from '@modelcontextprotocol/client'
import { type Connect, everything, type Peer } from './peer.ts'
import { connectV2 } from './v2-client.ts'

/**
 * The client of SDK v2 held to 2026-07-28. Subscribing is a `subscriptions/listen` of its own for each resource; the log
 * level goes along with each request.
 */
export const connectV2Modern: Connect = async (target, answers, capabilities = everything): Promise<Peer> => {
  const pinned = { mode: { pin: '2026-07-28' } }
  const { client, shared } = await connectV2('e2e-v2-modern', pinned, target, answers, capabilities)
  const subscriptions = new Map<string, McpSubscription>()
  let meta = {}
  const listen = async (key: string, filter: Parameters<Client['listen']>[0]): Promise<void> => {
    subscriptions.set(key, await client.listen(filter))
  }
  return {
    ...shared,
    version: client.getNegotiatedProtocolVersion(),
    callTool: (name, args = {}, options = {}) => client.callTool({ name, arguments: args, _meta: meta }, options),
    subscribe: uri => listen(uri, { resourceSubscriptions: [uri] }),
    unsubscribe: async uri => subscriptions.get(uri)?.close(),
    listenToLists: () =>
      listen('lists', { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }),
    async setLevel(level) {
      meta = { 'io.modelcontextprotocol/logLevel': level }
    },
    async close() {
      await Promise.all([...subscriptions.values()].map(subscription => subscription.close()))
      await client.close()
    }
  }
}
