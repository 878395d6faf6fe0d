/**
 * What was asked of a server and is not answered yet. Nobody waits longer than the deadline.
 *
 * Replies come in the order of the questions. Hence the breaker: while a question is open that outlived its deadline, whatever is
 * asked would wait behind it, and is refused at once.
 */

/** Redis does not answer, or there is no connection. Whether something was done that had been sent is not known. */
export class Unavailable extends Error {}

interface Waiting {
  readonly since: number
  readonly refuse: (error: Error) => void
  late: boolean
}

/** At most: memory stays flat whatever the server does. */
const most = 10_000
/** A server that says nothing for this long (ms), and for longer than four deadlines, is silent. */
const silentMs = 1_000

export class InFlight {
  readonly #deadlineMs: number
  readonly #silentMs: number
  readonly #silent: (why: Error) => void
  /** The oldest first. */
  readonly #waiting = new Set<Waiting>()
  /** Of those, how many outlived their deadline. */
  #late = 0
  #timer: NodeJS.Timeout | undefined

  /** `silent`: not even what is late was answered. */
  constructor(deadlineMs: number, silent: (why: Error) => void) {
    this.#deadlineMs = deadlineMs
    this.#silentMs = Math.max(silentMs, 4 * deadlineMs)
    this.#silent = silent
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Whether answers come in time. */
  get prompt(): boolean {
    return this.#late === 0
  }

  /** Rejects with {@link Unavailable} within the deadline, or with what `run` does. */
  ask<T>(run: () => Promise<T>): Promise<T> {
    if (this.#late > 0) return Promise.reject(new Unavailable('Redis does not answer'))
    if (this.#waiting.size >= most) return Promise.reject(new Unavailable('too much is asked of Redis at once'))
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { since: performance.now(), refuse: reject, late: false }
      this.#waiting.add(waiting)
      run().then(
        reply => {
          this.#answered(waiting)
          resolve(reply)
        },
        (error: unknown) => {
          this.#answered(waiting)
          reject(error)
        }
      )
      this.#watch()
    })
  }

  /** There will be no answers. */
  refuseAll(cause: Error): void {
    for (const waiting of this.#waiting) if (!waiting.late) waiting.refuse(new Unavailable('Redis is gone', { cause }))
    this.#waiting.clear()
    this.#late = 0
  }

  #answered(waiting: Waiting): void {
    if (this.#waiting.delete(waiting) && waiting.late) this.#late--
  }

  /** One timer for all that waits. */
  #watch(): void {
    const [oldest] = this.#waiting
    if (this.#timer !== undefined || oldest === undefined) return
    const next = this.#late === 0 ? oldest : ([...this.#waiting].find(({ late }) => !late) ?? oldest)
    const at = next.since + (next.late ? this.#silentMs : this.#deadlineMs)
    // A process that was busy itself reads first what has come meanwhile.
    const judge = (): unknown => setImmediate(() => this.#judge())
    this.#timer = setTimeout(judge, Math.max(1, at - performance.now())).unref()
  }

  #judge(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const waiting of this.#waiting) {
      if (waiting.since + this.#deadlineMs > now) break
      if (waiting.late) continue
      waiting.late = true
      this.#late++
      waiting.refuse(new Unavailable(`Redis did not answer within ${this.#deadlineMs} ms`))
    }
    const [oldest] = this.#waiting
    if (oldest?.late === true && oldest.since + this.#silentMs <= now) this.#silent(new Unavailable('Redis is silent'))
    this.#watch()
  }
}
