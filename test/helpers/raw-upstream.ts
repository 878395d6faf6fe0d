/** An MCP server on a bare socket: keeps what came as it came, and takes nothing but strict HTTP/1.1. */
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { readRequests, type StrictRequest } from './strict-http.ts'

/** The headers that the gateway sends of its own accord. */
const ownHeaders = new Set([
  'host',
  'connection',
  'accept',
  'accept-encoding',
  'content-type',
  'content-length',
  'mcp-session-id',
  'mcp-protocol-version'
])

const initializeResult =
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}'

export class RawUpstream {
  /** Every request, in the order in which they were complete. */
  readonly requests: StrictRequest[] = []
  /** What was not as it should be. */
  readonly faults: string[] = []
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()

  private constructor() {
    this.#server = net.createServer(socket => this.#serve(socket))
  }

  static async start(): Promise<RawUpstream> {
    const upstream = new RawUpstream()
    upstream.#server.listen(0, '127.0.0.1')
    await once(upstream.#server, 'listening')
    return upstream
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`
  }

  /** The tool calls among the requests from one on: their bodies. */
  calls(from = 0): string[] {
    return this.requests.slice(from).flatMap(({ body }) => (body.includes('"tools/call"') ? [body.toString()] : []))
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #serve(socket: net.Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    let kept: Buffer = Buffer.alloc(0)
    socket.on('data', chunk => {
      kept = Buffer.concat([kept, chunk])
      const { requests, end, why, length } = readRequests(kept)
      kept = kept.subarray(length)
      for (const request of requests) {
        this.#check(request)
        this.requests.push(request)
        socket.write(answerTo(request))
      }
      if (end !== 'bad') return
      this.faults.push(`${why}: ${kept.toString('latin1')}`)
      socket.destroy()
    })
  }

  /** One framing, the gateway's own, and no header of the client. */
  #check({ method, target, version, headers, chunked }: StrictRequest): void {
    const names = headers.map(([name]) => name)
    if (target !== '/mcp' || version !== '1.1') this.faults.push(`${method} ${target} HTTP/${version}`)
    if (new Set(names).size !== names.length) this.faults.push(`repeated: ${names}`)
    const strange = names.filter(name => !ownHeaders.has(name))
    if (strange.length > 0) this.faults.push(`headers: ${strange}`)
    if (chunked || (method === 'POST') !== names.includes('content-length')) this.faults.push('framing')
  }
}

function answerTo({ method, body }: StrictRequest): string {
  if (method === 'GET') return 'HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n'
  if (method !== 'POST') return 'HTTP/1.1 204 No Content\r\n\r\n'
  const message = JSON.parse(body.toString()) as { id?: unknown; method?: string; params?: { arguments?: unknown } }
  if (message.id === undefined) return 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n'
  const initialize = message.method === 'initialize'
  const result = initialize
    ? initializeResult
    : JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(message.params?.arguments ?? null) }] })
  const text = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${result}}`
  const session = initialize ? 'Mcp-Session-Id: upstream-session\r\n' : ''
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${session}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}
