import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Connect, everything, type Peer } from './peer.ts'
import { connectV2 } from './v2-client.ts'

/** The client of SDK v2 told to speak as in 2025: `initialize`, sessions, 2025-11-25. */
export const connectV2Legacy: Connect = async (target, answers, capabilities = everything): Promise<Peer> => {
  const { client, transport, shared } = await connectV2('e2e-v2', { mode: 'legacy' }, target, answers, capabilities)
  return {
    ...shared,
    get version() {
      return client.getNegotiatedProtocolVersion()
    },
    callTool: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, options),
    subscribe: uri => client.subscribeResource({ uri }),
    unsubscribe: uri => client.unsubscribeResource({ uri }),
    listenToLists: async () => {},
    setLevel: level => client.setLoggingLevel(level),
    async close() {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession()
      await client.close()
    }
  }
}
