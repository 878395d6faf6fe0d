/** How long something that failed is left alone: 1 s, 2 s, 4 s, ... 30 s, less up to a quarter; 1 s again after a quiet minute. */

const firstMs = 1_000
const mostMs = 30_000
const quietMs = 60_000

export class Backoff {
  readonly #now: () => number
  readonly #random: () => number
  #failures = 0
  #until = Number.NEGATIVE_INFINITY

  /** `now` in milliseconds, `random` in [0, 1). */
  constructor(now: () => number = () => performance.now(), random: () => number = Math.random) {
    this.#now = now
    this.#random = random
  }

  /** Milliseconds until the next attempt may be made; 0 when now. */
  get remaining(): number {
    return Math.max(0, this.#until - this.#now())
  }

  /** Failures that come while it is left alone anyway (several attempts that ran at once) count as one. */
  failed(): void {
    const now = this.#now()
    if (now < this.#until) return
    this.#failures = now - this.#until > quietMs ? 1 : this.#failures + 1
    const full = Math.min(mostMs, firstMs * 2 ** (this.#failures - 1))
    this.#until = now + full * (1 - 0.25 * this.#random())
  }
}
