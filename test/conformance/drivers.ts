/** Clients of the official SDKs, alike whichever revision they speak. They accept what they are asked, as the schema suggests. */
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'

export interface Tool {
  readonly name: string
  readonly inputSchema: Record<string, unknown>
}

export interface Driver {
  listTools(): Promise<readonly Tool[]>
  /** Resolves to all text of the result; rejects when it is an error. */
  callTool(name: string, args?: Record<string, unknown>): Promise<string>
  /** Their URIs. */
  listResources(): Promise<readonly string[]>
  readResource(uri: string): Promise<unknown>
  /** Their names. */
  listPrompts(): Promise<readonly string[]>
  getPrompt(name: string): Promise<unknown>
  close(): Promise<void>
}

const info = { name: 'conformance', version: '1.0.0' }
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} }

interface Property {
  readonly type?: string
  readonly default?: string | number | boolean
}

/** Defaults; without one a tick where one can be set. */
function accepted(params: unknown) {
  const { requestedSchema } = params as { requestedSchema?: { properties?: Record<string, Property> } }
  const content: Record<string, string | number | boolean> = {}
  for (const [name, { type, default: value }] of Object.entries(requestedSchema?.properties ?? {})) {
    if (value !== undefined) content[name] = value
    else if (type === 'boolean') content[name] = true
  }
  return { action: 'accept' as const, content }
}

interface Result {
  readonly isError?: boolean | undefined
  readonly content?: unknown
}

function textOf({ isError, content }: Result): string {
  const text = (content as { text?: string }[]).map(block => block.text ?? '').join('\n')
  if (isError === true) throw new Error(`The tool failed: ${text}`)
  return text
}

export async function connectLegacy(url: string): Promise<Driver> {
  const client = new LegacyClient(info, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, request => accepted(request.params))
  const transport = new LegacyTransport(new URL(url))
  await client.connect(transport as Parameters<LegacyClient['connect']>[0])
  return {
    listTools: async () => (await client.listTools()).tools,
    callTool: async (name, args = {}) => textOf((await client.callTool({ name, arguments: args })) as Result),
    listResources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    readResource: uri => client.readResource({ uri }),
    listPrompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    getPrompt: name => client.getPrompt({ name }),
    async close() {
      await transport.terminateSession()
      await client.close()
    }
  }
}

export async function connectModern(url: string): Promise<Driver> {
  const client = new ModernClient(info, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } })
  client.setRequestHandler('elicitation/create', request => accepted(request.params))
  await client.connect(new ModernTransport(new URL(url)))
  return {
    listTools: async () => (await client.listTools()).tools,
    callTool: async (name, args = {}) => textOf(await client.callTool({ name, arguments: args })),
    listResources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    readResource: uri => client.readResource({ uri }),
    listPrompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    getPrompt: name => client.getPrompt({ name }),
    close: () => client.close()
  }
}
