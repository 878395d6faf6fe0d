/** The connections to one upstream: streams apart from posts, which never wait for one (architecture, rule 9). */
import { buildConnector, type Dispatcher, Pool } from 'undici'
import { GatewayError } from '../../errors.ts'

const connections = 4_096
const idleConnectionMs = 4_000

export interface WireOptions {
  readonly backend: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds for connecting, and for the heads of answers. */
  readonly timeout: number
}

export class Wire {
  readonly backend: string
  readonly url: URL
  headers: Readonly<Record<string, string>>
  timeout: number
  readonly #streams: Pool
  readonly #posts: Pool
  /** Why connections did not come about, TLS included: nothing was sent. */
  readonly #unconnected = new WeakSet<Error>()

  constructor(options: WireOptions) {
    this.backend = options.backend
    this.url = options.url
    this.headers = options.headers
    this.timeout = options.timeout
    const connect: buildConnector.connector = (to, callback) =>
      buildConnector({ timeout: this.timeout, allowH2: false })(to, (...outcome) => {
        if (outcome[0] !== null) this.#unconnected.add(outcome[0])
        callback(...outcome)
      })
    const pool = (): Pool =>
      new Pool(options.url.origin, {
        connections,
        connect,
        allowH2: false,
        keepAliveTimeout: idleConnectionMs,
        keepAliveMaxTimeout: idleConnectionMs
      })
    this.#streams = pool()
    this.#posts = pool()
  }

  /** The body of an event stream, which may stay silent for as long as it likes. Redirects are not followed. */
  async stream(signal: AbortSignal): Promise<Dispatcher.ResponseData['body']> {
    const { statusCode, headers, body } = await this.#reach(
      this.#streams.request({
        path: this.url.pathname + this.url.search,
        method: 'GET',
        headers: { accept: 'text/event-stream', 'accept-encoding': 'identity', ...this.headers },
        headersTimeout: this.timeout,
        bodyTimeout: 0,
        signal
      })
    )
    const refusal = this.#refusal(statusCode, headers)
    if (refusal === undefined) return body
    body.on('error', () => {}).destroy()
    throw refusal
  }

  /** Resolves to the status of the answer; its body says nothing here. */
  async post(to: URL, bytes: Buffer, signal: AbortSignal): Promise<number> {
    const { statusCode, body } = await this.#reach(
      this.#posts.request({
        path: to.pathname + to.search,
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          'accept-encoding': 'identity',
          'content-type': 'application/json',
          ...this.headers
        },
        body: bytes,
        headersTimeout: this.timeout,
        bodyTimeout: this.timeout,
        signal
      })
    )
    body.dump().catch(() => {})
    return statusCode
  }

  async close(): Promise<void> {
    await Promise.all([this.#streams.destroy(), this.#posts.destroy()])
  }

  error(code: 'backend_unavailable' | 'backend_broke' | 'backend_invalid' | 'timeout', text: string, cause?: unknown) {
    return new GatewayError(code, `backend "${this.backend}" ${text}`, { backend: this.backend, cause })
  }

  status(status: number): GatewayError {
    const text = `backend "${this.backend}" answered with HTTP status ${status}`
    return new GatewayError('backend_status', text, { backend: this.backend, data: { status } })
  }

  #refusal(status: number, headers: Record<string, string | string[] | undefined>): GatewayError | undefined {
    if (status !== 200) return this.status(status)
    if (!/^\s*text\/event-stream\s*(;|$)/i.test(String(headers['content-type']))) {
      return this.error('backend_invalid', 'gave no event stream')
    }
    const encoding = headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity')
      return this.error('backend_invalid', 'encoded its event stream, which was not asked for')
    return undefined
  }

  async #reach<T>(request: Promise<T>): Promise<T> {
    try {
      return await request
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code ?? ''
      if (code === 'UND_ERR_HEADERS_TIMEOUT') throw this.error('timeout', 'did not answer in time', cause)
      if (this.#unconnected.has(cause as Error)) throw this.error('backend_unavailable', 'cannot be reached', cause)
      throw this.error('backend_broke', 'broke off', cause)
    }
  }
}
