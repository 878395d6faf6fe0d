/** The gates of the backends, and what is told of them. */
import { isDeepStrictEqual } from 'node:util'
import { facts } from '../telemetry/events.ts'
import type { Backend } from './backend.ts'
import { Breaker, type BreakerLimits, type BreakerState } from './breaker.ts'
import { type Clock, systemClock } from './clock.ts'
import { Gate, type GateLimits, type Rejection } from './gate.ts'

export interface BackendLimits extends GateLimits {
  /** Undefined: off. */
  readonly breaker: BreakerLimits | undefined
  /** The backend leaves itself alone after it died: what it says then is no matter of the breaker. */
  readonly restarts: boolean
}

export interface GateState {
  readonly breaker: BreakerState | 'off'
  readonly waiting: number
  /** Why the breaker is not closed. */
  readonly lastError?: string
  readonly rejected: Readonly<Record<Rejection, number>>
}

interface Entry {
  readonly calls: Gate
  readonly results: Gate
  limits: BackendLimits
  breaker: Breaker | undefined
}

export class Gates {
  readonly #clock: Clock
  readonly #entries = new WeakMap<Backend, Entry>()

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** Also while calls are on their way: those that pass keep their places. A breaker with other limits begins anew. */
  set(backend: Backend, limits: BackendLimits): void {
    const entry = this.#entries.get(backend)
    if (entry === undefined) {
      this.#make(backend, limits)
      return
    }
    if (!isDeepStrictEqual(limits.breaker, entry.limits.breaker)) entry.breaker = this.#breaker(entry, limits.breaker)
    entry.limits = limits
    entry.calls.tune(limits, entry.breaker)
    entry.results.tune(resultLimits(limits), entry.breaker)
  }

  /**
   * The gate for calls of a method. `tasks/result` is answered when the task is over, be it in a day: it has as many places
   * of its own and no line, so that neither these calls nor the others wait for each other.
   */
  of(backend: Backend, method?: string): Gate {
    const { calls, results } = this.#of(backend)
    return method === 'tasks/result' ? results : calls
  }

  state(backend: Backend): GateState {
    const { calls, results, breaker } = this.#of(backend)
    const rejected = { ...calls.rejected }
    for (const key of Object.keys(rejected) as Rejection[]) rejected[key] += results.rejected[key]
    const state = breaker?.state ?? 'off'
    const why = state === 'open' || state === 'half-open' ? (calls.lastFailure ?? results.lastFailure) : undefined
    return { breaker: state, waiting: calls.waiting, rejected, ...(why && { lastError: why.message }) }
  }

  /** The backend was reached in another way than by a call: an open breaker lets the next call try. */
  hint(backend: Backend): void {
    this.#of(backend).breaker?.hint()
  }

  #of(backend: Backend): Entry {
    return this.#entries.get(backend) ?? this.#make(backend, defaultLimits)
  }

  #make(backend: Backend, limits: BackendLimits): Entry {
    const common = { backend: backend.name, clock: this.#clock, restarts: limits.restarts }
    const calls = new Gate({ ...common, limits })
    const results = new Gate({ ...common, limits: resultLimits(limits) })
    const entry: Entry = { calls, results, limits, breaker: undefined }
    entry.breaker = this.#breaker(entry, limits.breaker)
    calls.tune(limits, entry.breaker)
    results.tune(resultLimits(limits), entry.breaker)
    this.#entries.set(backend, entry)
    return entry
  }

  #breaker({ calls, results }: Entry, limits: BreakerLimits | undefined): Breaker | undefined {
    const { backend } = calls
    return (
      limits &&
      new Breaker(limits, this.#clock, {
        opened(pauseMs, again, inRow) {
          calls.refuse()
          facts.notice.publish({
            level: again ? 'debug' : 'warn',
            text: 'the backend fails: it is not called for a while',
            backend,
            error: calls.lastFailure ?? results.lastFailure,
            data: { pauseMs: Math.round(pauseMs), failuresInRow: inRow }
          })
        },
        closed: () => facts.notice.publish({ level: 'info', text: 'the backend is called again', backend })
      })
    )
  }
}

const resultLimits = (limits: GateLimits): GateLimits => ({ ...limits, queue: 0 })

/** Of backends whose config says nothing else. */
export const defaultLimits: BackendLimits = {
  calls: 1_000,
  queue: 1_000,
  queueTime: 5_000,
  breaker: { failures: 5, ratio: 0.5, window: 30_000, minimum: 20, pause: 1_000, maxPause: 30_000 },
  restarts: false
}
