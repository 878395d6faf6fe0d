/** Random numbers that a seed brings back. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** From 0 to less than 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to less than `below`. */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!
  }
}
