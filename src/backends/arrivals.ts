/**
 * Messages of the upstream that belong to no exchange. Before the opener has its link it could not answer them: until then
 * they are kept.
 */
import type { Message } from '../protocol/message.ts'
import { facts } from '../telemetry/events.ts'

const maxKept = 256

export class Arrivals {
  readonly #backend: string
  readonly #deliver: (message: Message) => void
  #kept: Message[] | undefined = []

  constructor(backend: string, deliver: (message: Message) => void) {
    this.#backend = backend
    this.#deliver = deliver
  }

  take(message: Message): void {
    if (this.#kept === undefined) this.#deliver(message)
    else if (this.#kept.length < maxKept) this.#kept.push(message)
    else facts.drop.publish({ reason: 'too_early', backend: this.#backend })
  }

  /** The link is handed out: what was kept comes once the opener has had its turn. */
  release(): void {
    if (this.#kept === undefined) return
    setImmediate(() => {
      const kept = this.#kept ?? []
      this.#kept = undefined
      for (const message of kept) this.#deliver(message)
    })
  }
}
