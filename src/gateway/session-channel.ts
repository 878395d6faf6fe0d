/** The channel of one session on this instance: what was given of it, and the connection that reads. */
import type { Asked } from '../exchanges/asked.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { channelStream } from '../streams/event-id.ts'
import type { Follower, FollowOptions } from '../streams/follow.ts'
import type { Reader } from '../streams/reader.ts'
import type { StreamKey, StreamLog } from '../streams/stream-log.ts'
import { Outbox } from './outbox.ts'

export interface SessionChannelOptions {
  readonly log: StreamLog
  readonly asked: Pick<Asked, 'pending'>
  /** The client reads on another instance now, in place of this connection, which is let go of. */
  readonly superseded: (channel: SessionChannel, reader: Reader) => void
}

export class SessionChannel implements FollowOptions {
  readonly live: Live
  readonly key: StreamKey
  readonly outbox: Outbox
  readonly #options: SessionChannelOptions
  /** What the open connection took the stream as; undefined when the log could not be told. */
  name: string | undefined
  follower: Follower | undefined
  reader: Reader | undefined
  /** The last entry that a connection was given. */
  last = 0
  /** As far as the log knows. */
  #noted = 0
  #noting = false
  takeOvers: number[] | undefined
  /** Connections that lost the channel and were left open. */
  silent: Set<Reader> | undefined

  constructor(live: Live, options: SessionChannelOptions) {
    this.live = live
    this.#options = options
    this.key = { session: live.record.id, stream: channelStream(live.record.id) }
    this.outbox = new Outbox(options.log, this.key, this)
  }

  skip(label: string): boolean {
    return !this.#options.asked.pending(label)
  }

  given(number: number): void {
    if (number <= this.last) return
    this.last = number
    if (!this.#noting) void this.#note()
  }

  superseded(follower: Follower, reader: Reader): void {
    if (this.follower === follower) this.#options.superseded(this, reader)
    else reader.end()
  }

  /** For the instance that the client comes to next. What is not noted it is given again. */
  async #note(): Promise<void> {
    this.#noting = true
    while (this.name !== undefined && this.#noted < this.last) {
      const { last } = this
      await this.#options.log.give(this.key, this.name, last).catch(() => {})
      this.#noted = last
    }
    this.#noting = false
  }
}
