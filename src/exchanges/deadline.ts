/** The two limits of one call: silence (`timeout`), which progress extends, and the whole (`maxTime`). One of them is waited for. */
import { Countdown, type Countdowns, Waiting } from './countdown.ts'

export class Deadline extends Waiting {
  readonly #countdowns: Countdowns
  readonly #silenceMs: number
  readonly #expired: (what: 'timeout' | 'maxTime') => void
  #leftMs: number
  #armed = 0

  /** `expired` may call `start` to wait for as long again. */
  constructor(
    countdowns: Countdowns,
    silenceMs: number,
    wholeMs: number,
    expired: (what: 'timeout' | 'maxTime') => void
  ) {
    super()
    this.#countdowns = countdowns
    this.#silenceMs = silenceMs
    this.#leftMs = wholeMs
    this.#expired = expired
    this.start()
  }

  /** The upstream said something. */
  touch(): void {
    if (this.countdown === undefined) return
    this.stop()
    this.start()
  }

  /** Stands still: the upstream waits for the client. */
  stop(): void {
    if (this.countdown === undefined) return
    this.countdown.stop(this)
    this.#spend()
  }

  /** Goes on, with the whole of the silence before it. */
  start(): void {
    if (this.countdown !== undefined) return
    this.#armed = Math.max(0, Math.min(this.#silenceMs, this.#leftMs))
    const usual = this.#armed === this.#silenceMs
    const countdown = usual ? this.#countdowns.of(this.#armed) : new Countdown(this.#armed)
    countdown.start(this)
  }

  override ring(): void {
    this.#spend()
    this.#expired(this.#armed < this.#silenceMs ? 'maxTime' : 'timeout')
  }

  #spend(): void {
    this.#leftMs -= performance.now() - (this.at - this.#armed)
  }
}
