/**
 * A session's channel: what belongs to no call, on the one GET stream of the session, kept while none is open
 * (basic/transports, "Listening for Messages from the Server"; decisions: "GET streams").
 */
import { randomUUID } from 'node:crypto'
import { GatewayError } from '../errors.ts'
import type { Asked } from '../exchanges/asked.ts'
import type { Message } from '../protocol/message.ts'
import { hasPriming } from '../protocol/version.ts'
import { line } from '../protocol/write.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { eventId } from '../streams/event-id.ts'
import { Follower } from '../streams/follow.ts'
import type { Reader } from '../streams/reader.ts'
import type { StreamLog } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import { kept } from './outgoing.ts'
import { SessionChannel, type SessionChannelOptions } from './session-channel.ts'

export interface ChannelOptions {
  readonly log: StreamLog
  readonly asked: Pick<Asked, 'pending'>
  readonly retryMs: number
  /** Somebody listens, or nobody does any more. */
  readonly listening: (live: Live, on: boolean) => void
  /** `list_changed` of what the server advertises: said when something was lost. */
  readonly changes: (live: Live) => readonly Message[]
}

/** Take-overs within this time, from this one on, leave the older connection open (two live GETs would evict each other for ever). */
const takeOverWindowMs = 10_000
const takeOverLimit = 5
/** That many stay open; then the one that was left first is ended after all. */
const silentLimit = 8

export class Channels {
  readonly #options: ChannelOptions
  /** Of each session, from its first message or GET on. */
  readonly #channels = new Map<Live, SessionChannel>()
  readonly #ofSession: SessionChannelOptions

  constructor(options: ChannelOptions) {
    this.#options = options
    const { log, asked } = options
    this.#ofSession = { log, asked, superseded: (channel, reader) => this.#superseded(channel, reader) }
  }

  isOpen(live: Live): boolean {
    return this.#channels.get(live)?.reader?.gone === false
  }

  /**
   * A message for the session. `data`: its line, which many sessions may share. Resolves, once it is kept or on its way, to
   * whether the session gets it. Never rejects.
   */
  post(live: Live, message: Message, data: Uint8Array = kept(message)): Promise<boolean> {
    if (live.closed || live.ephemeral) return Promise.resolve(false)
    return this.#of(live).outbox.post(message, data, live.record.operating)
  }

  /** The client is ready. */
  operating(live: Live): void {
    this.#channels.get(live)?.outbox.release()
  }

  /**
   * A GET: the channel from the first message that no connection was given, or from a cursor of it. Rejects with `cursor`
   * (400) for one that was never given, with `session` when the session ended meanwhile.
   */
  async open(live: Live, cursor: number | undefined): Promise<(reader: Reader) => void> {
    if (live.closed) throw new GatewayError('session', 'the session is over')
    const channel = this.#of(live)
    let lost = channel.outbox.lost(cursor ?? channel.last)
    try {
      await this.#options.log.ensure(channel.key)
      if (cursor === undefined) await this.#catchUp(channel)
      const { state } = await this.#options.log.read(channel.key, cursor ?? channel.last, 1)
      if (state === 'unknown') {
        if (cursor !== undefined) throw new GatewayError('cursor', 'no such event was given to this session')
        channel.last = 0
      }
      lost ||= state === 'unknown' || state === 'trimmed'
    } catch (error) {
      if (cursor !== undefined) throw error
      facts.notice.publish({ level: 'warn', text: 'a channel is opened although the log does not answer', error })
    }
    const changes = lost ? this.#options.changes(live) : none
    return reader => this.#attach(channel, cursor ?? channel.last, reader, changes)
  }

  /** What other instances gave of it counts as given. */
  async #catchUp(channel: SessionChannel): Promise<void> {
    const { taken } = await this.#options.log.read(channel.key, 0, 0)
    if (taken !== undefined && taken.given > channel.last) channel.last = taken.given
  }

  /** The session is over. */
  close(live: Live): void {
    const channel = this.#channels.get(live)
    if (channel === undefined) return
    this.#channels.delete(live)
    channel.follower?.stop()?.end()
    for (const reader of channel.silent ?? none) reader.end()
  }

  /** Every open connection gets what is there, is told how long to stay away, and ends (R35). */
  drain(retryMs: () => number): void {
    for (const [live, channel] of this.#channels) {
      channel.follower?.finish(reader => end(live, reader, retryMs()))
      for (const reader of channel.silent ?? none) end(live, reader, retryMs())
    }
  }

  #of(live: Live): SessionChannel {
    let channel = this.#channels.get(live)
    if (channel === undefined) {
      channel = new SessionChannel(live, this.#ofSession)
      this.#channels.set(live, channel)
    }
    return channel
  }

  #attach(channel: SessionChannel, after: number, reader: Reader, changes: readonly Message[]): void {
    const { live } = channel
    if (reader.gone) return
    if (live.closed) {
      reader.end()
      return
    }
    const { log, retryMs, listening } = this.#options
    this.#takeOver(channel, channel.follower?.stop())
    channel.name = randomUUID()
    if (hasPriming(live.record.client.version)) reader.prime(eventId(channel.key.stream, after), retryMs)
    else reader.comment()
    for (const message of changes) void reader.push(undefined, line(message))
    channel.given(after)
    channel.follower = new Follower(log, channel.key, after, reader, channel, channel.name)
    channel.reader = reader
    live.busy++
    reader.onGone(() => this.#left(channel, reader))
    void channel.follower.start()
    listening(live, true)
  }

  #left(channel: SessionChannel, reader: Reader): void {
    channel.live.busy--
    channel.silent?.delete(reader)
    if (channel.reader !== reader) return
    channel.reader = undefined
    channel.follower = undefined
    this.#options.listening(channel.live, false)
  }

  #superseded(channel: SessionChannel, older: Reader): void {
    this.#takeOver(channel, older)
    this.#options.listening(channel.live, false)
  }

  /** The older connection ends; at the fifth time in a row it stays open and silent. */
  #takeOver(channel: SessionChannel, older: Reader | undefined): void {
    const { live } = channel
    channel.follower = undefined
    channel.reader = undefined
    if (older === undefined) return
    const now = performance.now()
    channel.takeOvers = (channel.takeOvers ?? []).filter(at => now - at < takeOverWindowMs)
    channel.takeOvers.push(now)
    if (channel.takeOvers.length < takeOverLimit) {
      end(live, older, undefined)
      return
    }
    channel.silent ??= new Set()
    channel.silent.add(older)
    const [oldest] = channel.silent
    if (channel.silent.size > silentLimit) end(live, oldest!, undefined)
  }
}

const none: readonly never[] = []

/** Old clients never return after a clean end. */
function end(live: Live, reader: Reader, retryMs: number | undefined): void {
  const primed = hasPriming(live.record.client.version)
  if (retryMs !== undefined && primed) reader.retry(retryMs)
  reader.end(!primed)
}
