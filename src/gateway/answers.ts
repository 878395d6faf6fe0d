/**
 * Answers of clients that reach another instance than the one that asked. They go through the log, under the session: nothing
 * is lost when the one that asked does not look at this moment.
 */
import type { Asked } from '../exchanges/asked.ts'
import type { Message } from '../protocol/message.ts'
import { readMessage } from '../protocol/message.ts'
import { answer } from '../sessions/answer.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { Inbox } from '../streams/inbox.ts'
import type { StreamKey, StreamLog } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import { kept } from './outgoing.ts'

export interface AnswersOptions {
  readonly log: StreamLog
  readonly asked: Pick<Asked, 'answer'>
  /** What the ids of asks of this instance carry. */
  readonly instance: string
  /** Nesting of an answer at most. */
  readonly maxDepth: number
}

/** Entries read at a time. */
const chunk = 16

/** Requests of other instances that are over, remembered: of the oldest a replay has the request once more. */
const mostOver = 10_000

export class Answers {
  readonly #options: AnswersOptions
  /** Sessions that are asked something by this instance. */
  readonly #waiting = new Map<Live, Inbox>()
  readonly #over = new Set<string>()
  readonly #learned = new WeakMap<Live, number>()

  constructor(options: AnswersOptions) {
    this.#options = options
  }

  /** To the instance that asked. Rejects with GatewayError `store`. */
  async pass(response: Message, live: Live, to: string): Promise<void> {
    await answer(this.#options.log.post(inboxOf(live, to), kept(response)))
  }

  /** A request that this instance made is over. */
  over(live: Live, label: string): void {
    if (live.ephemeral) return
    const data = Buffer.allocUnsafeSlow(Buffer.byteLength(label))
    data.write(label)
    this.#options.log.post(overOf(live), data).catch(ignore)
  }

  isOver(label: string): boolean {
    return this.#over.has(label)
  }

  /** What others asked this session, and is over, is known from now on, for what it is given again. Never rejects. */
  async learn(live: Live): Promise<void> {
    try {
      for (let size = chunk; size === chunk; ) {
        const { entries } = await this.#options.log.read(overOf(live), this.#learned.get(live) ?? 0, chunk)
        for (const { number, data } of entries) {
          this.#learned.set(live, number)
          this.#over.add(Buffer.from(data).toString())
          if (this.#over.size > mostOver) this.#over.delete(this.#over.values().next().value!)
        }
        size = entries.length
      }
    } catch {}
  }

  /** Whether asks of this session are open here. */
  expect(live: Live, some: boolean): void {
    if (live.ephemeral) return
    this.#waiting.get(live)?.stop()
    this.#waiting.delete(live)
    if (!some) return
    // What was answered before is known for late, and does nothing.
    const inbox = new Inbox(this.#options.log, inboxOf(live, this.#options.instance), data => this.#hear(live, data))
    this.#waiting.set(live, inbox)
  }

  #hear(live: Live, data: Buffer): void {
    try {
      this.#options.asked.answer(readMessage(data, this.#options.maxDepth), live)
    } catch (error) {
      facts.notice.publish({ level: 'warn', text: 'an answer that another instance passed on cannot be read', error })
    }
  }

  close(): void {
    for (const inbox of this.#waiting.values()) inbox.stop()
    this.#waiting.clear()
  }
}

const overOf = (live: Live): StreamKey => ({ session: live.record.id, stream: '^over' })

const inboxOf = (live: Live, instance: string): StreamKey => ({ session: live.record.id, stream: `^${instance}` })

const ignore = (): void => {}
