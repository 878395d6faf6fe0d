/** The calls that a thread of handlers has to answer. */
import type { GatewayError } from '../../errors.ts'
import { type Message, stringParam } from '../../protocol/message.ts'
import { bytes } from '../../protocol/write.ts'
import type { Call } from '../backend.ts'
import { Queue } from '../queue.ts'
import type { ToThread } from './worker-messages.ts'

interface Open {
  readonly link: number
  readonly queue: Queue
  readonly call: Call
  readonly request: Message
  paused: boolean
}

export class WorkerCalls {
  readonly #post: (message: ToThread) => void
  readonly #open = new Map<number, Open>()
  #numbers = 0

  constructor(post: (message: ToThread) => void) {
    this.#post = post
  }

  get size(): number {
    return this.#open.size
  }

  /** What they called, each once. */
  get names(): readonly string[] {
    return [...new Set([...this.#open.values()].map(({ request }) => stringParam(request, 'name') ?? request.method!))]
  }

  begin(link: number, request: Message, call: Call): Queue {
    const number = ++this.#numbers
    const queue = new Queue({
      cancel: reason => {
        this.#open.delete(number)
        this.#post({ kind: 'cancel', call: number, reason })
      },
      detach: () => this.#resume(number),
      resume: () => this.#resume(number)
    })
    this.#open.set(number, { link, queue, call, request, paused: false })
    const text = bytes(request).toString()
    this.#post({ kind: 'exchange', link, call: number, principal: call.principal, text })
    return queue
  }

  said(number: number, message: Message): void {
    const open = this.#open.get(number)
    if (open === undefined) return
    if (message.kind === 'response') {
      this.#open.delete(number)
      open.queue.finish(message)
    } else if (!open.queue.push(message) && !open.paused) {
      open.paused = true
      this.#post({ kind: 'pause', call: number })
    }
  }

  closeStream(number: number): void {
    this.#open.get(number)?.call.closeStream?.()
  }

  fail(number: number, error: GatewayError): void {
    const open = this.#open.get(number)
    this.#open.delete(number)
    open?.queue.fail(error.withId(open.request.id))
  }

  /** The link is closed: its calls end as cancelled. */
  leave(link: number): void {
    for (const open of [...this.#open.values()]) if (open.link === link) open.queue.cancel('The session is over.')
  }

  failAll(error: GatewayError): void {
    for (const number of [...this.#open.keys()]) this.fail(number, error)
  }

  #resume(number: number): void {
    const open = this.#open.get(number)
    if (open?.paused !== true) return
    open.paused = false
    this.#post({ kind: 'resume', call: number })
  }
}
