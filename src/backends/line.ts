/** Calls that wait for a place, first come, first served; each for the same time at most. One timer for all. */
import type { GatewayError } from '../errors.ts'
import type { Clock } from './clock.ts'

export class Waiting {
  /** When its time is up. */
  readonly until: number
  readonly #settling = Promise.withResolvers<void>()
  pass: number | undefined

  constructor(until: number) {
    this.until = until
  }

  /** Resolves once the call may pass, or has left; rejects with `overloaded`, or `backend_unavailable` when the breaker opened. */
  get admitted(): Promise<void> {
    return this.#settling.promise
  }

  admit(pass: number | undefined): void {
    this.pass = pass
    this.#settling.resolve()
  }

  refuse(error: GatewayError): void {
    this.#settling.reject(error)
  }
}

export class Line {
  readonly #clock: Pick<Clock, 'now' | 'after'>
  readonly #late: () => GatewayError
  readonly #waiting = new Set<Waiting>()
  #stopTimer: (() => void) | undefined

  /** `late`: what who is not admitted in time gets. */
  constructor(clock: Pick<Clock, 'now' | 'after'>, late: () => GatewayError) {
    this.#clock = clock
    this.#late = late
  }

  get length(): number {
    return this.#waiting.size
  }

  join(ms: number): Waiting {
    const waiting = new Waiting(this.#clock.now() + ms)
    this.#waiting.add(waiting)
    if (this.#waiting.size === 1) this.#watch(ms)
    return waiting
  }

  admit(pass: number): void {
    for (const first of this.#waiting) {
      this.#remove(first)
      first.admit(pass)
      return
    }
  }

  leave(waiting: Waiting): void {
    if (this.#remove(waiting)) waiting.admit(undefined)
  }

  refuse(error: () => GatewayError): void {
    for (const waiting of this.#waiting) {
      this.#remove(waiting)
      waiting.refuse(error())
    }
  }

  #remove(waiting: Waiting): boolean {
    const there = this.#waiting.delete(waiting)
    if (this.#waiting.size === 0) {
      this.#stopTimer?.()
      this.#stopTimer = undefined
    }
    return there
  }

  /** The first in line is the first whose time is up. */
  #watch(ms: number): void {
    this.#stopTimer = this.#clock.after(ms, () => this.#expire())
  }

  #expire(): void {
    this.#stopTimer = undefined
    const now = this.#clock.now()
    for (const waiting of this.#waiting) {
      if (waiting.until > now) {
        this.#watch(waiting.until - now)
        return
      }
      this.#remove(waiting)
      waiting.refuse(this.#late())
    }
  }
}
