/**
 * Timers of one length, almost all of which are stopped before they ring: one timer of the system stands for all that wait, in
 * the order in which they began. A timer for each call is among the dearest things on its way.
 */

import { type Placed, UnderWay } from '../backends/under-way.ts'

/** Something that waits, at one countdown at a time. */
export abstract class Waiting implements Placed {
  /** For the {@link Countdown} alone. */
  countdown: Countdown | undefined
  at = 0
  list: unknown
  before: Placed | undefined
  after: Placed | undefined

  abstract ring(): void
}

export class Countdown {
  readonly ms: number
  readonly #waiting = new UnderWay<Waiting>()
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.ms = ms
  }

  /** `waiting` rings once after `ms`, unless it is stopped. */
  start(waiting: Waiting): void {
    waiting.countdown = this
    waiting.at = performance.now() + this.ms
    this.#waiting.add(waiting)
    this.#timer ??= setTimeout(ring, this.ms, this)
  }

  stop(waiting: Waiting): void {
    if (waiting.countdown !== this) return
    this.#remove(waiting)
    if (this.#waiting.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** For its timer alone. */
  ring(): void {
    this.#timer = undefined
    const now = performance.now()
    // The system rings in whole milliseconds.
    let { first } = this.#waiting
    for (; first !== undefined && first.at - now < 1; first = this.#waiting.first) {
      this.#remove(first)
      first.ring()
    }
    if (first !== undefined) this.#timer ??= setTimeout(ring, first.at - now, this)
  }

  #remove(waiting: Waiting): void {
    this.#waiting.delete(waiting)
    waiting.countdown = undefined
  }
}

const ring = (countdown: Countdown): void => countdown.ring()

/** Of the lengths that the config has. */
export class Countdowns {
  readonly #all = new Map<number, Countdown>()

  of(ms: number): Countdown {
    let countdown = this.#all.get(ms)
    if (countdown === undefined) {
      countdown = new Countdown(ms)
      this.#all.set(ms, countdown)
    }
    return countdown
  }
}
