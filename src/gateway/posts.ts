/** Streams of POSTs: opened in the log, read along, resumed and taken over (basic/transports, "Resumability and Redelivery"). */

import { GatewayError } from '../errors.ts'
import type { Asked } from '../exchanges/asked.ts'
import type { MessageSource } from '../exchanges/source.ts'
import { errorMessage } from '../protocol/make.ts'
import { line } from '../protocol/message.ts'
import { hasPriming } from '../protocol/version.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { type Cursor, eventId, newStream } from '../streams/event-id.ts'
import { Follower } from '../streams/follow.ts'
import { Pump } from '../streams/pump.ts'
import type { Reader } from '../streams/reader.ts'
import type { Slice, StreamKey, StreamLog, Writer } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import { outgoing } from './outgoing.ts'

export interface PostOptions {
  /** `streams.retry`, in milliseconds. */
  readonly retryMs: number
  /** `streams.closeAfter`; undefined: never. */
  readonly closeAfterMs: number | undefined
  /** `streams.behind`. */
  readonly behind: number
}

/** What the log keeps with a stream: the ids of the requests that it answers. */
interface PostFacts {
  readonly ids: readonly string[]
}

interface Reading {
  readonly follower: Follower
  readonly reader: Reader
  /** Whether an id was sent first: only then may the connection be closed on purpose. */
  readonly primed: boolean
}

export class Posts {
  readonly #log: StreamLog
  readonly #asked: Asked
  readonly #options: PostOptions
  /** By stream: the exchange that still runs here, and the connection that reads. */
  readonly #pumps = new Map<string, Pump>()
  readonly #reading = new Map<string, Reading>()

  constructor(log: StreamLog, asked: Asked, options: PostOptions) {
    this.#log = log
    this.#asked = asked
    this.#options = options
  }

  /** Connections that read the stream of a POST. */
  get readers(): number {
    return this.#reading.size
  }

  /** Runs a source as a stream of the session; `ids` are those of the requests that it answers. */
  run(live: Live, source: MessageSource, ids: readonly string[], reader: Reader, ended: () => void): void {
    void this.#run(live, source, ids, reader).finally(ended)
  }

  async #run(live: Live, source: MessageSource, ids: readonly string[], reader: Reader): Promise<void> {
    const stream = newStream()
    const key = { session: live.record.id, stream }
    const writer = live.ephemeral ? undefined : await this.#writer(key, ids)
    const pump = new Pump(outgoing(source), writer, this.#options.behind)
    this.#pumps.set(stream, pump)
    source.onCloseStream?.(() => this.#closeNow(stream))
    const primed = writer !== undefined && hasPriming(live.record.client.version)
    void this.#read(key, 0, reader, primed)
    if (primed) this.#closeLater(stream, reader)
    await pump.run()
    this.#pumps.delete(stream)
  }

  async #writer(key: StreamKey, ids: readonly string[]): Promise<Writer | undefined> {
    try {
      return await this.#log.open(key, JSON.stringify({ ids } satisfies PostFacts))
    } catch (error) {
      facts.drop.publish({ reason: 'log_failed' })
      facts.notice.publish({
        level: 'warn',
        text: 'a stream cannot be opened in the log and goes on without ids',
        error
      })
      return undefined
    }
  }

  /**
   * What to do with a GET that comes back for the stream of a POST. Rejects with `cursor` (400) for an id that was never
   * given, and with `http_method` (405) when nothing is left to say: clients stop there quietly.
   */
  async resume(live: Live, cursor: Cursor): Promise<(reader: Reader) => void> {
    const key = { session: live.record.id, stream: cursor.stream }
    const slice = await this.#log.read(key, cursor.number, 1)
    if (slice.state === 'unknown') throw new GatewayError('cursor', 'no such event was given to this session')
    if (slice.ended && slice.entries.length === 0 && slice.last === cursor.number) {
      throw new GatewayError('http_method', 'the stream is over and was delivered', { headers: { allow: 'POST' } })
    }
    if (slice.state === 'trimmed' && slice.ended && (await this.#lastEntry(key, slice)) === undefined) {
      return reader => this.#gone(slice, reader)
    }
    return reader => void this.#read(key, cursor.number, reader, hasPriming(live.record.client.version))
  }

  async #lastEntry(key: StreamKey, slice: Slice): Promise<Uint8Array | undefined> {
    const tail = await this.#log.read(key, slice.last - 1, 1)
    return tail.entries[0]?.data
  }

  /** The response is gone: each request of the stream ends in one error. */
  #gone(slice: Slice, reader: Reader): void {
    const { ids } = JSON.parse(slice.facts) as PostFacts
    const error = new GatewayError('response_gone', 'the response was kept for a while and is gone')
    reader.comment()
    for (const id of ids) void reader.push(undefined, line(errorMessage(error, id)))
    reader.end()
  }

  async #read(key: StreamKey, after: number, reader: Reader, primed: boolean): Promise<void> {
    if (primed) reader.prime(eventId(key.stream, after), this.#options.retryMs)
    else reader.comment()
    const follower = new Follower(this.#log, key, after, reader, { skip: label => !this.#asked.pending(label) })
    const before = this.#reading.get(key.stream)
    before?.follower.stop()?.end()
    this.#reading.set(key.stream, { follower, reader, primed })
    reader.onGone(() => {
      if (this.#reading.get(key.stream)?.reader === reader) this.#reading.delete(key.stream)
    })
    this.#pumps.get(key.stream)?.attach(follower)
    await follower.start()
  }

  #closeLater(stream: string, reader: Reader): void {
    const { closeAfterMs } = this.#options
    if (closeAfterMs === undefined) return
    const timer = setTimeout(() => this.#closeNow(stream), closeAfterMs)
    timer.unref()
    reader.onGone(() => clearTimeout(timer))
  }

  /** Ends the connection on purpose; the exchange goes on and the client, who holds an event id, comes back (R18). */
  #closeNow(stream: string): void {
    const reading = this.#reading.get(stream)
    if (reading === undefined || !reading.primed) return
    reading.follower.stop()
    reading.reader.retry(this.#options.retryMs)
    reading.reader.end()
  }
}
