import type { Message } from '../../protocol/message.ts'
import { facts } from '../../telemetry/events.ts'
import type { Queue } from '../queue.ts'

/** Messages that a call may have waiting for a slow reader; what it says beyond them is dropped. */
const maxWaiting = 1_000

/** What a call says on the way to its answer, and how far its reader is behind. */
export class Voice {
  readonly #queue: Queue
  readonly #backend: string
  /** While the reader is behind: resolves when it is not. */
  #room: PromiseWithResolvers<void> | undefined
  #waiting = 0

  constructor(queue: Queue, backend: string) {
    this.#queue = queue
    this.#backend = backend
  }

  /** Resolves once the reader keeps up; undefined while it does. */
  get behind(): Promise<void> | undefined {
    return this.#room?.promise
  }

  /** Resolves once the reader keeps up. */
  say(message: Message): Promise<void> {
    if (this.#queue.over) return settled
    if (this.#room !== undefined && this.#waiting >= maxWaiting) {
      facts.drop.publish({ reason: 'handler_flood', backend: this.#backend })
      return this.#room.promise
    }
    if (this.#queue.push(message)) return settled
    this.#waiting++
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  /** The reader keeps up again, or there is none any more. */
  resume(): void {
    this.#waiting = 0
    this.#room?.resolve()
    this.#room = undefined
  }
}

const settled = Promise.resolve()
