/** What a task asks of its client: it goes out with a `tasks/result`, for nobody reads the call that began the task. */
import { withId } from '../../protocol/edit.ts'
import { makeNotification } from '../../protocol/make.ts'
import type { Message } from '../../protocol/message.ts'
import type { Conversation } from './conversation.ts'
import { related, relatedMeta } from './related.ts'
import type { Running } from './running.ts'

/** A request of the handler, and how it went out: `id` is what the client knows it by on the stream of this reader. */
interface Ask {
  readonly request: Message
  sent: { readonly id: string; readonly reader: Running } | undefined
}

export class TaskAsks {
  readonly #conversation: Conversation
  readonly #running: Running
  readonly #taskId: string
  readonly #open = new Map<string, Ask>()
  /** Open `tasks/result` requests. */
  readonly #readers = new Set<Running>()

  constructor(conversation: Conversation, running: Running, taskId: string) {
    this.#conversation = conversation
    this.#running = running
    this.#taskId = taskId
  }

  /** How many wait for an answer. */
  get size(): number {
    return this.#open.size
  }

  add(request: Message): void {
    this.#open.set(request.id!, { request: related(request, this.#taskId), sent: undefined })
    this.#send()
  }

  /** A `tasks/result` came; it is gone when its client gives it up. */
  read(reader: Running): void {
    this.#readers.add(reader)
    reader.signal.addEventListener('abort', () => this.#leave(reader), { once: true })
    this.#send()
  }

  /** Whether it was still there. */
  finish(reader: Running): boolean {
    return this.#readers.delete(reader)
  }

  /** The client answered, or the handler waits no longer. Whether it had been asked here. */
  answered(id: string): boolean {
    const ask = this.#open.get(id)
    if (ask === undefined) return false
    this.#open.delete(id)
    if (ask.sent !== undefined) this.#conversation.asking.delete(ask.sent.id)
    return true
  }

  /** The handler takes it back. */
  withdraw(id: string): void {
    const sent = this.#open.get(id)?.sent
    if (sent === undefined) return
    const params = { requestId: JSON.parse(sent.id), reason: 'The call is over.', _meta: relatedMeta(this.#taskId) }
    sent.reader.queue.push(makeNotification('notifications/cancelled', params))
  }

  withdrawAll(): void {
    for (const id of [...this.#open.keys()]) {
      this.withdraw(id)
      this.answered(id)
    }
  }

  /** What the client was not asked yet goes out with the `tasks/result` that came last. */
  #send(): void {
    const reader = [...this.#readers].at(-1)
    if (reader === undefined) return
    for (const [id, ask] of this.#open) {
      if (ask.sent !== undefined) continue
      ask.sent = { id: this.#conversation.nextId(), reader }
      this.#conversation.asking.set(ask.sent.id, this.#running.asked.get(id)!)
      reader.queue.push(withId(ask.request, ask.sent.id))
    }
  }

  /** What went out there was not answered: it goes out again, under another id, for the answer to the first may still come. */
  #leave(reader: Running): void {
    if (!this.#readers.delete(reader)) return
    for (const ask of this.#open.values()) {
      if (ask.sent?.reader !== reader) continue
      this.#conversation.asking.delete(ask.sent.id)
      ask.sent = undefined
    }
    this.#send()
  }
}
