/** Calls that ended within the last `windowMs`, and how many of them failed; a tenth of that time more or less. */

const slots = 10

export class Tally {
  readonly #slotMs: number
  readonly #counts = new Uint32Array(slots)
  readonly #failures = new Uint32Array(slots)
  /** Number of the slot that is written, counted from the start of the clock. */
  #slot = 0
  #total = 0
  #failed = 0

  constructor(windowMs: number) {
    this.#slotMs = windowMs / slots
  }

  get total(): number {
    return this.#total
  }

  get failed(): number {
    return this.#failed
  }

  add(failed: boolean, now: number): void {
    const slot = Math.floor(now / this.#slotMs)
    if (slot !== this.#slot) this.#turn(slot)
    const i = slot % slots
    this.#counts[i]!++
    this.#total++
    if (!failed) return
    this.#failures[i]!++
    this.#failed++
  }

  clear(): void {
    this.#counts.fill(0)
    this.#failures.fill(0)
    this.#total = 0
    this.#failed = 0
  }

  /** Forgets what is older than the window. */
  #turn(slot: number): void {
    const stale = Math.min(slots, slot - this.#slot)
    for (let back = 0; back < stale; back++) {
      const i = (slot - back) % slots
      this.#total -= this.#counts[i]!
      this.#failed -= this.#failures[i]!
      this.#counts[i] = 0
      this.#failures[i] = 0
    }
    this.#slot = slot
  }
}
