/** One `subscriptions/listen` of a client: acknowledged first, then what changes, until one of both ends it. */
import { type Message, stringParam } from '../protocol/message.ts'
import { acknowledgement, completion, tagged } from '../protocol/subscription.ts'
import { line } from '../protocol/write.ts'
import type { Reader } from '../streams/reader.ts'
import { type Filter, isEmpty, told, wants } from './listen-filter.ts'

/** Changes that wait for a reader who is behind; the same one is kept once. With more the subscription is ended. */
const maxWaiting = 1_000

export class Subscription {
  readonly #id: string
  #filter: Filter
  /** JSON text of who answers. */
  #server = '{}'
  #reader: Reader | undefined
  readonly #waiting = new Map<string, Message>()
  #writing = false
  #ending = false
  #over = false

  /** `id`: of the request, JSON text. */
  constructor(id: string, filter: Filter) {
    this.#id = id
    this.#filter = filter
  }

  /** What was asked for; once it is acknowledged, what is honoured. */
  get filter(): Filter {
    return this.#filter
  }

  /** Something happened. Whether it is told. */
  tell(message: Message): boolean {
    if (this.#over || this.#ending || !wants(this.#filter, message)) return false
    this.#waiting.set(`${message.method} ${stringParam(message, 'uri') ?? stringParam(message, 'taskId')}`, message)
    if (this.#waiting.size > maxWaiting) this.end()
    else void this.#write()
    return true
  }

  /** The stream is open: the acknowledgement, and what happened meanwhile. With nothing to honour that is all. */
  begin(reader: Reader, honoured: Filter, server: string): void {
    this.#filter = honoured
    this.#server = server
    void reader.push(undefined, line(acknowledgement(this.#id, told(honoured))))
    for (const [key, message] of this.#waiting) if (!wants(honoured, message)) this.#waiting.delete(key)
    this.#reader = reader
    if (this.#ending || isEmpty(honoured)) this.#finish(reader)
    else void this.#write()
  }

  /** The gateway ends it. */
  end(): void {
    this.#ending = true
    if (this.#reader !== undefined) this.#finish(this.#reader)
  }

  async #write(): Promise<void> {
    const reader = this.#reader
    if (reader === undefined || this.#writing) return
    this.#writing = true
    for (const [key, message] of this.#waiting) {
      this.#waiting.delete(key)
      const room = reader.push(undefined, line(tagged(message, this.#id)))
      if (room !== undefined) await room
      if (this.#over) return
    }
    this.#writing = false
  }

  #finish(reader: Reader): void {
    if (this.#over) return
    this.#over = true
    for (const message of this.#waiting.values()) void reader.push(undefined, line(tagged(message, this.#id)))
    this.#waiting.clear()
    void reader.push(undefined, line(completion(this.#id, this.#server)))
    reader.end()
  }
}
