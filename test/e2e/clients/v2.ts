import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import * as z from 'zod'
import { type Answers, type Capabilities, type Connect, everything, Heard, type Peer } from './peer.ts'

type ClientTransport = Parameters<Client['connect']>[0]

const anyResult = z.looseObject({})

const clientWith = (answers: Answers, heard: Heard, capabilities: Capabilities): Client => {
  const client = new Client(
    { name: 'e2e-v2', version: '1.0.0' },
    {
      capabilities,
      versionNegotiation: { mode: 'legacy' }
    }
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

/** The client of SDK v2 told to speak as in 2025: `initialize`, sessions, 2025-11-25. */
export const connectV2Legacy: Connect = async (target, answers, capabilities = everything): Promise<Peer> => {
  const heard = new Heard()
  const client = clientWith(answers, heard, capabilities)
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ command: target.command, args: [...target.args], stderr: 'ignore' })
  await client.connect(transport as ClientTransport)
  return {
    get version() {
      return client.getNegotiatedProtocolVersion()
    },
    capabilities: client.getServerCapabilities() ?? {},
    instructions: client.getInstructions(),
    heard,
    listTools: () => client.listTools(),
    callTool: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, options),
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
    request: (method, params) => client.request({ method, params }, anyResult),
    async close() {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession()
      await client.close()
    }
  }
}
