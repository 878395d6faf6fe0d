/**
 * The stream log of one instance, in memory. Every step is synchronous: readers are woken before the promise of an append is
 * handed back.
 *
 * Data is kept as it is given, never copied, so that one buffer can stand in thousands of streams: whoever appends or posts
 * gives a buffer of its own that nobody writes to again, not a slice of a larger or pooled one.
 *
 * Bounds. A stream over `events` or `bytes` loses its oldest expendable entries, then its oldest others; one entry always
 * stays. Over `total` whole ended streams go, the one that ended first before others; then the entries of the streams that
 * were not written to for longest; the stream just written to comes last and keeps one entry.
 */
import type { InstanceId } from '../instances/presence.ts'
import type { SessionId } from '../sessions/session.ts'
import { Entries } from './entries.ts'
import { MemoryStream, type Opened, Queue } from './memory-stream.ts'
import {
  type AppendOptions,
  type Claimed,
  type Facts,
  Fenced,
  Lost,
  type Place,
  type Slice,
  type StreamBounds,
  type StreamKey,
  type StreamLog,
  type Unwatch,
  type Writer
} from './stream-log.ts'

export interface StreamStats {
  readonly streams: number
  readonly entries: number
  /** Of all entries; a buffer that stands in several streams counts in each. */
  readonly bytes: number
  /** Entries that went before their time since the start: over a stream's bounds, over `total`. */
  readonly dropped: { readonly bounds: number; readonly total: number }
}

/** The sweeper runs at most this often; what is read is judged by the clock. */
const sweepMs = 1_000

const unknown: Slice = { state: 'unknown', entries: [], last: 0, ended: false, facts: '' }

export class MemoryStreamLog implements StreamLog {
  readonly #bounds: StreamBounds
  readonly #instance: InstanceId
  readonly #now: () => number
  /** Most sessions have one stream, their channel: that one stands here without a map of its own. */
  readonly #sessions = new Map<SessionId, MemoryStream | Map<string, MemoryStream>>()
  /** Streams with entries, not ended: the one not written to for longest comes first. */
  readonly #written = new Queue()
  /** The one that ended first comes first. */
  readonly #ended = new Queue()
  #sweeper: NodeJS.Timeout | undefined
  #streams = 0
  #entries = 0
  #bytes = 0
  #overBounds = 0
  #overTotal = 0

  constructor(bounds: StreamBounds, instance: InstanceId, now: () => number = () => performance.now()) {
    this.#bounds = bounds
    this.#instance = instance
    this.#now = now
  }

