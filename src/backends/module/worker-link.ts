import { GatewayError } from '../../errors.ts'
import type { Message } from '../../protocol/message.ts'
import type { Call, Exchange, Link, OpenOptions, Server, Upstream } from '../backend.ts'
import { Queue } from '../queue.ts'
import { upstreamOf } from './upstream.ts'
import type { WorkerThread } from './worker-thread.ts'

/** A conversation with handlers in a thread of their own. */
export class WorkerLink implements Link {
  readonly era = 'legacy'
  readonly knowsModern = true
  readonly server: Server
  readonly state = undefined
  readonly upstream: Upstream
  readonly #thread: WorkerThread
  readonly #number: number
  readonly #backend: string
  #open = true

  constructor(
    thread: WorkerThread,
    number: number,
    server: Server,
    backend: string,
    options: Pick<OpenOptions, 'principal' | 'client'>
  ) {
    this.#thread = thread
    this.#number = number
    this.server = server
    this.#backend = backend
    this.upstream = upstreamOf(this, options.principal, options.client)
  }

  exchange(request: Message, call: Call): Exchange {
    if (this.#open) return this.#thread.exchange(this.#number, request, call)
    const queue = new Queue({ cancel() {}, detach() {} })
    queue.fail(this.#closed(request.id))
    return queue
  }

  resume(): Exchange {
    throw new TypeError('in-process links cannot be resumed')
  }

  async send(message: Message): Promise<void> {
    if (!this.#open) throw this.#closed()
    await this.#thread.send(this.#number, message)
  }

  listen(): void {}

  async close(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    this.#thread.close(this.#number)
  }

  #closed(id?: string): GatewayError {
    return new GatewayError('backend_unavailable', 'The conversation is over.', { id, backend: this.#backend })
  }
}
