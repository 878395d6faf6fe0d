/**
 * Slow readers of exchanges that share a pipe. One may hold the pipe for a while; then the others go on, and it is behind:
 * it gets no more notifications until it has caught up.
 */
export interface Paced {
  behind: boolean
}

export class Pace {
  readonly #patienceMs: number
  readonly #resume: () => void
  readonly #holding = new Set<Paced>()
  #timer: NodeJS.Timeout | undefined

  /** `resume`: nobody holds the pipe any more. */
  constructor(patienceMs: number, resume: () => void) {
    this.#patienceMs = patienceMs
    this.#resume = resume
  }

  /** Whether the pipe is to be read on. */
  get free(): boolean {
    return this.#holding.size === 0
  }

  hold(one: Paced): void {
    this.#holding.add(one)
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      for (const late of this.#holding) late.behind = true
      this.#holding.clear()
      this.#resume()
    }, this.#patienceMs)
  }

  /** It has caught up, or is over. */
  release(one: Paced): void {
    one.behind = false
    if (!this.#holding.delete(one) || this.#holding.size > 0) return
    this.#stopWaiting()
    this.#resume()
  }

  /** The pipe is gone. */
  clear(): void {
    this.#holding.clear()
    this.#stopWaiting()
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
