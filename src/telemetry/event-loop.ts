/** How late the event loop is: measured once, for whoever wants to know. */
import { type ELDHistogram, monitorEventLoopDelay } from 'node:perf_hooks'

/** Milliseconds between two looks. What Node tells is the time between them: a loop without delay has this. */
const resolution = 20

interface Total {
  readonly count: number
  /** Nanoseconds. */
  readonly sum: number
}

const nothing: Total = { count: 0, sum: 0 }

export class EventLoop {
  readonly #delays: ELDHistogram
  /** Of what is measured since the last restart, this was told as recent. */
  #told = nothing
  /** What was measured before that restart and not told. */
  #kept = nothing

  constructor(delays: ELDHistogram = monitorEventLoopDelay({ resolution })) {
    this.#delays = delays
    delays.enable()
  }

  /** Mean delay since the last call, in milliseconds. */
  recent(): number {
    const { count, sum } = this.#untold()
    this.#told = this.#total()
    this.#kept = nothing
    return count === 0 ? 0 : delayOf(sum / count)
  }

  /** Since the last restart, in milliseconds. */
  get mean(): number {
    return this.#delays.count === 0 ? 0 : delayOf(this.#delays.mean)
  }

  get max(): number {
    return this.#delays.count === 0 ? 0 : delayOf(this.#delays.max)
  }

  percentile(percent: number): number {
    return this.#delays.count === 0 ? 0 : delayOf(this.#delays.percentile(percent))
  }

  /** What comes from now on is measured anew. */
  restart(): void {
    this.#kept = this.#untold()
    this.#told = nothing
    this.#delays.reset()
  }

  close(): void {
    this.#delays.disable()
  }

  #untold(): Total {
    const { count, sum } = this.#total()
    return { count: this.#kept.count + count - this.#told.count, sum: this.#kept.sum + sum - this.#told.sum }
  }

  #total(): Total {
    const { count, mean } = this.#delays
    return count === 0 ? nothing : { count, sum: count * mean }
  }
}

const delayOf = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - resolution)
