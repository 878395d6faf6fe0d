/** The two limits of one call: silence (`timeout`), which progress extends, and the whole (`maxTime`). One timer. */

export class Deadline {
  readonly #silenceMs: number
  readonly #expired: (what: 'timeout' | 'maxTime') => void
  #leftMs: number
  #armed = 0
  #since = 0
  #timer: NodeJS.Timeout | undefined

  /** `expired` may call `start` to wait for as long again. */
  constructor(silenceMs: number, wholeMs: number, expired: (what: 'timeout' | 'maxTime') => void) {
    this.#silenceMs = silenceMs
    this.#leftMs = wholeMs
    this.#expired = expired
    this.start()
  }

  /** The upstream said something. */
  touch(): void {
    if (this.#timer === undefined) return
    this.stop()
    this.start()
  }

  /** Stands still: the upstream waits for the client. */
  stop(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#spend()
  }

  /** Goes on, with the whole of the silence before it. */
  start(): void {
    if (this.#timer !== undefined) return
    this.#since = performance.now()
    this.#armed = Math.max(0, Math.min(this.#silenceMs, this.#leftMs))
    this.#timer = setTimeout(fire, this.#armed, this)
  }

  fire(): void {
    this.#spend()
    this.#expired(this.#armed < this.#silenceMs ? 'maxTime' : 'timeout')
  }

  #spend(): void {
    this.#timer = undefined
    this.#leftMs -= performance.now() - this.#since
  }
}

const fire = (deadline: Deadline): void => deadline.fire()
