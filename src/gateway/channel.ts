/**
 * A session's channel: what belongs to no call, on the one GET stream of the session, kept while none is open
 * (basic/transports, "Listening for Messages from the Server"; decisions: "GET streams").
 */

import { GatewayError } from '../errors.ts'
import type { Asked } from '../exchanges/asked.ts'
import { line, type Message } from '../protocol/message.ts'
import { hasPriming } from '../protocol/version.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { channelStream, eventId } from '../streams/event-id.ts'
import { Follower } from '../streams/follow.ts'
import type { Reader } from '../streams/reader.ts'
import type { StreamKey, StreamLog } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import { isExpendable, labelOf } from './outgoing.ts'

export interface ChannelOptions {
  readonly log: StreamLog
  readonly asked: Asked
  readonly retryMs: number
  /** Somebody listens, or nobody does any more. */
  readonly listening: (live: Live, on: boolean) => void
  /** `list_changed` of what the server advertises: said when something was lost. */
  readonly changes: (live: Live) => readonly Message[]
}

/** Take-overs within this time, from this one on, leave the older connection open (two live GETs would evict each other for ever). */
const takeOverWindowMs = 10_000
const takeOverLimit = 5

/** Messages held for a client that has not said `notifications/initialized`. */
const heldLimit = 100

interface Channel {
  readonly key: StreamKey
  follower: Follower | undefined
  reader: Reader | undefined
  /** The last entry that some connection was given. */
  given: number
  takeOvers: number[]
  held: Uint8Array[]
}

export class Channels {
  readonly #options: ChannelOptions
  readonly #channels = new Map<Live, Channel>()
  #open = 0

  constructor(options: ChannelOptions) {
    this.#options = options
  }

  /** Sessions with an open GET stream. */
  get readers(): number {
    return this.#open
  }

  isOpen(live: Live): boolean {
    return this.#channels.get(live)?.reader?.gone === false
  }

  /** A message for the session. Before `notifications/initialized` only logs and pings pass (R6). */
  post(live: Live, message: Message): void {
    this.postLine(live, line(message), message)
  }

  /** As `post`, with the message's line, which many sessions may share. */
  postLine(live: Live, data: Uint8Array, message: Message): void {
    if (live.closed || live.ephemeral) return
    if (!live.record.operating && message.method !== 'notifications/message' && message.method !== 'ping') {
      const { held } = this.#of(live)
      if (held.length < heldLimit) held.push(data)
      else facts.drop.publish({ reason: 'held_limit' })
      return
    }
    const options = { expendable: isExpendable(message), label: labelOf(message) }
    this.#append(live, data, options)
  }

  /** The client is ready: what was held goes out. */
  operating(live: Live): void {
    const channel = this.#channels.get(live)
    if (channel === undefined) return
    for (const data of channel.held) this.#append(live, data, {})
    channel.held = []
  }

  /** A GET: the channel from the first message that no connection was given, or from a cursor of it. */
  async open(live: Live, cursor: number | undefined): Promise<(reader: Reader) => void> {
    const channel = this.#of(live)
    await this.#options.log.ensure(channel.key)
    if (cursor === undefined) return reader => this.#attach(live, channel, channel.given, reader, [])
    const slice = await this.#options.log.read(channel.key, cursor, 1)
    if (slice.state === 'unknown') throw new GatewayError('cursor', 'no such event was given to this session')
    const lost = slice.state === 'trimmed' ? this.#options.changes(live) : []
    return reader => this.#attach(live, channel, cursor, reader, lost)
  }

  /** The session is over. */
  close(live: Live): void {
    const channel = this.#channels.get(live)
    if (channel === undefined) return
    this.#channels.delete(live)
    channel.follower?.stop()
    channel.reader?.end()
  }

  /** Every open connection is told how long to stay away, and ended. */
  drain(retryMs: () => number): void {
    for (const [live, channel] of this.#channels) {
      channel.follower?.stop()
      this.#end(live, channel.reader, retryMs())
    }
  }

  #of(live: Live): Channel {
    let channel = this.#channels.get(live)
    if (channel === undefined) {
      const key = { session: live.record.id, stream: channelStream(live.record.id) }
      channel = { key, follower: undefined, reader: undefined, given: 0, takeOvers: [], held: [] }
      this.#channels.set(live, channel)
    }
    return channel
  }

  #append(live: Live, data: Uint8Array, options: { expendable?: boolean; label?: string | undefined }): void {
    const channel = this.#of(live)
    this.#options.log.post(channel.key, data, options).catch((error: unknown) => {
      facts.drop.publish({ reason: 'log_failed' })
      facts.notice.publish({ level: 'warn', text: 'a message for a session could not be logged', error })
      channel.follower?.unlog()
      channel.follower?.bypass(data)
    })
  }

  #attach(live: Live, channel: Channel, after: number, reader: Reader, lost: readonly Message[]): void {
    this.#takeOver(live, channel)
    const { log, asked, retryMs, listening } = this.#options
    if (hasPriming(live.record.client.version)) reader.prime(eventId(channel.key.stream, after), retryMs)
    else reader.comment()
    for (const message of lost) void reader.push(undefined, line(message))
    const follower = new Follower(log, channel.key, after, reader, {
      skip: label => !asked.pending(label),
      given: number => {
        if (number > channel.given) channel.given = number
      }
    })
    if (after > channel.given) channel.given = after
    channel.follower = follower
    channel.reader = reader
    this.#open++
    live.busy++
    reader.onGone(() => {
      this.#open--
      live.busy--
      if (channel.reader !== reader) return
      channel.reader = undefined
      channel.follower = undefined
      listening(live, false)
    })
    void follower.start()
    listening(live, true)
  }

  /** The older connection ends; at the fifth time in a row it stays open and silent. */
  #takeOver(live: Live, channel: Channel): void {
    const older = channel.follower?.stop()
    channel.follower = undefined
    if (older === undefined) return
    const now = performance.now()
    channel.takeOvers = [...channel.takeOvers.filter(at => now - at < takeOverWindowMs), now]
    channel.reader = undefined
    if (channel.takeOvers.length < takeOverLimit) this.#end(live, older, undefined)
  }

  #end(live: Live, reader: Reader | undefined, retryMs: number | undefined): void {
    if (reader === undefined) return
    const primed = hasPriming(live.record.client.version)
    if (retryMs !== undefined && primed) reader.retry(retryMs)
    reader.end(!primed)
  }
}
