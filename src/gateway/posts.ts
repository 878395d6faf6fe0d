/** Streams of POSTs: opened in the log, read along, resumed and taken over (basic/transports, "Resumability and Redelivery"). */

import { randomUUID } from 'node:crypto'
import { GatewayError } from '../errors.ts'
import type { Asked } from '../exchanges/asked.ts'
import type { MessageSource } from '../exchanges/source.ts'
import { errorMessage } from '../protocol/make.ts'
import { hasPriming } from '../protocol/version.ts'
import { line } from '../protocol/write.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { type Cursor, eventId, newStream } from '../streams/event-id.ts'
import { Follower, type FollowOptions } from '../streams/follow.ts'
import { Pump } from '../streams/pump.ts'
import type { Reader } from '../streams/reader.ts'
import type { Claimed, Entry, Place, Slice, StreamKey, StreamLog, Writer } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import type { Orphans } from './orphans.ts'
import { outgoing } from './outgoing.ts'
import { type OverStream, OverStreams } from './over-streams.ts'
import { idsOf, postFacts } from './post-facts.ts'
import type { Unended } from './unended.ts'

export interface PostOptions {
  /** Where several instances serve a session. */
  readonly shared?: { readonly orphans: Pick<Orphans, 'watch'>; readonly unended: Pick<Unended, 'end' | 'close'> }
  /** `streams.retry`, in milliseconds. */
  readonly retryMs: number
  /** `streams.closeAfter`; undefined: never. */
  readonly closeAfterMs: number | undefined
  /** `streams.behind`. */
  readonly behind: number
}

/** What a stream answers: ids as JSON texts; of one request its method. */
export interface Requests {
  readonly ids: readonly string[]
  readonly method?: string | undefined
}

type Gone = Pick<OverStream, 'ids' | 'last'>

interface Writing {
  readonly live: Live
  readonly pump: Pump
  readonly over: Promise<void>
}

interface Reading {
  readonly live: Live
  readonly follower: Follower
  readonly reader: Reader
  /** Whether an id was sent first: only then may the connection be closed on purpose. */
  readonly primed: boolean
}

export class Posts {
  readonly #log: StreamLog
  readonly #options: PostOptions
  readonly #follow: FollowOptions
  /** By stream: the exchange that still runs here, the connection that reads, and what was over here. */
  readonly #writing = new Map<string, Writing>()
  readonly #reading = new Map<string, Reading>()
  readonly #over = new OverStreams()

  constructor(log: StreamLog, asked: Pick<Asked, 'pending'>, options: PostOptions) {
    this.#log = log
    this.#options = options
    this.#follow = { skip: label => !asked.pending(label) }
  }

  /** Runs a source as a stream of the session; `ids` are those of the requests that it answers. */
  run(live: Live, source: MessageSource, { ids, method }: Requests, reader: Reader, ended: () => void): void {
    this.#run(live, source, { ids, method }, reader)
      .catch((error: unknown) => {
        facts.notice.publish({ level: 'error', text: 'a fault of the gateway ended a stream', error })
        reader.end()
      })
      .finally(ended)
  }

