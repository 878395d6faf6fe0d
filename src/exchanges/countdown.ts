/**
 * Timers of one length, almost all of which are stopped before they ring: one timer of the system stands for all that wait, in
 * the order in which they began. A timer for each call is among the dearest things on its way.
 */

/** Something that waits, at one countdown at a time. */
export abstract class Waiting {
  /** For the {@link Countdown} alone. */
  countdown: Countdown | undefined
  at = 0
  previous: Waiting | undefined
  next: Waiting | undefined

  abstract ring(): void
}

export class Countdown {
  readonly ms: number
  #first: Waiting | undefined
  #last: Waiting | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.ms = ms
  }

  /** `waiting` rings once after `ms`, unless it is stopped. */
  start(waiting: Waiting): void {
    const last = this.#last
    waiting.countdown = this
    waiting.at = performance.now() + this.ms
    waiting.previous = last
    this.#last = waiting
    if (last === undefined) this.#first = waiting
    else last.next = waiting
    this.#timer ??= setTimeout(ring, this.ms, this)
  }

  stop(waiting: Waiting): void {
    if (waiting.countdown !== this) return
    this.#remove(waiting)
    if (this.#first !== undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** For its timer alone. */
  ring(): void {
    this.#timer = undefined
    const now = performance.now()
    // The system rings in whole milliseconds.
    for (let first = this.#first; first !== undefined && first.at - now < 1; first = this.#first) {
      this.#remove(first)
      first.ring()
    }
    if (this.#first !== undefined) this.#timer ??= setTimeout(ring, this.#first.at - now, this)
  }

  #remove(waiting: Waiting): void {
    const { previous, next } = waiting
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    waiting.countdown = undefined
    waiting.previous = undefined
    waiting.next = undefined
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
