/** MCP over the standard input and output of child processes (2025-11-25 basic/transports, "stdio"). */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorDetails, GatewayError } from '../../errors.ts'
import { latestLegacy } from '../../protocol/version.ts'
import type { Client } from '../../sessions/session.ts'
import { facts } from '../../telemetry/events.ts'
import type { Backend, Link, OpenOptions, Tuning } from '../backend.ts'
import { Backoff } from '../backoff.ts'
import { type Clock, systemClock } from '../clock.ts'
import { EraOf, type EraOption } from '../era.ts'
import { Health } from '../health.ts'
import type { UpstreamLimits } from '../intake.ts'
import { unlessAborted } from '../unless-aborted.ts'
import type { Graces } from './child.ts'
import { Conversation } from './conversation.ts'
import { identityOf, type Program } from './program.ts'

export interface StdioBackendOptions {
  readonly name: string
  readonly command: string
  readonly args?: readonly string[]
  /** Added to the minimal environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string | undefined
  /** Default `session`. */
  readonly scope?: 'session' | 'shared'
  /** How many processes may run at once. Default 32. */
  readonly maxProcesses?: number
  /** Milliseconds for the handshake. Default 60,000. */
  readonly timeout?: number
  /** `upstream`: bytes of one message (32 MiB). `depth`: of nesting (64). */
  readonly limits?: { readonly upstream?: number; readonly depth?: number }
  /** JSON text of the gateway's own `clientInfo`, which a shared child is told. */
  readonly info?: string
  /** Default: 2 s for the end of input, 3 s for SIGTERM. */
  readonly graces?: Graces
  /** What it speaks, where that is not to be found out. Default `legacy`. */
  readonly era?: EraOption
  /** For tests. */
  readonly clock?: Clock
  readonly backoff?: Backoff
}

/**
 * Scope `session`: a child for every link. Scope `shared`: one for all links, started with the first and ended with the
 * last. A child is started when a link is wanted and never by itself; after a crash or a failed start the next start waits,
 * as long as that is short ({@link patienceMs}), else `open` rejects with `backend_unavailable` and `data.retryAfter` (s).
 */
export const createStdioBackend = (options: StdioBackendOptions): Backend => new StdioBackend(options)

const patienceMs = 2_500

class StdioBackend implements Backend {
  readonly name: string
  readonly identity: string
  readonly scope: 'session' | 'shared'
  readonly #program: Program
  #maxProcesses: number
  readonly #limits: UpstreamLimits
  readonly #info: string
  readonly #era: EraOf
  readonly #graces: Graces
  readonly #backoff: Backoff
  readonly #health: Health
  readonly #conversations = new Set<Conversation>()
  #shared: Promise<Conversation> | undefined
  #timeoutMs: number
  #closed = false

  constructor(options: StdioBackendOptions) {
    const { name, command, args = [], env = {}, cwd, scope = 'session', limits } = options
    this.name = name
    this.scope = scope
    this.#program = { backend: name, command, args, env, cwd }
    this.identity = identityOf(this.#program, scope, options.era)
    this.#maxProcesses = options.maxProcesses ?? 32
    this.#limits = { upstream: limits?.upstream ?? 32 * 1024 * 1024, depth: limits?.depth ?? 64 }
    this.#info = options.info ?? '{"name":"causeway","version":"0"}'
    this.#era = new EraOf(name, options.era ?? 'legacy', options.clock ?? systemClock)
    this.#graces = options.graces ?? { input: 2_000, terminate: 3_000 }
    this.#backoff = options.backoff ?? new Backoff()
    this.#health = new Health(name)
    this.#timeoutMs = options.timeout ?? 60_000
  }

  async open(options: OpenOptions): Promise<Link> {
    const { client, signal } = options
    try {
      signal.throwIfAborted()
      const conversation = await (this.scope === 'shared' ? this.#join(signal) : this.#start(client, signal))
      return conversation.join(options)
    } catch (cause) {
      throw cause instanceof GatewayError ? cause : this.#unavailable('the opening was given up', { cause })
    }
  }

  tune({ timeout, maxProcesses, retired }: Tuning): void {
    if (retired) this.#health.retire()
    if (timeout !== undefined) this.#timeoutMs = timeout
    if (maxProcesses !== undefined) this.#maxProcesses = maxProcesses
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
    const starting = this.#start({ capabilities: '{}', info: this.#info }, new AbortController().signal)
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
    try {
      const conversation = await this.#begin(client, signal)
      this.#health.up()
      return conversation
    } catch (error) {
      if (!signal.aborted && !this.#closed) this.#failed(error instanceof Error ? error.message : String(error))
      throw error
    }
  }

  /** A program that was spoiled by the question for its era is started once more, and not asked. */
  async #begin(client: Pick<Client, 'capabilities' | 'info'>, signal: AbortSignal): Promise<Conversation> {
    let era = this.#era.fixed ?? this.#era.verdict?.era
    for (let again = false; ; again = true) {
      const conversation = this.#converse()
      try {
        const start = {
          version: latestLegacy,
          client,
          timeoutMs: this.#timeoutMs,
          signal,
          era,
          fixed: !this.#era.isOpen
        }
        this.#era.holds(await conversation.start(start))
        return conversation
      } catch (error) {
        this.#era.doubt()
        era = conversation.startAgainAs
        if (again || era === undefined || signal.aborted || this.#closed) throw error
      }
    }
  }

  #converse(): Conversation {
    const conversation = new Conversation({
      program: this.#program,
      limits: this.#limits,
      graces: this.#graces,
      single: this.scope === 'session',
      self: { capabilities: '{}', info: this.#info },
      crashed: how => this.#failed(how)
    })
    this.#conversations.add(conversation)
    void conversation.gone.then(() => this.#conversations.delete(conversation))
    return conversation
  }

  /** Whether a child may be started now, or soon. */
  async #ready(signal: AbortSignal): Promise<void> {
    const waitMs = this.#backoff.remaining
    if (waitMs > Math.min(patienceMs, this.#timeoutMs)) {
      const retryAfter = Math.ceil(waitMs / 1_000)
      throw this.#unavailable(`failed a moment ago; it is started again in ${retryAfter} s at the earliest`, {
        data: { retryAfter }
      })
    }
    if (waitMs > 0) await sleep(waitMs, undefined, { signal })
    if (this.#closed) throw this.#unavailable('the gateway closed the backend')
    if (this.#conversations.size >= this.#maxProcesses) {
      const data = { maxProcesses: this.#maxProcesses }
      throw this.#unavailable(`as many processes as allowed (${this.#maxProcesses}) are running`, { data })
    }
  }

  #failed(reason: string): void {
    this.#backoff.failed()
    // One child of many that crashed says little about the backend.
    if (![...this.#conversations].some(({ live }) => live)) this.#health.down(reason)
    facts.notice.publish({ level: 'warn', backend: this.name, text: reason })
  }

  #unavailable(text: string, details?: ErrorDetails): GatewayError {
    return new GatewayError('backend_unavailable', `backend "${this.name}": ${text}`, {
      backend: this.name,
      ...details
    })
  }
}
