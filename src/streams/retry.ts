/** A log that does not answer is asked again after a while, each time after twice as long, up to a most (milliseconds). */

const firstMs = 100
const longestMs = 5_000

export class Retry {
  #timer: NodeJS.Timeout | undefined
  #ms = firstMs

  /** Runs it later, unless it waits already. */
  later(run: () => void): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      run()
    }, this.#ms)
    this.#timer.unref()
    this.#ms = Math.min(2 * this.#ms, longestMs)
  }

  /** Nothing is waited for any more. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
