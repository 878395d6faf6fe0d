/**
 * What left the config: calls in flight there finish, or are given up at a deadline; then its links are closed, its
 * processes ended, and the sessions of paths that are no more are over (decisions: "Config that changes").
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backend } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import type { InFlight } from '../exchanges/in-flight.ts'
import type { Running } from '../exchanges/running.ts'
import type { Links } from '../links/links.ts'
import type { Live, Sessions } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'

export interface RetiringOptions {
  readonly links: Pick<Links, 'uses' | 'isUsed' | 'drop'>
  readonly inFlight: Pick<InFlight, 'all' | 'of' | 'decided'>
  readonly sessions: Pick<Sessions, 'locals' | 'close'>
  /** The backends at a path now; undefined: there is no such path. */
  readonly served: (path: string) => readonly Backend[] | undefined
  /** For calls in flight, in milliseconds. */
  readonly deadlineMs: () => number
}

/** Between two looks; and before the first, for requests that have just been let in. */
const everyMs = 50
const graceMs = 200
/** Sessions ended between two looks: they are told upstream. */
const turn = 250

export class Retiring {
  readonly #options: RetiringOptions
  readonly #backends = new Set<Backend>()
  /** When a call was first seen where nothing is served any more. */
  readonly #since = new WeakMap<Running, number>()
  readonly #end = new AbortController()
  #working: Promise<void> | undefined
  /** Something was added: what is under way looks again. */
  #again = false

  constructor(options: RetiringOptions) {
    this.#options = options
  }

  /** These are closed when nothing of them is in use; so is what no path leads to any more. */
  add(backends: Iterable<Backend>): void {
    for (const backend of backends) this.#backends.add(backend)
    this.#again = true
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
    })
  }

  /** A link was opened for a session: a call may have been let in before its backend left the path, and found it only now. */
  opened(live: Live, backend: Backend): void {
    if (!this.#serves(live, backend)) this.add([])
  }

  /** Whether anything is left to be closed. */
  get busy(): boolean {
    return this.#working !== undefined
  }

  /** Waits for nothing any more: closes what is left. */
  async close(): Promise<void> {
    this.#end.abort()
    await this.#working
    await Promise.all([...this.#backends].map(backend => backend.close()))
    this.#backends.clear()
  }

  async #work(): Promise<void> {
    const { signal } = this.#end
    let waitMs = graceMs
    do {
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {})
      if (this.#again) await this.#decided()
      if (signal.aborted) return
      waitMs = this.#again ? graceMs : everyMs
      this.#again = false
    } while (this.#look() || this.#again)
  }

  /** Calls that were let in before find the backend that they are for, or had their time. */
  async #decided(): Promise<void> {
    const { inFlight, deadlineMs } = this.#options
    const stop = new AbortController()
    const signal = AbortSignal.any([this.#end.signal, stop.signal])
    const late = sleep(deadlineMs(), undefined, { signal, ref: false }).catch(() => {})
    await Promise.race([inFlight.decided(), late])
    stop.abort()
  }

  /** Whether something is left. */
  #look(): boolean {
    this.#giveUpLate()
    const left = this.#dropLinks()
    const called = new Set([...this.#options.inFlight.all()].map(({ backend }) => backend))
    for (const backend of this.#backends) {
      if (called.has(backend) || this.#options.links.isUsed(backend)) continue
      this.#backends.delete(backend)
      backend.close().catch((error: unknown) => untidy(backend.name, error))
    }
    return this.#endSessions() || left || this.#backends.size > 0
  }

  #giveUpLate(): void {
    const { inFlight, deadlineMs } = this.#options
    const now = performance.now()
    for (const running of inFlight.all()) {
      if (this.#serves(running.live, running.backend)) continue
      const since = this.#since.get(running) ?? now
      this.#since.set(running, since)
      if (now - since < deadlineMs()) continue
      const { name } = running.backend
      // It may have been sent.
      const text = `backend "${name}" was taken out of the config before the response`
      running.fail(new GatewayError('backend_broke', text, { backend: name }))
    }
  }

  #dropLinks(): boolean {
    const { links, inFlight } = this.#options
    let left = false
    for (const { live, backend, opening } of [...links.uses()]) {
      if (this.#serves(live, backend)) continue
      if (opening || [...inFlight.of(live)].some(running => running.backend === backend)) left = true
      else links.drop(live, backend).catch((error: unknown) => untidy(backend.name, error))
    }
    return left
  }

  #endSessions(): boolean {
    const { sessions, inFlight, served } = this.#options
    let left = false
    let ended = 0
    for (const live of sessions.locals()) {
      if (served(live.record.route) !== undefined) continue
      const [call] = inFlight.of(live)
      if (call !== undefined || ended === turn) {
        left = true
        continue
      }
      ended++
      sessions.close(live, 'removed').catch((error: unknown) => {
        facts.notice.publish({ level: 'warn', text: 'a session of a path that is no more was not ended', error })
      })
    }
    return left
  }

  #serves(live: Live, backend: Backend): boolean {
    return this.#options.served(live.record.route)?.includes(backend) === true
  }
}

const untidy = (backend: string, error: unknown): void =>
  facts.notice.publish({ level: 'warn', text: 'something of the backend was not closed', backend, error })
