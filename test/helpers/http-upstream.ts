/** Serves a scripted server over Streamable HTTP (2025-11-25 basic/transports), with faults where a test wants them. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { read } from '../../src/protocol/message.ts'
import { type Outlet, Scripted } from './scripted.ts'

export interface Seen {
  readonly method: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export interface HttpUpstreamOptions {
  /** Default: one that is free. */
  port?: number
  /** Responses that come first go as JSON. Default true. */
  json?: boolean
  /** Give out `Mcp-Session-Id` and ask for it. Default true. */
  sessions?: boolean
  /** Events have ids, and streams are kept for resumption. Default false. */
  events?: boolean
  /** Streams begin with an event that has an id and no data. Only with `events`. Default false. */
  priming?: boolean
  /** `retry` sent with the first event, milliseconds. */
  retry?: number
  /** Status of GET without `Last-Event-ID`. Default 200: a stream. */
  get?: number
  /** The tests' own answer; true: the request was dealt with. */
  intercept?: (request: IncomingMessage, response: ServerResponse, body: string) => boolean | Promise<boolean>
}

interface Stream {
  readonly id: string
  readonly events: string[]
  over: boolean
  live: ServerResponse | undefined
}

export class HttpUpstream {
  readonly server: Scripted
  readonly options: HttpUpstreamOptions
  readonly seen: Seen[] = []
  readonly sessions = new Set<string>()
  /** What was said to open each session, over or not: the text of the request. */
  readonly opened = new Map<string, string>()
  readonly #streams = new Map<string, Stream>()
  readonly #http: http.Server
  #port = 0
  #listening: ServerResponse | undefined
  #channel: Stream = { id: 'channel', events: [], over: false, live: undefined }

  private constructor(server: Scripted, options: HttpUpstreamOptions) {
    this.server = server
    this.options = options
    this.#http = http.createServer(
      { keepAliveTimeout: 60_000 },
      (request, response) => void this.#serve(request, response)
    )
    server.onForget = () => {
      this.seen.length = 0
      this.#streams.clear()
      for (const session of this.opened.keys()) if (!this.sessions.has(session)) this.opened.delete(session)
    }
    server.outside = json => {
      if (this.#listening === undefined) return false
      this.#event(this.#channel, json)
      return true
    }
  }

