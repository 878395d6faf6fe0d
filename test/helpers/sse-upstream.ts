/** Serves a scripted server over HTTP+SSE (2024-11-05 basic/transports), with faults where a test wants them. */
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Outlet, Scripted } from './scripted.ts'

export interface SseUpstreamOptions {
  /** Default: any that is free. */
  port?: number
  /** What the stream begins with; by default the event that names the endpoint. */
  begin?: (stream: ServerResponse, session: number) => void
  /** The tests' own answer; true: the request was dealt with. */
  intercept?: (request: IncomingMessage, response: ServerResponse, body: string) => boolean | Promise<boolean>
}

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
}

export class SseUpstream {
  readonly server: Scripted
  readonly options: SseUpstreamOptions
  readonly seen: Seen[] = []
  readonly streams = new Map<number, ServerResponse>()
  readonly #http: http.Server
  #last = 0

  private constructor(server: Scripted, options: SseUpstreamOptions) {
    this.server = server
    this.options = options
    this.#http = http.createServer((request, response) => void this.#serve(request, response))
    server.onForget = () => {
      this.seen.length = 0
    }
    server.outside = json => {
      for (const stream of this.streams.values()) stream.write(`data: ${json}\n\n`)
      return this.streams.size > 0
    }
  }

  static async start(server = new Scripted(), options: SseUpstreamOptions = {}): Promise<SseUpstream> {
    const upstream = new SseUpstream(server, options)
    upstream.#http.listen(options.port ?? 0, '127.0.0.1')
    await once(upstream.#http, 'listening')
    return upstream
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }

  /** Behind a prefix, with a query. */
  get url(): string {
    return `${this.origin}/mcp1/sse?tenant=a%20b`
  }

  /** Requests of an HTTP method. */
  seenOf(method: string): Seen[] {
    return this.seen.filter(one => one.method === method)
  }

  async close(): Promise<void> {
    this.#http.close()
    this.#http.closeAllConnections()
    await once(this.#http, 'close')
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    request.on('error', () => {})
    response.on('error', () => {})
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    this.seen.push({ method: request.method!, url: request.url!, headers: request.headers })
    if (await this.options.intercept?.(request, response, body)) return
    const { pathname, searchParams } = new URL(request.url!, this.origin)
    if (request.method === 'GET' && pathname === '/mcp1/sse') this.#stream(response)
    else if (request.method === 'POST' && pathname === '/mcp1/messages') {
      this.#post(response, Number(searchParams.get('sid')), body)
    } else response.writeHead(404).end()
  }

  #stream(response: ServerResponse): void {
    const session = ++this.#last
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    response.flushHeaders()
    this.streams.set(session, response)
    response.on('close', () => this.streams.delete(session))
    if (this.options.begin !== undefined) this.options.begin(response, session)
    else response.write(`event: endpoint\ndata: messages?sid=${session}\n\n`)
  }

  #post(response: ServerResponse, session: number, body: string): void {
    const stream = this.streams.get(session)
    if (stream === undefined) return void response.writeHead(404).end('Could not find session')
    response.writeHead(202).end('Accepted')
    const outlet: Outlet = {
      write: json => void stream.write(`event: message\ndata: ${json}\n\n`),
      die: () => void setTimeout(() => stream.socket?.resetAndDestroy(), 5)
    }
    this.server.accept(body, outlet, session)
  }
}
