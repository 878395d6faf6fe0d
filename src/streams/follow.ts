/**
 * Read side of a stream: carries the entries after a cursor to one reader, then what comes, until the stream is over.
 * While nothing comes it is an object and nothing else: no timer, no suspended function.
 */
import { eventId } from './event-id.ts'
import type { Reader } from './reader.ts'
import { Retry } from './retry.ts'
import type { StreamKey, StreamLog, Unwatch } from './stream-log.ts'
import { Unlogged } from './unlogged.ts'

/** An object, so that one can serve for as long as its stream does. */
export interface FollowOptions {
  /** Whether an entry with this label is left out (a server request that is answered). */
  skip?(label: string): boolean
  /** The entry with this number was written to the connection, or left out. */
  given?(number: number): void
  /** Another connection took the stream, here or on another instance. This one is let go of. */
  superseded?(follower: Follower, reader: Reader): void
}

/** Entries read from the log at a time. */
const chunk = 64

export class Follower {
  readonly #log: StreamLog
  readonly #key: StreamKey
  readonly #options: FollowOptions
  readonly #name: string | undefined
  #taken = false
  #reader: Reader | undefined
  #after: number
  #unwatch: Unwatch | undefined
  #running = false
  #woken = false
  /** The exchange that writes runs on this instance: it says when nothing follows, whatever the log says. */
  #attended = false
  #unlogged: Unlogged | undefined
  #logEnd = Number.POSITIVE_INFINITY
  #room: PromiseWithResolvers<void> | undefined
  #finish: ((reader: Reader) => void) | undefined
  /** While the log does not answer. */
  #retry: Retry | undefined

  /** `name`: what the stream is taken as; empty for the first reader of a call. Undefined: whoever took it, this one reads too. */
  constructor(
    log: StreamLog,
    key: StreamKey,
    after: number,
    reader: Reader,
    options: FollowOptions = {},
    name: string | undefined = undefined
  ) {
    this.#name = name
    this.#taken = name === ''
    this.#log = log
    this.#key = key
    this.#after = after
    this.#reader = reader
    this.#options = options
  }

  /** Whether there is somebody who is given what comes. */
  get reads(): boolean {
    return this.#reader !== undefined
  }

  /** Resolves once it follows, or will try to. Never rejects. */
  async start(): Promise<void> {
    this.#reader?.onGone(() => this.stop())
    await this.#watch()
    this.wake()
  }

  /** Lets go of the reader without ending it. */
  stop(): Reader | undefined {
    const reader = this.#reader
    this.#reader = undefined
    this.#unlogged = undefined
    this.#finish = undefined
    this.#forgetRetry()
    this.#makeRoom()
    void this.#unwatch?.().catch(ignore)
    this.#unwatch = undefined
    return reader
  }

  /** Lets go of the reader, and hands it over, once it was given what stands in the log now. */
  finish(last: (reader: Reader) => void): void {
    this.#finish = last
    this.wake()
  }

  wake(): void {
    this.#woken = true
    if (!this.#running && this.#reader !== undefined) void this.#drain()
  }

  /** The exchange runs here: until `bypassEnd` a log that knows nothing of the stream is no end. */
  attend(): void {
    this.#attended = true
  }

  /**
   * From now on messages come past the log: its end is not the stream's. `last`: what stands after this entry comes past the log
   * too, and is not read there.
   */
  unlog(last = Number.POSITIVE_INFINITY): void {
    this.#unlogged ??= new Unlogged()
    this.#logEnd = last
  }

  /** A message that is not in the log: written without an id once the log has nothing more before it. */
  bypass(data: Uint8Array): void {
    if (this.#reader === undefined) return
    if (this.#after > this.#logEnd) {
      // It stood in the log after all, and was read there.
      this.#logEnd++
      return
    }
    this.#unlogged?.push(data)
    this.wake()
  }

  /** The exchange is over: nothing follows what it logged and what went past the log. */
  bypassEnd(): void {
    this.#attended = false
    this.#unlogged?.end()
    this.wake()
  }

  /** A promise while the reader is `limit` entries or more behind `last`; it resolves when it may have caught up or is gone. */
  behind(last: number, limit: number): Promise<void> | undefined {
    if (this.#reader === undefined) return undefined
    if (last - this.#after + (this.#unlogged?.length ?? 0) < limit) return undefined
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  async #watch(): Promise<void> {
    if (this.#reader === undefined) return
    try {
      if (!this.#taken && this.#name !== undefined) this.#taken = await this.#log.take(this.#key, this.#name)
      const unwatch = await this.#log.watch(this.#key, () => this.wake())
      if (this.#reader === undefined || this.#unwatch !== undefined) void unwatch().catch(ignore)
      else this.#unwatch = unwatch
    } catch {
      this.#again()
    }
  }

  /** One at a time: what wakes it meanwhile is seen after each turn. */
  async #drain(): Promise<void> {
    this.#running = true
    while (this.#woken && this.#reader !== undefined) {
      this.#woken = false
      await this.#pass()
      if (!this.#woken) this.#makeRoom()
    }
    this.#running = false
  }

  async #pass(): Promise<void> {
    const finish = this.#finish
    let over = false
    let failed = false
    try {
      over = await this.#passLogged()
      if (this.#unwatch !== undefined) this.#forgetRetry()
    } catch {
      failed = true
    }
    if (this.#unlogged !== undefined) over = await this.#unlogged.pass(() => this.#reader, failed)
    if (finish !== undefined) this.#handOver(finish)
    else if (over) this.stop()?.end()
    else if (failed) this.#again()
  }

  /** Whether the stream is over. */
  async #passLogged(): Promise<boolean> {
    for (;;) {
      const slice = await this.#log.read(this.#key, this.#after, chunk)
      if (this.#taken && slice.state !== 'unknown' && (slice.taken?.reader ?? '') !== this.#name) {
        this.#supersede()
        return false
      }
      for (const { number, data, label } of slice.entries) {
        if (this.#reader === undefined || number > this.#logEnd) return false
        const skipped = label !== undefined && this.#options.skip?.(label) === true
        const room = skipped ? undefined : this.#reader.push(eventId(this.#key.stream, number), data)
        // Said at once: whoever takes the stream over while this reader is behind goes on after it.
        this.#after = number
        this.#options.given?.(number)
        if (room !== undefined) await room
      }
      if (slice.entries.length < chunk) return slice.ended || (slice.state === 'unknown' && !this.#attended)
    }
  }

  #supersede(): void {
    const reader = this.stop()
    if (reader === undefined) return
    if (this.#options.superseded === undefined) reader.end()
    else this.#options.superseded(this, reader)
  }

  #handOver(last: (reader: Reader) => void): void {
    const reader = this.stop()
    if (reader !== undefined) last(reader)
  }

  #makeRoom(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  #forgetRetry(): void {
    this.#retry?.stop()
    this.#retry = undefined
  }

  /** Asks the log again later. */
  #again(): void {
    if (this.#reader === undefined) return
    this.#retry ??= new Retry()
    this.#retry.later(() => {
      if (this.#unwatch === undefined) void this.#watch()
      this.wake()
    })
  }
}

const ignore = (): void => {}
