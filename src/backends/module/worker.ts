/** Handlers in a thread of their own: one that blocks, or takes all memory, harms neither the gateway nor other backends. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorDetails, GatewayError } from '../../errors.ts'
import { facts } from '../../telemetry/events.ts'
import type { Backend, Link, OpenOptions, Tuning } from '../backend.ts'
import { Backoff } from '../backoff.ts'
import { Health } from '../health.ts'
import { identityOf } from './identity.ts'
import { WorkerLink } from './worker-link.ts'
import { WorkerThread } from './worker-thread.ts'

export interface WorkerOptions {
  readonly name: string
  /** A file, or a folder of files. */
  readonly path: string
  readonly strict?: boolean
  /** As of a module backend; in its thread. */
  readonly watch?: boolean
  /** Bytes that the values of its handlers may take. Default 256 MiB. */
  readonly memory?: number
  /** Milliseconds for which a handler may block its thread. Default 60,000. */
  readonly timeout?: number
  /** Milliseconds for loading the handlers, when that is more than `timeout`. Default 30,000. */
  readonly loading?: number
  /** Bytes of one answer. Default 32 MiB. */
  readonly limits?: { readonly upstream: number }
  readonly backoff?: Backoff
}

/** How long an opening waits for the next start (ms); longer than that it is refused. */
const startPatience = 2_500

/**
 * Starts the thread; rejects with `backend_unavailable` when its handlers cannot be served. After its end it is started
 * again when a link is wanted: at once or soon, else `open` rejects with `backend_unavailable` and `data.retryAfter` (s).
 */
export async function createWorkerBackend(options: WorkerOptions): Promise<Backend> {
  const backend = new WorkerBackend(options)
  await backend.start()
  return backend
}

class WorkerBackend implements Backend {
  readonly name: string
  readonly identity: string
  readonly scope = 'session'
  readonly knowsModern = true
  readonly #options: WorkerOptions
  readonly #backoff: Backoff
  readonly #health: Health
  #timeout: number
  #thread: Promise<WorkerThread> | undefined
  #closed = false

  constructor(options: WorkerOptions) {
    this.name = options.name
    this.identity = identityOf(options.path)
    this.#options = options
    this.#backoff = options.backoff ?? new Backoff()
    this.#health = new Health(options.name)
    this.#timeout = options.timeout ?? 60_000
  }

  start(): Promise<WorkerThread> {
    this.#thread ??= this.#begin().catch((error: unknown) => {
      this.#thread = undefined
      throw error
    })
    return this.#thread
  }

  async open(options: OpenOptions): Promise<Link> {
    const { signal } = options
    if (this.#closed) throw this.#unavailable('the gateway closed the backend')
    const thread = await this.start()
    const { link, server } = await thread.open(options)
    this.#health.up()
    const opened = new WorkerLink(thread, link, server, this.name, options)
    if (!signal.aborted) return opened
    await opened.close()
    throw this.#unavailable('the opening was given up', { cause: signal.reason })
  }

  tune({ timeout, retired }: Tuning): void {
    if (retired) this.#health.retire()
    if (timeout !== undefined) this.#timeout = timeout
  }

  async close(): Promise<void> {
    this.#closed = true
    const thread = await this.#thread?.catch(() => undefined)
    await thread?.end()
  }

  async #begin(): Promise<WorkerThread> {
    const waitMs = this.#backoff.remaining
    if (waitMs > startPatience) {
      const retryAfter = Math.ceil(waitMs / 1_000)
      const text = `its thread ended a moment ago; it is started again in ${retryAfter} s at the earliest`
      throw this.#unavailable(text, { data: { retryAfter } })
    }
    if (waitMs > 0) await sleep(waitMs)
    if (this.#closed) throw this.#unavailable('the gateway closed the backend')
    const {
      name,
      path,
      strict = false,
      watch = false,
      memory = 256 * 1024 ** 2,
      loading = 30_000,
      limits
    } = this.#options
    const thread = new WorkerThread({
      name,
      path,
      strict,
      watch,
      memory,
      limits: limits ?? { upstream: 32 * 1024 ** 2 },
      patience: isReady => (isReady ? this.#timeout : Math.max(this.#timeout, loading)),
      crashed: (reason, suspects) => this.#crashed(reason, suspects)
    })
    try {
      await thread.ready
    } catch (error) {
      await thread.end()
      throw error
    }
    return thread
  }

  #crashed(reason: string, suspects: readonly string[]): void {
    this.#thread = undefined
    this.#backoff.failed()
    this.#health.down(reason)
    facts.notice.publish({ level: 'error', text: reason, backend: this.name, data: { running: suspects } })
  }

  #unavailable(text: string, details: ErrorDetails = {}): GatewayError {
    return new GatewayError('backend_unavailable', `backend "${this.name}": ${text}`, {
      backend: this.name,
      ...details
    })
  }
}
