/** How long to wait before something that failed is tried again: doubled with every failure in a row, with jitter. */

export interface BackoffOptions {
  /** Milliseconds after the first failure. Default 250. */
  readonly firstMs?: number
  /** Milliseconds at most. Default 30,000. */
  readonly mostMs?: number
  /** A failure this long (ms) after the last one is a first failure again. Default 60,000. */
  readonly forgetMs?: number
  /** Milliseconds. */
  readonly now?: () => number
  /** In [0, 1). */
  readonly random?: () => number
}

export class Backoff {
  readonly #options: Required<BackoffOptions>
  #failures = 0
  #failedAt = 0
  #until = 0

  constructor(options: BackoffOptions = {}) {
    this.#options = {
      firstMs: 250,
      mostMs: 30_000,
      forgetMs: 60_000,
      now: () => performance.now(),
      random: Math.random,
      ...options
    }
  }

  /** Milliseconds until the next attempt may be made; 0 when now. */
  get remaining(): number {
    return Math.max(0, this.#until - this.#options.now())
  }

  failed(): void {
    const { firstMs, mostMs, forgetMs, now, random } = this.#options
    const at = now()
    this.#failures = at - this.#failedAt > forgetMs ? 1 : this.#failures + 1
    this.#failedAt = at
    const full = Math.min(mostMs, firstMs * 2 ** Math.min(this.#failures - 1, 30))
    this.#until = at + full / 2 + (full / 2) * random()
  }
}
