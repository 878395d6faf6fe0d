/**
 * What upstreams send is dealt with for a few milliseconds at a time; then whatever else waits in the event loop has its
 * turn. Without that one upstream that floods keeps the loop for as long as the kernel has more of it, and many of them
 * for seconds.
 */

/** For all upstreams together. */
const turnMs = 2

export class LoopShare {
  readonly #now: () => number
  /** Those that had enough for this turn, the one that waits longest first. */
  readonly #waiting: (() => void)[] = []
  /** When this turn began. */
  #began = 0
  #running = false
  #count = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Number of the turn of the event loop. */
  turn(): number {
    if (!this.#running) this.#begin()
    return this.#count
  }

  /** Asked in a turn. True: no more until `again` is called, in a later one. */
  enough(again: () => void): boolean {
    if (this.#waiting.length === 0 && this.#now() - this.#began < turnMs) return false
    this.#waiting.push(again)
    return true
  }

  #begin(): void {
    this.#running = true
    this.#count++
    this.#began = this.#now()
    setImmediate(() => this.#end())
  }

  /** One of those that wait goes on: it counts for the next turn. */
  #end(): void {
    this.#running = false
    const again = this.#waiting.shift()
    if (again === undefined) return
    this.#begin()
    again()
  }
}

/** It is the loop of this thread that is shared. */
export const loopShare = new LoopShare()
