/** A clock for the http backend that moves when told: timers run in order, and the waits that were asked for are kept. */
import type { Clock } from '../../src/backends/clock.ts'

export class StillClock implements Clock {
  #now = 0
  readonly waits: number[] = []
  readonly #timers = new Set<{ readonly due: number; readonly call: () => void }>()
  /** What `random` gives. */
  chance = 1

  now(): number {
    return this.#now
  }

  random(): number {
    return this.chance
  }

  after(ms: number, call: () => void): () => void {
    this.waits.push(ms)
    const timer = { due: this.#now + ms, call }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  get pending(): number {
    return this.#timers.size
  }

  advance(ms: number): void {
    this.#now += ms
    for (const timer of [...this.#timers]) {
      if (timer.due > this.#now) continue
      this.#timers.delete(timer)
      timer.call()
    }
  }
}
