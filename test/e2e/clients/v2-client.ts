import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import * as z from 'zod'
import { type Answers, type Capabilities, Heard, type Peer, type Target } from './peer.ts'

type Negotiation = NonNullable<ConstructorParameters<typeof Client>[1]>['versionNegotiation']

export interface V2Client {
  readonly client: Client
  readonly transport: StreamableHTTPClientTransport | StdioClientTransport
  /** What of a peer is the same in both eras. */
  readonly shared: Pick<
    Peer,
    | 'capabilities'
    | 'instructions'
    | 'heard'
    | 'listTools'
    | 'listResources'
    | 'listResourceTemplates'
    | 'readResource'
    | 'listPrompts'
    | 'getPrompt'
    | 'complete'
    | 'ping'
    | 'rootsChanged'
    | 'request'
  >
}

const anyResult = z.looseObject({})

/** A client of SDK v2, connected. */
export async function connectV2(
  name: string,
  versionNegotiation: Exclude<Negotiation, undefined>,
  target: Target,
  answers: Answers,
  capabilities: Capabilities
): Promise<V2Client> {
  const heard = new Heard()
  const client = new Client({ name, version: '1.0.0' }, { capabilities, versionNegotiation })
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
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ command: target.command, args: [...target.args], stderr: 'ignore' })
  await client.connect(transport as Parameters<Client['connect']>[0])
  return {
    client,
    transport,
    shared: {
      capabilities: client.getServerCapabilities() ?? {},
      instructions: client.getInstructions(),
      heard,
      listTools: () => client.listTools(),
      listResources: () => client.listResources(),
      listResourceTemplates: () => client.listResourceTemplates(),
      readResource: uri => client.readResource({ uri }),
      listPrompts: () => client.listPrompts(),
      getPrompt: (name, args) => client.getPrompt({ name, ...(args && { arguments: args }) }),
      complete: (ref, argument, context) => client.complete({ ref, argument, ...(context && { context }) }),
      ping: () => client.ping(),
      rootsChanged: () => client.sendRootsListChanged(),
      request: (method, params) => client.request({ method, params }, anyResult)
    }
  }
}
