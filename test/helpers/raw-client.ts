/** A client that shows everything: status, headers, every event of a stream, and that does exactly what it is told. */
import http from 'node:http'

export interface RawResponse {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  /** The whole body of a response that is no event stream. */
  readonly text: string
  readonly json: any
  /** The events of an event stream as they come. */
  readonly events: Events
  /** Cuts the connection. */
  destroy(): void
  /** Takes nothing from the socket until `resume`. */
  pause(): void
  resume(): void
}

export interface SseEvent {
  readonly id?: string
  readonly event?: string
  readonly data?: string
  readonly retry?: number
  /** `data` as JSON, when it is. */
  readonly message?: any
}

/** Events of one connection, in order; `next` waits for one. */
export class Events {
  readonly all: SseEvent[] = []
  readonly comments: string[] = []
  ended = false
  #waiting: (() => void)[] = []

  add(event: SseEvent): void {
    this.all.push(event)
    this.#wake()
  }

  comment(text: string): void {
    this.comments.push(text)
    this.#wake()
  }

  end(): void {
    this.ended = true
    this.#wake()
  }

  /** The messages so far. */
  get messages(): any[] {
    return this.all.flatMap(({ message }) => (message === undefined ? [] : [message]))
  }

  /** Id of the last event that had one. */
  get lastId(): string | undefined {
    return this.all.findLast(({ id }) => id !== undefined)?.id
  }

  /** Waits until what was found is there; rejects after `ms`. */
  async until<T>(find: (events: Events) => T | undefined | false, ms = 5_000): Promise<T> {
    const end = performance.now() + ms
    for (;;) {
      const found = find(this)
      if (found !== undefined && found !== false) return found
      const left = end - performance.now()
      if (left <= 0)
        throw new Error(`not seen within ${ms} ms; so far ${JSON.stringify(this.all)}${this.ended ? ', ended' : ''}`)
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>(resolve => {
        timer = setTimeout(resolve, left)
        this.#waiting.push(resolve)
      })
      clearTimeout(timer)
    }
  }

  message(find: (message: any) => boolean, ms?: number): Promise<any> {
    return this.until(events => events.messages.find(find), ms)
  }

  async whole(ms?: number): Promise<this> {
    await this.until(({ ended }) => ended, ms)
    return this
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }
}

export interface RawRequest {
  readonly method?: string
  readonly headers?: Record<string, string | string[] | undefined>
  readonly body?: string | Buffer
  readonly path?: string
  /** Gives the request up, or cuts the connection. */
  readonly signal?: AbortSignal
  /** Keeps connections for further requests; by default each request has its own. */
  readonly agent?: http.Agent | undefined
}

/** Sends one request on a connection of its own. Resolves with the head of an event stream, else with the whole response. */
export function send(
  url: string,
  { method = 'POST', headers = {}, body, path, signal, agent }: RawRequest = {}
): Promise<RawResponse> {
  const target = new URL(url)
  return new Promise((resolve, reject) => {
    const request = http.request({
      host: target.hostname,
      port: target.port,
      path: path ?? target.pathname,
      method,
      agent: agent ?? false,
      ...(signal === undefined ? {} : { signal }),
      headers: Object.fromEntries(
        Object.entries(headers).filter(([, value]) => value !== undefined)
      ) as http.OutgoingHttpHeaders
    })
    request.on('error', reject)
    request.on('response', response => {
      const events = new Events()
      const base = {
        status: response.statusCode!,
        headers: response.headers,
        events,
        destroy: () => void request.destroy(),
        pause: () => void response.pause(),
        resume: () => void response.resume()
      }
      response.on('error', () => events.end())
      response.on('close', () => events.end())
      if (response.headers['content-type'] === 'text/event-stream') {
        read(response, events)
        resolve({ ...base, text: '', json: undefined })
        return
      }
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ ...base, text, json: parsed(text) })
      })
    })
    request.end(body)
  })
}

