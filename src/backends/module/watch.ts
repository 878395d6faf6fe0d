/** Milliseconds between two looks. */
const every = 500

export interface Watched {
  /** Asks it; it answers when it takes messages, by `answered`. */
  ask(): void
  /** Whether anybody waits for it: otherwise it may do what it likes. */
  isAwaited(): boolean
  /** Milliseconds after which it is taken to be blocked. */
  patience(): number
  /** It did not answer for so many milliseconds. Once. */
  blocked(ms: number): void
}

/** Whether a thread takes messages, as long as anybody waits for it. */
export class Watch {
  readonly #watched: Watched
  #timer: NodeJS.Timeout | undefined
  #asked: number | undefined

  constructor(watched: Watched) {
    this.#watched = watched
  }

  begin(): void {
    this.#timer ??= setInterval(() => this.#look(), every).unref()
  }

  answered(): void {
    this.#asked = undefined
  }

  end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    if (this.#asked !== undefined) {
      const ms = performance.now() - this.#asked
      if (ms <= this.#watched.patience()) return
      this.end()
      this.#watched.blocked(ms)
    } else if (this.#watched.isAwaited()) {
      this.#asked = performance.now()
      this.#watched.ask()
    } else this.end()
  }
}
