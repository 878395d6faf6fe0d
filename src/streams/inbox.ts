/** Reads a stream of posts from its first entry on, as they come, for as long as it is wanted. */
import { Retry } from './retry.ts'
import type { StreamKey, StreamLog, Unwatch } from './stream-log.ts'

/** Entries read at a time. */
const chunk = 16

export class Inbox {
  readonly #log: StreamLog
  readonly #key: StreamKey
  readonly #hear: (data: Buffer) => void
  readonly #retry = new Retry()
  #unwatch: Unwatch | undefined
  #after = 0
  #reading = false
  #woken = false
  #over = false

  /** `hear` must not throw. */
  constructor(log: StreamLog, key: StreamKey, hear: (data: Buffer) => void) {
    this.#log = log
    this.#key = key
    this.#hear = hear
    void this.#start()
  }

  stop(): void {
    this.#over = true
    this.#retry.stop()
    void this.#unwatch?.().catch(ignore)
  }

  async #start(): Promise<void> {
    try {
      const unwatch = await this.#log.watch(this.#key, () => void this.#read())
      if (this.#over) void unwatch().catch(ignore)
      else this.#unwatch = unwatch
    } catch {
      this.#again()
    }
    await this.#read()
  }

  async #read(): Promise<void> {
    this.#woken = true
    if (this.#reading) return
    this.#reading = true
    while (this.#woken && !this.#over) {
      this.#woken = false
      try {
        await this.#pass()
      } catch {
        this.#again()
      }
    }
    this.#reading = false
  }

  async #pass(): Promise<void> {
    const { entries } = await this.#log.read(this.#key, this.#after, chunk)
    for (const { number, data } of entries) {
      this.#after = number
      if (!this.#over) this.#hear(Buffer.from(data))
    }
    if (entries.length === chunk) this.#woken = true
  }

  #again(): void {
    if (this.#over) return
    this.#retry.later(() => void (this.#unwatch === undefined ? this.#start() : this.#read()))
  }
}

const ignore = (): void => {}
