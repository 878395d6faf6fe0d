import { Client, type McpSubscription, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import * as z from 'zod'
import { type Answers, type Capabilities, type Connect, everything, Heard, type Peer } from './peer.ts'

type ClientTransport = Parameters<Client['connect']>[0]

const anyResult = z.looseObject({})

const clientWith = (answers: Answers, heard: Heard, capabilities: Capabilities): Client => {
  const client = new Client(
    { name: 'e2e-v2-modern', version: '1.0.0' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } }
  )
  client.fallbackNotificationHandler = async message => heard.push(message)
  client.setRequestHandler('roots/list', request => {
    heard.push(request)
    return { roots: answers.roots }
  })
  client.setRequestHandler('sampling/createMessage', request => {
    heard.push(request)
    if (answers.model) return answers.model(request.params)
    return { role: 'assistant', model: 'e2e', content: { type: 'text', text: answers.sample } }
  })
  client.setRequestHandler('elicitation/create', request => {
    heard.push(request)
    return answers.user?.(request.params) ?? answers.elicitation
  })
  return client
}

/**
 * The client of SDK v2 held to 2026-07-28. Subscribing is a `subscriptions/listen` of its own for each resource; the log
 * level goes along with each request.
 */
export const connectV2Modern: Connect = async (target, answers, capabilities = everything): Promise<Peer> => {
  const heard = new Heard()
  const client = clientWith(answers, heard, capabilities)
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ command: target.command, args: [...target.args], stderr: 'ignore' })
  await client.connect(transport as ClientTransport)
  const subscriptions = new Map<string, McpSubscription>()
  let meta = {}
  const listen = async (key: string, filter: Parameters<Client['listen']>[0]): Promise<void> => {
    subscriptions.set(key, await client.listen(filter))
  }
  return {
    version: client.getNegotiatedProtocolVersion(),
    capabilities: client.getServerCapabilities() ?? {},
    instructions: client.getInstructions(),
    heard,
    listTools: () => client.listTools(),
    callTool: (name, args = {}, options = {}) => client.callTool({ name, arguments: args, _meta: meta }, options),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    readResource: uri => client.readResource({ uri }),
    subscribe: uri => listen(uri, { resourceSubscriptions: [uri] }),
    unsubscribe: async uri => subscriptions.get(uri)?.close(),
    listPrompts: () => client.listPrompts(),
    getPrompt: (name, args) => client.getPrompt({ name, ...(args && { arguments: args }) }),
    complete: (ref, argument, context) => client.complete({ ref, argument, ...(context && { context }) }),
    listenToLists: () =>
      listen('lists', { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }),
    async setLevel(level) {
      meta = { 'io.modelcontextprotocol/logLevel': level }
    },
    ping: () => client.ping(),
    rootsChanged: () => client.sendRootsListChanged(),
    request: (method, params) => client.request({ method, params }, anyResult),
    async close() {
      await Promise.all([...subscriptions.values()].map(subscription => subscription.close()))
      await client.close()
    }
  }
}
