/**
 * Who stands for a caller at a process of a modern backend is kept while tasks may be there: with its last link the process
 * would end, and all that it does.
 */
import type { Live } from '../sessions/lifecycle.ts'
import type { Seats } from './seats.ts'

/** For so long (ms) after a task began. Clients that ask for one keep their process by that. */
const keptMs = 3_600_000

export class TaskKeeping {
  readonly #seats: Pick<Seats, 'hold' | 'drop'>
  readonly #keptMs: number
  readonly #timers = new Map<Live, NodeJS.Timeout>()

  constructor(seats: Pick<Seats, 'hold' | 'drop'>, ms = keptMs) {
    this.#seats = seats
    this.#keptMs = ms
  }

  /** A task began there. */
  keep(live: Live): void {
    const before = this.#timers.get(live)
    if (before === undefined) this.#seats.hold(live)
    clearTimeout(before)
    const timer = setTimeout(() => {
      this.#timers.delete(live)
      this.#seats.drop(live)
    }, this.#keptMs)
    this.#timers.set(live, timer.unref())
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }
}