  static async start(server: Scripted = new Scripted(), options: HttpUpstreamOptions = {}): Promise<HttpUpstream> {
    const upstream = new HttpUpstream(server, options)
    upstream.#http.listen(options.port ?? 0, '127.0.0.1')
    await once(upstream.#http, 'listening')
    return upstream
  }

  get port(): number {
    return (this.#http.address() as AddressInfo | null)?.port ?? this.#port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp?tenant=a%20b`
  }

  /** Whether a GET stream is open. */
  get listening(): boolean {
    return this.#listening !== undefined
  }

  /** Requests of a HTTP method. */
  seenOf(method: string): Seen[] {
    return this.seen.filter(one => one.method === method)
  }

  /** Ends the GET stream. */
  hangUp(): void {
    this.#listening?.end()
  }

  /** Cuts every connection. */
  cut(): void {
    this.#http.closeAllConnections()
  }

  /** Nobody listens any more: connections are refused. */
  async down(): Promise<void> {
    this.#port = this.port
    this.#http.close()
    this.cut()
    await once(this.#http, 'close')
  }

  /** Listens again, where it did before. */
  async up(): Promise<void> {
    this.#http.listen(this.#port, '127.0.0.1')
    await once(this.#http, 'listening')
  }

  async close(): Promise<void> {
    if (this.#http.listening) await this.down()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    request.on('error', () => {})
    response.on('error', () => {})
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    this.seen.push({ method: request.method!, headers: request.headers, body })
    if (await this.options.intercept?.(request, response, body)) return
    if (request.method === 'POST') this.#post(request, response, body)
    else if (request.method === 'GET') this.#get(request, response)
    else this.#delete(request, response)
  }

  #post(request: IncomingMessage, response: ServerResponse, body: string): void {
    const message = read(Buffer.from(body), 1_000)
    const initialize = 'method' in message && message.method === 'initialize'
    if (!initialize && !this.#knows(request)) return void response.writeHead(404).end()
    const known = String(request.headers['mcp-session-id'] ?? '')
    if ('kind' in message && message.kind !== 'request') {
      this.server.accept(body, { write: () => {}, die: () => {} }, known)
      return void response.writeHead(202).end()
    }
    const headers: Record<string, string> = {}
    if (initialize && this.options.sessions !== false) {
      const session = randomUUID()
      this.sessions.add(session)
      this.opened.set(session, body)
      headers['mcp-session-id'] = session
    }
    this.server.accept(body, this.#outlet(response, headers), known)
  }

  #outlet(response: ServerResponse, headers: Record<string, string>): Outlet {
    let stream: Stream | undefined
    const open = (): Stream => {
      stream = { id: randomUUID(), events: [], over: false, live: response }
      this.#streams.set(stream.id, stream)
      response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' })
      this.#begin(stream)
      return stream
    }
    return {
      write: (json, last) => {
        if (stream === undefined && last && this.options.json !== false) {
          response.writeHead(200, { ...headers, 'content-type': 'application/json' }).end(json)
          return
        }
        const target = stream ?? open()
        this.#event(target, json)
        if (!last) return
        target.over = true
        // A moment later, so that what a test says after the response still goes out.
        setImmediate(() => target.live?.end())
      },
      die: () => {
        // What was written goes out before the connection breaks.
        const socket = response.socket
        setTimeout(() => socket?.resetAndDestroy(), 5)
      }
    }
  }

  #begin(stream: Stream): void {
    const { events, priming, retry } = this.options
    if (events && priming) {
      stream.events.push('')
      this.#write(stream, stream.events.length, '')
    } else if (retry !== undefined) {
      stream.live?.write(`retry: ${retry}\n\n`)
    }
  }

  #event(stream: Stream, json: string): void {
    stream.events.push(json)
    this.#write(stream, stream.events.length, json)
  }

  #write(stream: Stream, number: number, json: string): void {
    const { live } = stream
    if (live === undefined || live.destroyed) return
    if (this.options.events) live.write(`id: ${stream.id}_${number}\n`)
    if (number === 1 && this.options.retry !== undefined) live.write(`retry: ${this.options.retry}\n`)
    live.write(`data: ${json}\n\n`)
  }

  #get(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#knows(request)) return void response.writeHead(404).end()
    const cursor = /^(.+)_(\d+)$/.exec(String(request.headers['last-event-id'] ?? ''))
    if (cursor !== null && cursor[1] !== 'channel') return void this.#resume(response, cursor[1]!, Number(cursor[2]))
    const status = this.options.get ?? 200
    if (status !== 200) return void response.writeHead(status).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    this.#listening = response
    this.#channel.live = response
    for (let i = Number(cursor?.[2] ?? this.#channel.events.length); i < this.#channel.events.length; i++) {
      this.#write(this.#channel, i + 1, this.#channel.events[i]!)
    }
    response.on('close', () => {
      if (this.#listening === response) this.#listening = undefined
    })
  }

  #resume(response: ServerResponse, id: string, after: number): void {
    const stream = this.#streams.get(id)
    if (stream === undefined || !this.options.events) return void response.writeHead(400).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    stream.live = response
    for (let i = after; i < stream.events.length; i++) this.#write(stream, i + 1, stream.events[i]!)
    if (stream.over) response.end()
  }

  #delete(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#knows(request)) return void response.writeHead(404).end()
    this.sessions.delete(String(request.headers['mcp-session-id']))
    response.writeHead(204).end()
  }

  #knows(request: IncomingMessage): boolean {
    return this.options.sessions === false || this.sessions.has(String(request.headers['mcp-session-id']))
  }
}