  /** The call of an instance that died goes on here: what is left of it is written after what there is. */
  goOn(live: Live, key: StreamKey, source: MessageSource, { writer, facts: text, last }: Claimed): void {
    const pump = new Pump(outgoing(source), writer, this.#options.behind, undefined, last)
    void this.#write(live, key, pump, writer, idsOf(text))
    const reading = this.#reading.get(key.stream)
    if (reading !== undefined) pump.attach(reading.follower)
  }

  async #run(live: Live, source: MessageSource, requests: Requests, reader: Reader): Promise<void> {
    const stream = newStream()
    const key = { session: live.record.id, stream }
    const writer = live.ephemeral ? undefined : await this.#writer(key, requests, source.place)
    const pump = new Pump(outgoing(source), writer, this.#options.behind)
    source.onCloseStream?.(() => this.#closeNow(stream))
    const over = this.#write(live, key, pump, writer, requests.ids)
    const primed = writer !== undefined && hasPriming(live.record.client.version)
    this.#read(live, key, 0, reader, primed, '')
    if (primed) this.#closeLater(stream, reader)
    await over
  }

  /** Resolves at the end of the stream. Never rejects. */
  async #write(
    live: Live,
    key: StreamKey,
    pump: Pump,
    writer: Writer | undefined,
    ids: readonly string[]
  ): Promise<void> {
    const over = pump.run()
    this.#writing.set(key.stream, { live, pump, over })
    await over
    this.#writing.delete(key.stream)
    if (pump.fenced) return
    if (writer !== undefined && !pump.logged && !live.closed) this.#options.shared?.unended.end(key, pump, ids)
    if (writer === undefined || live.closed) return
    // Without its end in the log the stream has one event more, the error that a resume gets.
    this.#over.add(key, { ids, last: pump.logged ? pump.last : pump.last + 1, logged: pump.logged })
  }

  async #writer(key: StreamKey, { ids, method }: Requests, place: Place | undefined): Promise<Writer | undefined> {
    try {
      return await this.#log.open(key, postFacts(ids, method), place)
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
    const over = this.#over.get(key)
    const slice = await this.#left(key, cursor.number, over)
    if (slice === undefined) return this.#afterwards(live, key, cursor.number, over!)
    const { state, entries, ended, last, facts: text } = slice
    if (state === 'unknown') {
      if (over === undefined) throw neverGiven()
      return this.#afterwards(live, key, cursor.number, over)
    }
    if (ended && !entries.some(entry => this.#isLeft(entry)) && entries.length < someEntries) {
      if (state !== 'trimmed') throw delivered()
      return this.#afterwards(live, key, cursor.number, { ids: idsOf(text), last })
    }
    return reader => this.#read(live, key, cursor.number, reader, hasPriming(live.record.client.version), randomUUID())
  }

  /** Undefined: it was over here, and the log was not told, nor by anybody else. */
  async #left(key: StreamKey, after: number, over: OverStream | undefined): Promise<Slice | undefined> {
    const read = this.#log.read(key, after, someEntries)
    if (over?.logged !== false) return read
    const slice = await read.catch(() => undefined)
    return slice?.ended ? slice : undefined
  }

  /** The session is over: its streams end. Resolves once nothing writes any more. */
  async close(live: Live): Promise<void> {
    for (const { live: of, follower } of this.#reading.values()) if (of === live) follower.stop()?.end()
    const running = [...this.#writing.values()].filter(({ live: of }) => of === live)
    await Promise.all(running.map(({ over }) => over))
  }

  /** The log is told nothing more. */
  stop(): void {
    this.#options.shared?.unended.close()
  }

  /** Whether a resume has something to say with this entry. */
  #isLeft({ label }: Entry): boolean {
    return label === undefined || this.#follow.skip?.(label) !== true
  }

  /** The response cannot be had any more: each request ends in one error, the last event of the stream. */
  #afterwards(live: Live, key: StreamKey, after: number, { ids, last }: Gone): (reader: Reader) => void {
    if (after > last) throw neverGiven()
    if (after === last) throw delivered()
    const error = new GatewayError('response_gone', 'the response was kept for a while and is gone')
    return reader => {
      this.#begin(key, after, reader, hasPriming(live.record.client.version))
      ids.forEach((id, i) => {
        const event = i === ids.length - 1 ? eventId(key.stream, last) : undefined
        void reader.push(event, line(errorMessage(error, id)))
      })
      reader.end()
    }
  }

  #begin(key: StreamKey, after: number, reader: Reader, primed: boolean): void {
    if (primed) reader.prime(eventId(key.stream, after), this.#options.retryMs)
    else reader.comment()
  }

  #read(live: Live, key: StreamKey, after: number, reader: Reader, primed: boolean, name: string): void {
    if (reader.gone) return
    this.#begin(key, after, reader, primed)
    const follower = new Follower(this.#log, key, after, reader, this.#follow, name)
    this.#reading.get(key.stream)?.follower.stop()?.end()
    this.#reading.set(key.stream, { live, follower, reader, primed })
    reader.onGone(() => {
      if (this.#reading.get(key.stream)?.reader === reader) this.#reading.delete(key.stream)
    })
    const writing = this.#writing.get(key.stream)
    writing?.pump.attach(follower)
    const { shared } = this.#options
    if (writing === undefined && shared !== undefined) reader.onGone(shared.orphans.watch(key))
    void follower.start()
  }

  #closeLater(stream: string, reader: Reader): void {
    const { closeAfterMs } = this.#options
    if (closeAfterMs === undefined || reader.gone) return
    const timer = setTimeout(() => this.#closeNow(stream), closeAfterMs)
    timer.unref()
    reader.onGone(() => clearTimeout(timer))
  }

  /** Ends the connection on purpose; the exchange goes on and the client, who holds an event id, comes back (R18). */
  #closeNow(stream: string): void {
    const reading = this.#reading.get(stream)
    if (reading === undefined || !reading.primed || this.#writing.get(stream)?.pump.logged !== true) return
    reading.follower.stop()
    reading.reader.retry(this.#options.retryMs)
    reading.reader.end()
  }
}

/** Entries looked at for whether a stream that is over has anything left. */
const someEntries = 64

const neverGiven = (): GatewayError => new GatewayError('cursor', 'no such event was given to this session')

const delivered = (): GatewayError =>
  new GatewayError('http_method', 'the stream is over and was delivered', { headers: { allow: 'POST' } })
