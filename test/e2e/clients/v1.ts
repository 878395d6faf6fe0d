import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResultSchema
} from '@modelcontextprotocol/sdk/types.js'
import { type Answers, type Capabilities, type Connect, everything, Heard, type Peer } from './peer.ts'

type ClientTransport = Parameters<Client['connect']>[0]

const clientWith = (answers: Answers, heard: Heard, capabilities: Capabilities): Client => {
  const client = new Client({ name: 'e2e-v1', version: '1.0.0' }, { capabilities })
  client.fallbackNotificationHandler = async message => heard.push(message)
  client.setRequestHandler(ListRootsRequestSchema, request => {
    heard.push(request)
    return { roots: answers.roots }
  })
  client.setRequestHandler(CreateMessageRequestSchema, request => {
    heard.push(request)
    if (answers.model) return answers.model(request.params)
    return { role: 'assistant', model: 'e2e', content: { type: 'text', text: answers.sample } }
  })
  client.setRequestHandler(ElicitRequestSchema, request => {
    heard.push(request)
    return answers.user?.(request.params) ?? answers.elicitation
  })
  return client
}

/** The client of SDK v1 as it is now: 2025-11-25. */
export const connectV1: Connect = async (target, answers, capabilities = everything): Promise<Peer> => {
  const heard = new Heard()
  const client = clientWith(answers, heard, capabilities)
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ command: target.command, args: [...target.args], stderr: 'ignore' })
  // The SDK types optional callbacks as `T | undefined`, which exactOptionalPropertyTypes tells apart.
  await client.connect(transport as ClientTransport)
  return {
    get version() {
      return transport instanceof StreamableHTTPClientTransport ? transport.protocolVersion : undefined
    },
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
    getPrompt: (name, args) => client.getPrompt({ name, ...(args && { arguments: args }) }),
    complete: (ref, argument, context) => client.complete({ ref, argument, ...(context && { context }) }),
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
