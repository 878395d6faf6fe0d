/** What is known of an upstream's streams by GET, so that not every call finds it out anew. */
import type { Clock } from '../clock.ts'

/** How long that holds, milliseconds. */
const holdsMs = 600_000

export class GetStreams {
  readonly #clock: Pick<Clock, 'now'>
  #noneUntil = Number.NEGATIVE_INFINITY
  #slowUntil = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** It has none. */
  get areNone(): boolean {
    return this.#clock.now() < this.#noneUntil
  }

  /** It says that one is open once there is something on it, or late. */
  get areSlow(): boolean {
    return this.#clock.now() < this.#slowUntil
  }

  refused(): void {
    this.#noneUntil = this.#clock.now() + holdsMs
  }

  late(): void {
    this.#slowUntil = this.#clock.now() + holdsMs
  }
}
