/**
 * Spares a backend that fails, and its callers the wait. Closed: calls pass and are counted. Open, after so many failures in a
 * row or such a share of them: none pass for a pause. Half-open, after it: one passes, the probe; that it is answered closes
 * the breaker, that it fails opens it for twice as long. A probe that takes as long as a pause is taken for failed, so that
 * another one may try; an answer that it gets after all counts.
 */
import type { Clock } from './clock.ts'
import { Tally } from './tally.ts'

/** Milliseconds, and a share from 0 to 1. */
export interface BreakerLimits {
  /** Failures in a row that open it. */
  readonly failures: number
  /** Share of failures within `window` that opens it, once there were `minimum` calls. */
  readonly ratio: number
  readonly window: number
  readonly minimum: number
  /** How long it is open the first time; twice as long each time after, `maxPause` at most, less up to a quarter. */
  readonly pause: number
  readonly maxPause: number
}

export type BreakerState = 'closed' | 'open' | 'half-open'

/** `neutral` says nothing of the backend: the call was cancelled, or the fault was another's. */
export type Outcome = 'ok' | 'failed' | 'neutral'

export interface BreakerEvents {
  /** No call passes for `pauseMs`. `again`: the probe failed. `inRow`: failures in a row. */
  opened(pauseMs: number, again: boolean, inRow: number): void
  closed(): void
}

export class Breaker {
  readonly #limits: BreakerLimits
  readonly #clock: Pick<Clock, 'now' | 'random'>
  readonly #events: BreakerEvents
  readonly #tally: Tally
  /** Which calls it looks at: those with the pass of now; while it is not closed, those after `#opened`. */
  #pass = 0
  #opened: number | undefined
  /** Nobody passes before it. */
  #until = 0
  #probing = false
  /** Pauses in a row. */
  #pauses = 0
  #closedAt = Number.NEGATIVE_INFINITY
  #inRow = 0

  constructor(limits: BreakerLimits, clock: Pick<Clock, 'now' | 'random'>, events: BreakerEvents) {
    this.#limits = limits
    this.#clock = clock
    this.#events = events
    this.#tally = new Tally(limits.window)
  }

  get state(): BreakerState {
    if (this.#opened === undefined) return 'closed'
    return this.#probing || this.#clock.now() >= this.#until ? 'half-open' : 'open'
  }

  /** Milliseconds until a call may pass. */
  get remaining(): number {
    return this.#opened === undefined ? 0 : Math.max(0, this.#until - this.#clock.now())
  }

  /** What to leave with; undefined: refused. */
  enter(): number | undefined {
    if (this.#opened === undefined) return this.#pass
    const now = this.#clock.now()
    if (now < this.#until) return undefined
    this.#until = now + (this.#probing ? this.#nextPause() : this.#pauseMs)
    this.#probing = true
    return ++this.#pass
  }

  leave(pass: number, outcome: Outcome): void {
    if (this.#opened !== undefined) this.#probed(pass, outcome)
    else if (pass === this.#pass && outcome !== 'neutral') this.#count(outcome === 'failed')
  }

  /** The backend was reached in another way: the next call is let through. */
  hint(): void {
    if (this.#opened !== undefined && !this.#probing) this.#until = this.#clock.now()
  }

  #count(failed: boolean): void {
    const { failures, ratio, minimum, window } = this.#limits
    const now = this.#clock.now()
    this.#tally.add(failed, now)
    if (!failed) {
      this.#inRow = 0
      return
    }
    this.#inRow++
    const { total, failed: all } = this.#tally
    if (this.#inRow < failures && (total < minimum || all < ratio * total)) return
    if (now - this.#closedAt > window) this.#pauses = 0
    this.#opened = ++this.#pass
    this.#open(false)
  }

  #probed(pass: number, outcome: Outcome): void {
    if (pass <= this.#opened!) return
    if (outcome === 'ok') {
      this.#opened = undefined
      this.#probing = false
      this.#pass++
      this.#inRow = 0
      this.#tally.clear()
      this.#closedAt = this.#clock.now()
      this.#events.closed()
    } else if (pass === this.#pass && this.#probing) {
      if (outcome === 'failed') {
        this.#inRow++
        this.#open(true)
      } else {
        this.#probing = false
        this.#until = this.#clock.now()
      }
    }
  }

  #open(again: boolean): void {
    this.#probing = false
    const pauseMs = this.#nextPause()
    this.#until = this.#clock.now() + pauseMs
    this.#events.opened(pauseMs, again, this.#inRow)
  }

  /** Longer than the one before. */
  #nextPause(): number {
    this.#pauses++
    return this.#pauseMs
  }

  get #pauseMs(): number {
    const { pause, maxPause } = this.#limits
    return Math.min(maxPause, pause * 2 ** (this.#pauses - 1)) * (1 - 0.25 * this.#clock.random())
  }
}
