/** A reader that keeps what it is given, and is slow, or gone, when a test says so. */
import type { Reader } from '../../src/streams/reader.ts'

export interface Given {
  readonly id?: string
  readonly data?: string
  readonly retry?: number
}

export class FakeReader implements Reader {
  readonly given: Given[] = []
  comments = 0
  gone = false
  /** How it was ended. */
  ended: 'clean' | 'abrupt' | undefined
  /** While true every push makes the writer wait for `drain`. */
  slow = false
  #room: PromiseWithResolvers<void> | undefined
  #listeners: (() => void)[] = []
  #waiting: (() => void)[] = []

  push(id: string | undefined, data: Uint8Array): Promise<void> | undefined {
    if (this.gone) return undefined
    this.#add({ ...(id === undefined ? {} : { id }), data: Buffer.from(data).toString() })
    if (!this.slow) return undefined
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  prime(id: string, retry: number): void {
    if (!this.gone) this.#add({ id, retry })
  }

  comment(): void {
    this.comments++
  }

  retry(retry: number): void {
    if (!this.gone) this.#add({ retry })
  }

  end(abruptly = false): void {
    if (this.gone) return
    this.ended = abruptly ? 'abrupt' : 'clean'
    this.leave()
  }

  /** The connection is cut. */
  leave(): void {
    if (this.gone) return
    this.gone = true
    this.drain()
    for (const listener of this.#listeners) listener()
    this.#wake()
  }

  /** It takes what waited. */
  drain(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  onGone(listener: () => void): void {
    if (this.gone) listener()
    else this.#listeners.push(listener)
  }

  /** Texts of the messages, in order. */
  get texts(): string[] {
    return this.given.flatMap(({ data }) => (data === undefined ? [] : [data]))
  }

  /** Numbers of the events that carry a message; 0 for one without an id. */
  get numbers(): number[] {
    return this.given.flatMap(({ id, data }) => (data === undefined ? [] : [Number(id?.split('_').at(-1) ?? 0)]))
  }

  /** Waits until it was given that many messages, or was ended. */
  async until(holds: (reader: this) => boolean, ms = 2_000): Promise<void> {
    const end = performance.now() + ms
    while (!holds(this)) {
      const left = end - performance.now()
      if (left <= 0) throw new Error(`in vain; given ${JSON.stringify(this.given)}, ended ${this.ended}`)
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>(resolve => {
        timer = setTimeout(resolve, left)
        this.#waiting.push(resolve)
      })
      clearTimeout(timer)
    }
  }

  #add(given: Given): void {
    this.given.push(given)
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }
}
