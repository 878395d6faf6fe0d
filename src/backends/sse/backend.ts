/** Backend kind `sse`: an HTTP+SSE upstream (2024-11-05 basic/transports, "HTTP with SSE"). */
import { createHash } from 'node:crypto'
import type { Backend, Link, OpenOptions, Tuning } from '../backend.ts'
import { Health } from '../health.ts'
import type { UpstreamLimits } from '../intake.ts'
import { Conversation } from './conversation.ts'
import { Wire } from './wire.ts'

export interface SseBackendOptions {
  readonly name: string
  /** Of the event stream. */
  readonly url: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds for connecting, for the endpoint, for the handshake and for posts. Default 60,000. */
  readonly timeout?: number
  /** `upstream`: bytes of one message (32 MiB). `depth`: of nesting (64). */
  readonly limits?: { readonly upstream?: number; readonly depth?: number }
}

/** One stream for every link. It cannot be resumed: when it breaks, open exchanges fail and the link has ended. */
export const createSseBackend = (options: SseBackendOptions): Backend => new SseBackend(options)

class SseBackend implements Backend {
  readonly name: string
  readonly identity: string
  readonly scope = 'session'
  readonly #wire: Wire
  readonly #limits: UpstreamLimits
  readonly #health: Health
  readonly #conversations = new Set<Conversation>()

  constructor(options: SseBackendOptions) {
    const { name, url, headers = {}, timeout = 60_000, limits } = options
    this.name = name
    this.identity = createHash('sha256')
      .update(JSON.stringify(['sse', name, url]))
      .digest('hex')
    this.#wire = new Wire({ backend: name, url: new URL(url), headers, timeout })
    this.#limits = { upstream: limits?.upstream ?? 32 * 1024 * 1024, depth: limits?.depth ?? 64 }
    this.#health = new Health(name)
  }

  async open(options: OpenOptions): Promise<Link> {
    const conversation = new Conversation(this.#wire, this.#limits, options, {
      broken: reason => this.#health.down(reason.message),
      over: () => this.#conversations.delete(conversation)
    })
    this.#conversations.add(conversation)
    try {
      const link = await conversation.start()
      this.#health.up()
      return link
    } catch (error) {
      if (!options.signal.aborted) this.#health.down(error instanceof Error ? error.message : String(error))
      throw error
    }
  }

  tune({ headers, timeout, retired }: Tuning): void {
    if (retired) this.#health.retire()
    if (headers !== undefined) this.#wire.headers = headers
    if (timeout !== undefined) this.#wire.timeout = timeout
  }

  async close(): Promise<void> {
    const reason = this.#wire.error('backend_unavailable', 'was closed by the gateway')
    for (const conversation of [...this.#conversations]) conversation.end(reason)
    await this.#wire.close()
  }
}
