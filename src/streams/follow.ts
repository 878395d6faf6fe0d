/**
 * Read side of a stream: carries the entries after a cursor to one reader, then what comes, until the stream is over.
 * While nothing comes it is an object and nothing else: no timer, no suspended function.
 */
import { eventId } from './event-id.ts'
import type { Reader } from './reader.ts'
import type { StreamKey, StreamLog, Unwatch } from './stream-log.ts'

export interface FollowOptions {
  /** Whether an entry with this label is left out (a server request that is answered). */
  readonly skip?: (label: string) => boolean
  /** The number of an entry was written to the connection. */
  readonly given?: (number: number) => void
}

/** Entries read from the log at a time. */
const chunk = 64

export class Follower {
  readonly #log: StreamLog
  readonly #key: StreamKey
  readonly #options: FollowOptions
  #reader: Reader | undefined
  #after: number
  #unwatch: Unwatch | undefined
  #running = false
  #woken = false
  #unlogged: Unlogged | undefined
  #room: PromiseWithResolvers<void> | undefined

  constructor(log: StreamLog, key: StreamKey, after: number, reader: Reader, options: FollowOptions = {}) {
    this.#log = log
    this.#key = key
    this.#after = after
    this.#reader = reader
    this.#options = options
  }

  /** Resolves once it follows. Never rejects. */
  async start(): Promise<void> {
    this.#reader?.onGone(() => this.stop())
    try {
      const unwatch = await this.#log.watch(this.#key, () => this.wake())
      if (this.#reader === undefined) void unwatch().catch(ignore)
      else this.#unwatch = unwatch
    } catch {
      // A log that cannot be watched still takes what the pump brings around it.
    }
    this.wake()
  }

  /** Lets go of the reader without ending it. */
  stop(): Reader | undefined {
    const reader = this.#reader
    this.#reader = undefined
    this.#unlogged = undefined
    this.#room?.resolve()
    this.#room = undefined
    void this.#unwatch?.().catch(ignore)
    this.#unwatch = undefined
    return reader
  }

  wake(): void {
    this.#woken = true
    if (!this.#running) void this.#drain()
  }

  /** From now on messages come past the log: the log's end is not the stream's. */
  unlog(): void {
    this.#unlogged ??= { messages: [], ended: false }
  }

  /** A message that is not in the log: written without an id once the log has nothing more before it. */
  bypass(data: Uint8Array): void {
    if (this.#reader === undefined) return
    this.#unlogged?.messages.push(data)
    this.wake()
  }

  /** After the last `bypass`: nothing follows. */
  bypassEnd(): void {
    if (this.#unlogged !== undefined) this.#unlogged.ended = true
    this.wake()
  }

  /** A promise while the reader is `limit` entries or more behind `last`; it resolves when it has caught up or is gone. */
  behind(last: number, limit: number): Promise<void> | undefined {
    if (this.#reader === undefined) return undefined
    if (last - this.#after + (this.#unlogged?.messages.length ?? 0) < limit) return undefined
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  async #drain(): Promise<void> {
    this.#running = true
    while (this.#woken && this.#reader !== undefined) {
      this.#woken = false
      const over = await this.#passLogged()
      if (this.#unlogged !== undefined) await this.#passUnlogged(this.#unlogged)
      else if (over) this.stop()?.end()
      this.#room?.resolve()
      this.#room = undefined
    }
    this.#running = false
  }

  /** Whether the stream is over. A log that does not answer is asked again at the next wake. */
  async #passLogged(): Promise<boolean> {
    try {
      for (;;) {
        const slice = await this.#log.read(this.#key, this.#after, chunk)
        for (const entry of slice.entries) {
          if (this.#reader === undefined) return false
          if (entry.label === undefined || this.#options.skip?.(entry.label) !== true) {
            const room = this.#reader.push(eventId(this.#key.stream, entry.number), entry.data)
            if (room !== undefined) await room
          }
          this.#after = entry.number
          this.#options.given?.(entry.number)
        }
        if (slice.entries.length < chunk) return slice.ended || slice.state === 'unknown'
      }
    } catch {
      return false
    }
  }

  async #passUnlogged(unlogged: Unlogged): Promise<void> {
    for (;;) {
      const data = unlogged.messages.shift()
      if (data === undefined) break
      const room = this.#reader?.push(undefined, data)
      if (room !== undefined) await room
    }
    if (unlogged.ended) this.stop()?.end()
  }
}

interface Unlogged {
  readonly messages: Uint8Array[]
  ended: boolean
}

const ignore = (): void => {}
