import { Client } from 'sdk-1-11/client/index.js'
import { StdioClientTransport } from 'sdk-1-11/client/stdio.js'
import { StreamableHTTPClientTransport } from 'sdk-1-11/client/streamableHttp.js'
import { CreateMessageRequestSchema, ListRootsRequestSchema, ResultSchema } from 'sdk-1-11/types.js'
import { type Connect, Heard, type Peer } from './peer.ts'

type ClientTransport = Parameters<Client['connect']>[0]

/**
 * The client of SDK 1.11, as programs of early 2025 still have it: 2025-03-26, no version header, no elicitation, no
 * resource links.
 */
export const connectOldV1: Connect = async (target, answers): Promise<Peer> => {
  const heard = new Heard()
  const client = new Client(
    { name: 'e2e-v1-old', version: '1.0.0' },
    { capabilities: { roots: { listChanged: true }, sampling: {} } }
  )
  client.fallbackNotificationHandler = async message => heard.push(message)
  client.setRequestHandler(ListRootsRequestSchema, request => {
    heard.push(request)
    return { roots: answers.roots }
  })
  client.setRequestHandler(CreateMessageRequestSchema, request => {
    heard.push(request)
    return { role: 'assistant', model: 'e2e', content: { type: 'text', text: answers.sample } }
  })
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ command: target.command, args: [...target.args], stderr: 'ignore' })
  await client.connect(transport as ClientTransport)
  return {
    // Not told by this SDK.
    version: undefined,
    capabilities: client.getServerCapabilities() ?? {},
    instructions: client.getInstructions(),
    heard,
    listTools: () => client.listTools(),
    callTool: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, undefined, options),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    readResource: uri => client.readResource({ uri }),
    subscribe: uri => client.subscribeResource({ uri }),
    unsubscribe: uri => client.unsubscribeResource({ uri }),
    listPrompts: () => client.listPrompts(),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (ref, argument) => client.complete({ ref, argument: { ...argument } }),
    listenToLists: async () => {},
    setLevel: level => client.setLoggingLevel(level),
    ping: () => client.ping(),
    rootsChanged: () => client.sendRootsListChanged(),
    request: (method, params) => client.request({ method, params }, ResultSchema),
    async close() {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession()
      await client.close()
    }
  }
}
