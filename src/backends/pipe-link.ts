/** A link on one pipe. It cannot move: another instance has neither the pipe nor its numbers. */
import { GatewayError } from '../errors.ts'
import { type Asking, completed } from '../protocol/envelope.ts'
import type { Message } from '../protocol/message.ts'
import type { Era } from '../protocol/version.ts'
import type { Exchange, Link, Server, Upstream } from './backend.ts'
import type { Correlator } from './correlate.ts'
import { failed } from './queue.ts'

export class PipeLink implements Link {
  readonly era: Era
  readonly state = undefined
  readonly server: Server
  readonly #backend: string
  readonly #pipe: Correlator
  readonly #leave: (link: PipeLink) => Promise<void>
  readonly #asking: Asking | undefined
  readonly upstream?: Upstream
  #closing: Promise<void> | undefined

  /** `leave` ends this link's exchanges and lets go of the pipe; never rejects. `asking`: who asks, of a modern upstream. */
  constructor(
    backend: string,
    server: Server,
    pipe: Correlator,
    leave: (link: PipeLink) => Promise<void>,
    asking?: Asking,
    upstream?: Upstream
  ) {
    if (upstream !== undefined) this.upstream = upstream
    this.era = asking === undefined ? 'legacy' : 'modern'
    this.#asking = asking
    this.#backend = backend
    this.server = server
    this.#pipe = pipe
    this.#leave = leave
  }

  exchange(request: Message): Exchange {
    if (this.#closing !== undefined) return failed(this.#closedError())
    const sent = this.#asking === undefined ? request : completed(request, this.server.version, this.#asking)
    return this.#pipe.exchange(sent, this)
  }

  resume(): Exchange {
    return failed(new GatewayError('internal', 'an exchange on one pipe cannot be resumed', { backend: this.#backend }))
  }

  send(message: Message): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(this.#closedError())
    return this.#asking === undefined ? this.#pipe.send(message) : Promise.resolve()
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
