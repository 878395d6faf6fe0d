/** Stands in for the global time-outs and `performance.now()`, on a clock of its own; knows how many are set and whether they hold the process. */
import { Clock } from './clock.ts'

interface Timer {
  readonly due: number
  readonly run: () => void
  held: boolean
  unref(): Timer
}

export class Timers extends Clock {
  readonly #set = new Set<Timer>()
  readonly #real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout }
  readonly #realNow = performance.now

  constructor() {
    super()
    performance.now = () => this.now()
    Object.assign(globalThis, {
      setTimeout: (run: (...args: unknown[]) => void, ms: number, ...args: unknown[]): Timer => {
        const timer: Timer = {
          due: this.now() + ms,
          run: () => run(...args),
          held: true,
          unref() {
            timer.held = false
            return timer
          }
        }
        this.#set.add(timer)
        return timer
      },
      clearTimeout: (timer: Timer) => this.#set.delete(timer)
    })
  }

  get count(): number {
    return this.#set.size
  }

  /** How many of them keep the process running. */
  get held(): number {
    return [...this.#set].filter(timer => timer.held).length
  }

  override advance(ms: number): void {
    const until = this.now() + ms
    for (;;) {
      const [next] = [...this.#set].filter(timer => timer.due <= until).sort((a, b) => a.due - b.due)
      if (next === undefined) break
      this.#set.delete(next)
      super.advance(Math.max(0, next.due - this.now()))
      next.run()
    }
    super.advance(until - this.now())
  }

  restore(): void {
    Object.assign(globalThis, this.#real)
    performance.now = this.#realNow
  }
}
