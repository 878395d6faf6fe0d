/** MCP over the standard input and output of child processes (2025-11-25 basic/transports, "stdio"). */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StdioBackendConfig } from '../../config/config.ts'
import { GatewayError } from '../../errors.ts'
import { latestLegacy } from '../../protocol/version.ts'
import type { Client } from '../../sessions/session.ts'
import { facts } from '../../telemetry/events.ts'
import type { Backend, Link, OpenOptions, Tuning } from '../backend.ts'
import { Backoff } from '../backoff.ts'
import { Health } from '../health.ts'
import type { Graces } from './child.ts'
import { Conversation, type UpstreamLimits } from './conversation.ts'

export interface StdioBackendOptions {
  readonly config: Omit<StdioBackendConfig, 'kind' | 'maxTime'>
  readonly limits: UpstreamLimits
  /** JSON text of the gateway's own `clientInfo`, which a shared child is told. */
  readonly info: string
  /** Default: 2 s for the end of input, 3 s for SIGTERM. */
  readonly graces?: Graces
  readonly backoff?: Backoff
}

/**
 * Scope `session`: a child for every link. Scope `shared`: one for all links, started with the first and ended with the
 * last. A child is started when a link is wanted and never by itself; after a crash or a failed start the next start waits,
 * as long as that is short ({@link patienceMs}), else `open` rejects with `backend_unavailable` and `data.retryAfter` (s).
 */
export const createStdioBackend = (options: StdioBackendOptions): Backend => new StdioBackend(options)

const patienceMs = 2_500

const defaultGraces: Graces = { input: 2_000, terminate: 3_000 }

class StdioBackend implements Backend {
  readonly name: string
  readonly identity: string
  readonly scope: 'session' | 'shared'
  readonly #options: StdioBackendOptions
  readonly #backoff: Backoff
  readonly #health: Health
  readonly #conversations = new Set<Conversation>()
  #shared: Promise<Conversation> | undefined
  #timeoutMs: number
  #closed = false

  constructor(options: StdioBackendOptions) {
    const { config } = options
    this.#options = options
    this.name = config.name
    this.scope = config.scope
    this.identity = identityOf(config)
    this.#backoff = options.backoff ?? new Backoff()
    this.#health = new Health(config.name)
    this.#timeoutMs = config.timeout
  }

  async open(options: OpenOptions): Promise<Link> {
    options.signal.throwIfAborted()
    const conversation =
      this.scope === 'shared' ? await this.#join(options.signal) : await this.#start(options.client, options.signal)
    return conversation.join(options)
  }

  tune({ timeout }: Tuning): void {
    if (timeout !== undefined) this.#timeoutMs = timeout
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#conversations].map(conversation => conversation.close()))
  }

  /** The one child, or the start of it that is under way. An opener that gives up does not end the others' start. */
  async #join(signal: AbortSignal): Promise<Conversation> {
    for (;;) {
      this.#shared ??= this.#startShared()
      const shared = this.#shared
      const conversation = await unlessAborted(shared, signal)
      if (conversation.live) return conversation
      if (this.#shared === shared) this.#shared = undefined
    }
  }

  #startShared(): Promise<Conversation> {
    const starting = this.#start({ capabilities: '{}', info: this.#options.info }, new AbortController().signal)
    starting.then(
      conversation => {
        setImmediate(() => {
          if (conversation.unused) void conversation.close()
        })
      },
      () => {
        this.#shared = undefined
      }
    )
    return starting
  }

  async #start(client: Pick<Client, 'capabilities' | 'info'>, signal: AbortSignal): Promise<Conversation> {
    await this.#ready(signal)
    const { config, limits, graces = defaultGraces } = this.#options
    const conversation = new Conversation({
      program: { backend: config.name, ...config },
      limits,
      graces,
      single: config.scope === 'session',
      crashed: how => this.#failed(how)
    })
    this.#conversations.add(conversation)
    void conversation.gone.then(() => this.#conversations.delete(conversation))
    try {
      await conversation.start({ version: latestLegacy, client, timeoutMs: this.#timeoutMs, signal })
    } catch (error) {
      if (!signal.aborted && !this.#closed) this.#failed(error instanceof Error ? error.message : String(error))
      throw error
    }
    this.#health.up()
    return conversation
  }

  /** Whether a child may be started now, or soon. */
  async #ready(signal: AbortSignal): Promise<void> {
    const waitMs = this.#backoff.remaining
    if (waitMs > Math.min(patienceMs, this.#timeoutMs)) {
      const retryAfter = Math.ceil(waitMs / 1_000)
      throw this.#unavailable(`failed a moment ago; it is started again in ${retryAfter} s at the earliest`, {
        retryAfter
      })
    }
    if (waitMs > 0) await sleep(waitMs, undefined, { signal })
    if (this.#closed) throw this.#unavailable('the gateway closed the backend')
    if (this.#conversations.size >= this.#options.config.maxProcesses) {
      throw this.#unavailable(`as many processes as allowed (${this.#options.config.maxProcesses}) are running`)
    }
  }

  #failed(reason: string): void {
    this.#backoff.failed()
    this.#health.down(reason)
    facts.notice.publish({ level: 'warn', backend: this.name, text: reason })
  }

  #unavailable(text: string, data?: Readonly<Record<string, unknown>>): GatewayError {
    return new GatewayError('backend_unavailable', text, { backend: this.name, data })
  }
}

/** Everything that makes the child another one; the environment too, as it carries what the child may see. */
function identityOf({ command, args, env, cwd, scope }: StdioBackendOptions['config']): string {
  const facets = ['stdio', command, args, Object.entries(env).sort(), cwd ?? null, scope]
  return createHash('sha256').update(JSON.stringify(facets)).digest('base64url')
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
