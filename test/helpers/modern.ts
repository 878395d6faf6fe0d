/** A client of 2026-07-28 that says what it is told: its headers mirror its body unless a test wants others. */
import { nameParam } from '../../src/protocol/named-by.ts'
import { encodeHeader } from '../../src/protocol/sentinel.ts'
import { type RawRequest, type RawResponse, send } from './raw-client.ts'

export interface Saying {
  /** Beside what every request has, or in its place; undefined: left out. */
  readonly meta?: Readonly<Record<string, unknown>>
  readonly headers?: RawRequest['headers']
  readonly id?: string | number
  readonly signal?: AbortSignal
}

const key = (name: string): string => `io.modelcontextprotocol/${name}`

export const logLevel = (level: string): Record<string, string> => ({ [key('logLevel')]: level })

export class ModernClient {
  readonly url: string
  readonly version: string
  readonly capabilities: unknown
  readonly agent: RawRequest['agent']
  lastId = 0

  constructor(
    url: string,
    {
      version = '2026-07-28',
      capabilities = {},
      agent
    }: { version?: string; capabilities?: unknown; agent?: RawRequest['agent'] } = {}
  ) {
    this.url = url
    this.version = version
    this.capabilities = capabilities
    this.agent = agent
  }

  request(method: string, params: Readonly<Record<string, unknown>> = {}, saying: Saying = {}): Promise<RawResponse> {
    const { meta, headers, id = ++this.lastId, signal } = saying
    const _meta = {
      [key('protocolVersion')]: this.version,
      [key('clientInfo')]: { name: 'modern', version: '1' },
      [key('clientCapabilities')]: this.capabilities,
      ...meta
    }
    const name = nameParam(method)
    const named = name === undefined ? undefined : params[name]
    return send(this.url, {
      agent: this.agent,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': this.version,
        'mcp-method': method,
        ...(typeof named === 'string' ? { 'mcp-name': encodeHeader(named) } : {}),
        ...headers
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
      ...(signal === undefined ? {} : { signal })
    })
  }

  call(name: string, args: unknown = {}, saying?: Saying): Promise<RawResponse> {
    return this.request('tools/call', { name, arguments: args }, saying)
  }
}

/** The last message of a response, whichever way it came. */
export async function lastOf(response: RawResponse): Promise<any> {
  return response.json ?? (await response.events.whole()).messages.at(-1)
}