  async open(key: StreamKey, facts: Facts, place?: Place): Promise<Writer> {
    if (this.#find(key) !== undefined) throw new Error(`the stream ${key.stream} is there already`)
    const stream = this.#make(key)
    stream.opened = { facts, place, owner: this.#instance, writer: undefined, endedAt: undefined }
    return this.#writer(stream, stream.opened)
  }

  async post(key: StreamKey, data: Uint8Array, options?: AppendOptions): Promise<number> {
    const stream = this.#find(key) ?? this.#make(key)
    if (stream.opened !== undefined) throw new Error(`the stream ${key.stream} has one writer`)
    return this.#add(stream, data, options)
  }

  async ensure(key: StreamKey): Promise<void> {
    if (this.#find(key) === undefined) this.#make(key)
  }

  async read(key: StreamKey, after: number, limit: number): Promise<Slice> {
    const stream = this.#find(key)
    const kept = stream?.entries
    const last = kept?.last ?? 0
    if (stream === undefined || after > last) return unknown
    const entries = kept?.after(after, limit) ?? []
    const facts = stream.opened?.facts ?? ''
    const ended = stream.opened?.endedAt !== undefined
    const rest = kept !== undefined && kept.newest > (entries.at(-1)?.number ?? after)
    const state = kept !== undefined && after < kept.gone ? 'trimmed' : ended && !rest ? 'over' : 'entries'
    const slice = { state, entries, last, ended, facts } as const
    return stream.taken === undefined ? slice : { ...slice, taken: stream.taken }
  }

  async take(key: StreamKey, reader: string): Promise<boolean> {
    const stream = this.#find(key)
    if (stream === undefined) return false
    stream.taken = { reader, given: stream.taken?.given ?? 0 }
    stream.wake()
    return true
  }

  async give(key: StreamKey, reader: string, number: number): Promise<void> {
    const stream = this.#find(key)
    const given = stream?.taken?.reader === reader ? stream.taken.given : Number.POSITIVE_INFINITY
    if (stream !== undefined && number > given) stream.taken = { reader, given: number }
  }

  async watch(key: StreamKey, wake: () => void): Promise<Unwatch> {
    const stream = this.#find(key) ?? this.#node(key)
    // A function of its own, so that the same one can watch twice.
    const watcher = () => wake()
    stream.watchers = [...(stream.watchers ?? []), watcher]
    return async () => {
      const rest = stream.watchers?.filter(other => other !== watcher)
      stream.watchers = rest === undefined || rest.length === 0 ? undefined : rest
      if (!stream.exists && stream.watchers === undefined) this.#forget(stream)
    }
  }

  async owner(key: StreamKey): Promise<InstanceId | undefined> {
    const opened = this.#find(key)?.opened
    return opened === undefined || opened.endedAt !== undefined ? undefined : opened.owner
  }

  async claim(key: StreamKey, from: InstanceId, to: InstanceId): Promise<Claimed | undefined> {
    const stream = this.#find(key)
    const opened = stream?.opened
    if (stream === undefined || opened === undefined) return undefined
    if (opened.endedAt !== undefined || opened.owner !== from) return undefined
    opened.owner = to
    const writer = this.#writer(stream, opened)
    stream.wake()
    return { writer, facts: opened.facts, place: opened.place, last: stream.entries?.last ?? 0 }
  }

  async purge(session: SessionId): Promise<void> {
    const found = this.#sessions.get(session)
    if (found instanceof MemoryStream) this.#remove(found)
    else if (found !== undefined) for (const stream of [...found.values()]) this.#remove(stream)
  }

  async close(): Promise<void> {
    clearTimeout(this.#sweeper)
    this.#sweeper = undefined
    for (const session of [...this.#sessions.keys()]) await this.purge(session)
  }

  stats(): StreamStats {
    return {
      streams: this.#streams,
      entries: this.#entries,
      bytes: this.#bytes,
      dropped: { bounds: this.#overBounds, total: this.#overTotal }
    }
  }

  #writer(stream: MemoryStream, opened: Opened): Writer {
    /** Whether this writer may write: ended streams take nothing more. */
    const check = (): void => {
      if (!stream.exists || stream.opened !== opened || this.#expired(stream)) throw new Lost('the stream is gone')
      if (opened.writer !== writer) throw new Fenced(`the stream was claimed by ${opened.owner}`)
    }
    const writer: Writer = {
      append: async (data, options) => {
        check()
        if (opened.endedAt !== undefined) throw new Error('the stream has ended')
        if (options?.place !== undefined) opened.place = options.place
        return this.#add(stream, data, options)
      },
      end: async () => {
        check()
        if (opened.endedAt !== undefined) return
        opened.endedAt = this.#now()
        this.#ended.put(stream)
        this.#schedule()
        stream.wake()
      }
    }
    opened.writer = writer
    return writer
  }

  #add(stream: MemoryStream, data: Uint8Array, options: AppendOptions | undefined): number {
    stream.entries ??= new Entries()
    const kept = stream.entries
    const number = kept.add(data, options?.label, options?.expendable === true)
    this.#entries++
    this.#bytes += data.byteLength
    this.#written.put(stream)
    while (kept.length > 1 && (kept.length > this.#bounds.events || kept.bytes > this.#bounds.bytes)) {
      this.#drop(kept)
      this.#overBounds++
    }
    if (this.#bytes > this.#bounds.total) this.#shrink(kept)
    stream.wake()
    return number
  }

  #drop(kept: Entries): void {
    const before = kept.bytes
    kept.drop()
    this.#entries--
    this.#bytes -= before - kept.bytes
  }

  /** Makes room below `total` for a stream's newest entry. */
  #shrink(newest: Entries): void {
    for (let oldest = this.#ended.first; oldest !== undefined; oldest = this.#ended.first) {
      if (this.#bytes <= this.#bounds.total) return
      this.#overTotal += oldest.entries?.length ?? 0
      this.#remove(oldest)
    }
    for (let stream = this.#written.first; stream !== undefined; stream = this.#written.first) {
      const kept = stream.entries as Entries
      const least = kept === newest ? 1 : 0
      while (kept.length > least && this.#bytes > this.#bounds.total) {
        this.#drop(kept)
        this.#overTotal++
      }
      if (this.#bytes <= this.#bounds.total || kept === newest) return
      this.#written.remove(stream)
    }
  }

  #expired(stream: MemoryStream): boolean {
    const endedAt = stream.opened?.endedAt
    return endedAt !== undefined && this.#now() - endedAt >= this.#bounds.retainMs
  }

  #node(key: StreamKey): MemoryStream {
    const found = this.#sessions.get(key.session)
    if (found instanceof MemoryStream && found.name === key.stream) return found
    if (found instanceof Map) {
      const known = found.get(key.stream)
      if (known !== undefined) return known
    }
    const stream = new MemoryStream(key.session, key.stream)
    if (found === undefined) this.#sessions.set(key.session, stream)
    else if (found instanceof Map) found.set(key.stream, stream)
    else {
      this.#sessions.set(
        key.session,
        new Map([
          [found.name, found],
          [key.stream, stream]
        ])
      )
    }
    return stream
  }

  #find(key: StreamKey): MemoryStream | undefined {
    const found = this.#sessions.get(key.session)
    if (found === undefined) return undefined
    const stream = found instanceof Map ? found.get(key.stream) : found.name === key.stream ? found : undefined
    if (stream === undefined || !stream.exists) return undefined
    if (!this.#expired(stream)) return stream
    this.#remove(stream)
    return undefined
  }

  #make(key: StreamKey): MemoryStream {
    const stream = this.#node(key)
    stream.exists = true
    this.#streams++
    return stream
  }

  /** Empties a stream; whoever watches its key goes on watching. */
  #remove(stream: MemoryStream): void {
    if (!stream.exists) return
    stream.exists = false
    stream.queue?.remove(stream)
    this.#streams--
    this.#entries -= stream.entries?.length ?? 0
    this.#bytes -= stream.entries?.bytes ?? 0
    stream.entries = undefined
    stream.opened = undefined
    stream.taken = undefined
    if (stream.watchers === undefined) this.#forget(stream)
    else stream.wake()
  }

  #forget(stream: MemoryStream): void {
    const found = this.#sessions.get(stream.session)
    if (found === stream) this.#sessions.delete(stream.session)
    else if (found instanceof Map && found.get(stream.name) === stream) {
      found.delete(stream.name)
      if (found.size === 0) this.#sessions.delete(stream.session)
    }
  }

  /** One timer for all ended streams, none while there are none. */
  #schedule(): void {
    const endedAt = this.#ended.first?.opened?.endedAt
    if (this.#sweeper !== undefined || endedAt === undefined) return
    const wait = Math.max(sweepMs, endedAt + this.#bounds.retainMs - this.#now())
    this.#sweeper = setTimeout(() => this.#sweep(), Math.min(wait, 0x7fffffff)).unref()
  }

  #sweep(): void {
    this.#sweeper = undefined
    for (let stream = this.#ended.first; stream !== undefined; stream = this.#ended.first) {
      if (!this.#expired(stream)) break
      this.#remove(stream)
    }
    this.#schedule()
  }
}