function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function read(response: http.IncomingMessage, events: Events): void {
  let rest = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    rest += chunk
    for (let at = rest.indexOf('\n\n'); at !== -1; at = rest.indexOf('\n\n')) {
      const block = rest.slice(0, at)
      rest = rest.slice(at + 2)
      const event = eventOf(block, events)
      if (event !== undefined) events.add(event)
    }
  })
}

function eventOf(block: string, events: Events): SseEvent | undefined {
  const event: { id?: string; event?: string; data?: string; retry?: number; message?: any } = {}
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) {
      events.comment(line)
      continue
    }
    const colon = line.indexOf(':')
    const name = line.slice(0, colon)
    const value = line.slice(colon + 1).replace(/^ /, '')
    if (name === 'id') event.id = value
    if (name === 'event') event.event = value
    if (name === 'data') event.data = event.data === undefined ? value : `${event.data}\n${value}`
    if (name === 'retry') event.retry = Number(value)
  }
  if (Object.keys(event).length === 0) return undefined
  if (event.data !== undefined && event.data !== '') event.message = parsed(event.data)
  return event
}

const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A session of a client that says what it is told. */
export class RawClient {
  readonly url: string
  session: string | undefined
  version: string
  agent: http.Agent | undefined
  /** Of the InitializeResult. */
  server: any
  #id = 0

  constructor(url: string, version = '2025-11-25') {
    this.url = url
    this.version = version
  }

  /** initialize and notifications/initialized. */
  static async open(
    url: string,
    options: { version?: string; capabilities?: object; operating?: boolean } = {}
  ): Promise<RawClient> {
    const client = new RawClient(url, options.version)
    const { headers, json } = await client.post({
      id: 'init',
      method: 'initialize',
      params: {
        protocolVersion: client.version,
        capabilities: options.capabilities ?? {},
        clientInfo: { name: 'raw', version: '1' }
      }
    })
    if (json?.result === undefined) throw new Error(`not initialized: ${JSON.stringify(json)}`)
    client.session = headers['mcp-session-id'] as string | undefined
    client.server = json.result
    if (options.operating !== false) await client.post({ method: 'notifications/initialized' })
    return client
  }

  /** Id of the last `request`. */
  get lastId(): number {
    return this.#id
  }

  get headers(): Record<string, string | undefined> {
    return {
      ...usual,
      'mcp-session-id': this.session,
      ...(this.session === undefined ? {} : { 'mcp-protocol-version': this.version })
    }
  }

  /** One message (`jsonrpc` is filled in), a batch, or a text as it is. */
  post(message: object | string, headers: RawRequest['headers'] = {}, signal?: AbortSignal): Promise<RawResponse> {
    const body =
      typeof message === 'string'
        ? message
        : JSON.stringify(
            Array.isArray(message) ? message.map(one => ({ jsonrpc: '2.0', ...one })) : { jsonrpc: '2.0', ...message }
          )
    return send(this.url, {
      headers: { ...this.headers, ...headers },
      body,
      agent: this.agent,
      ...(signal === undefined ? {} : { signal })
    })
  }

  request(method: string, params?: object, headers?: RawRequest['headers']): Promise<RawResponse> {
    this.#id++
    return this.post({ id: this.#id, method, params }, headers)
  }

  call(name: string, args: object = {}, meta?: object): Promise<RawResponse> {
    return this.request('tools/call', { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) })
  }

  /** A GET: the channel, or what follows a cursor. */
  get(lastEventId?: string, headers: RawRequest['headers'] = {}): Promise<RawResponse> {
    return send(this.url, {
      method: 'GET',
      headers: {
        ...this.headers,
        'content-type': undefined,
        accept: 'text/event-stream',
        'last-event-id': lastEventId,
        ...headers
      }
    })
  }

  delete(headers: RawRequest['headers'] = {}): Promise<RawResponse> {
    return send(this.url, { method: 'DELETE', headers: { ...this.headers, 'content-type': undefined, ...headers } })
  }
}
