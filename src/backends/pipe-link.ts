/** A link on one pipe. It cannot move: another instance has neither the pipe nor its numbers. */
import { GatewayError } from '../errors.ts'
import type { Message } from '../protocol/message.ts'
import type { Exchange, Link, Server } from './backend.ts'
import type { Correlator } from './correlate.ts'
import { Queue } from './queue.ts'

export class PipeLink implements Link {
  readonly era = 'legacy'
  readonly state = undefined
  readonly server: Server
  readonly #backend: string
  readonly #pipe: Correlator
  readonly #leave: (link: PipeLink) => Promise<void>
  #closing: Promise<void> | undefined

  /** `leave` ends this link's exchanges and lets go of the pipe; never rejects. */
  constructor(backend: string, server: Server, pipe: Correlator, leave: (link: PipeLink) => Promise<void>) {
    this.#backend = backend
    this.server = server
    this.#pipe = pipe
    this.#leave = leave
  }

  exchange(request: Message): Exchange {
    return this.#closing === undefined ? this.#pipe.exchange(request, this) : failed(this.#closedError())
  }

  resume(): Exchange {
    return failed(new GatewayError('internal', 'an exchange on one pipe cannot be resumed', { backend: this.#backend }))
  }

  send(message: Message): Promise<void> {
    return this.#closing === undefined ? this.#pipe.send(message) : Promise.reject(this.#closedError())
  }

  /** There is but one stream, and it is always read. */
  listen(): void {}

  close(): Promise<void> {
    this.#closing ??= this.#leave(this)
    return this.#closing
  }

  #closedError(): GatewayError {
    return new GatewayError('backend_unavailable', `backend "${this.#backend}": the link is closed`, {
      backend: this.#backend
    })
  }
}

function failed(error: GatewayError): Exchange {
  const queue = new Queue({ cancel() {}, detach() {} })
  queue.fail(error)
  return queue
}
