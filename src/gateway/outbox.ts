/**
 * Write side of a session's channel: what the session is to get, whether or not a GET is open. Before
 * `notifications/initialized` only logs and pings go out (R6), and a `list_changed` that no connection was given yet is not
 * said twice (R36).
 */
import type { Message } from '../protocol/message.ts'
import type { Follower } from '../streams/follow.ts'
import type { AppendOptions, StreamKey, StreamLog } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import { isExpendable, isListChanged, labelOf } from './outgoing.ts'

/** The read side, as this one sees it. */
export interface Reading {
  /** The last entry that some connection was given. */
  readonly last: number
  /** Of the open connection. */
  readonly follower: Follower | undefined
}

/** Messages and bytes held for a client that has not said `notifications/initialized`; one message may be larger. */
const heldLimit = 100
const heldBytes = 1_048_576

interface Outgoing extends AppendOptions {
  readonly data: Uint8Array
}

interface Change {
  readonly data: Uint8Array
  /** Of its entry in the log; 0 while it is on its way. */
  number: number
}

/** Lists are made when there is something to put in: most sessions are idle. */
export class Outbox {
  readonly #log: StreamLog
  readonly #key: StreamKey
  readonly #reading: Reading
  #logged = 0
  #gap = -1
  #held: Outgoing[] | undefined
  /** The newest `list_changed` of each method. */
  #changes: Map<string, Change> | undefined

  constructor(log: StreamLog, key: StreamKey, reading: Reading) {
    this.#log = log
    this.#key = key
    this.#reading = reading
  }

  /** Whether something after this entry is not in the log. */
  lost(after: number): boolean {
    return after <= this.#gap
  }

  /** Resolves, once it is kept or on its way, to whether the session gets it. Never rejects. */
  post(message: Message, data: Uint8Array, operating: boolean): Promise<boolean> {
    if (operating) this.release()
    else if (!isEarly(message)) return Promise.resolve(this.#hold({ data, label: labelOf(message) }))
    if (isListChanged(message)) return this.#change(message.method!, data)
    return this.#append({ data, expendable: isExpendable(message), label: labelOf(message) })
  }

  /** The client is ready: what was held goes out. */
  release(): void {
    if (this.#held === undefined) return
    const held = this.#held
    this.#held = undefined
    for (const outgoing of held) void this.#append(outgoing)
  }

  async #append(outgoing: Outgoing): Promise<boolean> {
    return (await this.#number(outgoing)) !== undefined || this.#reading.follower !== undefined
  }

  /** The entry's number; undefined when it could not be logged, and went to the open connection alone. */
  async #number(outgoing: Outgoing): Promise<number | undefined> {
    try {
      const number = await this.#log.post(this.#key, outgoing.data, outgoing)
      if (number > this.#logged) this.#logged = number
      return number
    } catch (error) {
      this.#gap = Math.max(this.#logged, this.#reading.last)
      this.#reading.follower?.unlog()
      this.#reading.follower?.bypass(outgoing.data)
      facts.drop.publish({ reason: 'log_failed' })
      facts.notice.publish({ level: 'warn', text: 'a message for a session could not be logged', error })
      return undefined
    }
  }

  async #change(method: string, data: Uint8Array): Promise<boolean> {
    const before = this.#changes?.get(method)
    const waits = before !== undefined && (before.number === 0 || before.number > this.#reading.last)
    if (waits && Buffer.compare(before.data, data) === 0) return true
    const change = { data, number: 0 }
    this.#changes ??= new Map()
    this.#changes.set(method, change)
    const number = await this.#number({ data })
    // Not logged: the next one is not the same again.
    change.number = number ?? -1
    return number !== undefined || this.#reading.follower !== undefined
  }

  #hold(outgoing: Outgoing): boolean {
    this.#held ??= []
    const bytes = this.#held.reduce((sum, { data }) => sum + data.length, 0)
    if (this.#held.length >= heldLimit || bytes >= heldBytes) {
      facts.drop.publish({ reason: 'held_limit' })
      return false
    }
    this.#held.push(outgoing)
    return true
  }
}

/** What a server may say before the client is ready (basic/lifecycle, "Initialization"). */
const isEarly = ({ method }: Message): boolean => method === 'notifications/message' || method === 'ping'
