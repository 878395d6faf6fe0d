/** The event stream of one HTTP+SSE session, read: messages to the intake, a message that is too large skipped. */
import { SseParser } from '../../sse/parse.ts'
import { endless, type Intake } from '../intake.ts'

export interface IncomingEvents {
  /** Data of an `endpoint` event. */
  endpoint(data: Buffer): void
  /** A message larger than {@link endless} times the bound, and no end of it. */
  endless(): void
}

export class Incoming {
  readonly #intake: Intake
  readonly #limit: number
  readonly #events: IncomingEvents
  readonly #parser: SseParser
  /** While a message is skipped: how it begins, or nothing once its call has failed. */
  #large: Buffer | undefined
  #skippedBytes = 0
  #paused = false

  /** `limit`: bytes of one message. */
  constructor(intake: Intake, limit: number, events: IncomingEvents) {
    this.#intake = intake
    this.#limit = limit
    this.#events = events
    this.#parser = new SseParser(
      {
        event: (data, type) => this.#event(data, type),
        id: () => {},
        retry: () => {},
        tooLarge: head => this.#tooLarge(head),
        skipped: tail => this.#skipped(tail)
      },
      limit
    )
  }

  /** False: pause. */
  push(chunk: Buffer): boolean {
    this.#paused = false
    this.#parser.push(chunk)
    if (this.#large !== undefined) this.#skip(chunk.length)
    return !this.#paused
  }

  #event(data: Buffer, type: string): void {
    if (type === 'message') this.#paused = !this.#intake.text(own(data)) || this.#paused
    else if (type === 'endpoint') this.#events.endpoint(data)
  }

  /** The call fails as soon as it is known which one it is, maybe only at the end of the message. */
  #tooLarge(head: Buffer): void {
    this.#large = this.#intake.large(head) ? empty : head
    this.#skippedBytes = 0
  }

  #skipped(tail: Buffer): void {
    const head = this.#large
    this.#large = undefined
    if (head !== undefined && head.length > 0) this.#intake.largeOver(head, tail)
  }

  #skip(bytes: number): void {
    this.#skippedBytes += bytes
    if (this.#skippedBytes <= endless * this.#limit) return
    this.#skipped(empty)
    this.#events.endless()
  }
}

const empty = Buffer.alloc(0)

/** A message must not keep the chunk that it came in. */
const own = (data: Buffer): Buffer => (data.length * 2 < data.buffer.byteLength ? Buffer.from(data) : data)
