/**
 * One call of a client on its way: the exchange with the upstream, seen as what the client is to get. It opens the link,
 * sends what was refused with a lost session once more, watches the deadlines, gives requests of the upstream ids of ours,
 * and ends with one response, one error, or, cancelled, with nothing (decisions: "How a call ends").
 */
import type { Principal } from '../auth/principal.ts'
import type { Backend, Call, Exchange, Link } from '../backends/backend.ts'
import { GatewayError, toGatewayError } from '../errors.ts'
import type { Links } from '../links/links.ts'
import { errorMessage, makeError, makeResult } from '../protocol/make.ts'
import { isError, type Message, stringParam } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Place } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import type { Asked, Asker } from './asked.ts'
import { Deadline } from './deadline.ts'
import type { InFlight } from './in-flight.ts'
import type { MessageSource } from './source.ts'

/** What running calls share. */
export interface RunningContext {
  readonly links: Links
  readonly asked: Asked
  readonly inFlight: InFlight
  /** Milliseconds of silence, and in all. */
  readonly limits: (backend: Backend, method: string) => { readonly timeout: number; readonly maxTime: number }
  /** What a message becomes for this client; undefined: it is not for this client. */
  readonly adapt: (message: Message, running: Running) => Message | undefined
  /** Why a request of the upstream may not be put to this client. */
  readonly refusal: (request: Message, running: Running) => { readonly code: number; readonly text: string } | undefined
}

export class Running implements Asker, Call, MessageSource {
  readonly live: Live
  readonly backend: Backend
  readonly request: Message
  readonly #context: RunningContext
  readonly #started = performance.now()
  #deadline: Deadline | undefined
  #exchange: Exchange | undefined
  #link: Link | undefined
  #upcoming: Promise<void> | undefined
  #arrived: IteratorResult<Message> | undefined
  #failed: unknown
  #injected: Message[] | undefined
  #waiting: PromiseWithResolvers<void> | undefined
  #failure: GatewayError | undefined
  #retried = false
  #asks = 0
  #onCloseStream: (() => void) | undefined
  #over = false
  #cancelled = false
  /** Whether requests of the upstream can reach the client on this call's own response. */
  streamable = true
  outcome: 'ok' | 'tool_error' | 'rpc_error' | 'cancelled' = 'ok'
  error: string | undefined

  constructor(live: Live, backend: Backend, request: Message, context: RunningContext) {
    this.live = live
    this.backend = backend
    this.request = request
    this.#context = context
    const { timeout, maxTime } = context.limits(backend, request.method!)
    this.#deadline = new Deadline(timeout, maxTime, what => this.#expired(what))
    context.inFlight.add(this)
  }

  get principal(): Principal {
    return { key: this.live.record.principal }
  }

  closeStream(): void {
    this.#onCloseStream?.()
  }

  onCloseStream(listener: () => void): void {
    this.#onCloseStream = listener
  }

  /** Where the upstream's own stream stands. */
  get place(): Place | undefined {
    return this.#exchange?.place
  }

  /** The next message for the client; undefined after the last. Never rejects. One reader. */
  async next(): Promise<Message | undefined> {
    for (;;) {
      const injected = this.#injected?.shift()
      if (injected !== undefined) return injected
      if (this.#over) return undefined
      if (this.#failure !== undefined) return this.#end(errorMessage(this.#failure, this.request.id))
      if (this.#cancelled) {
        this.#finish()
        continue
      }
      if (this.#arrived === undefined && this.#failed === undefined) {
        await this.#wait()
        continue
      }
      const message = this.#take()
      if (message !== undefined) return message
    }
  }

  /** The client does not want the answer any more (R102): the upstream is told, nothing but what was said before follows. */
  cancel(reason?: string): void {
    if (this.#over || this.#cancelled) return
    this.#cancelled = true
    this.outcome = 'cancelled'
    this.#context.asked.drop(this)
    this.#exchange?.cancel(reason)
    this.#waiting?.resolve()
  }

  /** The gateway gives the call up: the upstream is told, the client gets the error. */
  fail(error: GatewayError): void {
    if (this.#over || this.#cancelled || this.#failure !== undefined) return
    this.#failure = error
    this.#context.asked.drop(this)
    this.#exchange?.cancel(error.message)
    this.#waiting?.resolve()
  }

  inject(message: Message): void {
    if (this.#over) return
    this.#injected ??= []
    this.#injected.push(message)
    this.#waiting?.resolve()
  }

  asked(): void {
    this.#asks++
    this.#deadline?.stop()
  }

  answered(): void {
    if (--this.#asks === 0) this.#deadline?.start()
  }

  async #wait(): Promise<void> {
    this.#waiting = Promise.withResolvers()
    this.#upcoming ??= this.#step()
    await this.#waiting.promise
    this.#waiting = undefined
  }

  /** Gets one message of the upstream, or its failure, into place. */
  async #step(): Promise<void> {
    try {
      if (this.#exchange === undefined) {
        const link =
          this.#context.links.ready(this.live, this.backend) ?? (await this.#context.links.get(this.live, this.backend))
        if (this.#cancelled || this.#failure !== undefined) return
        this.#link = link
        this.#exchange = link.exchange(this.request, this)
      }
      this.#arrived = await this.#exchange.next()
    } catch (error) {
      this.#failed = error ?? new Error('unknown')
    } finally {
      this.#upcoming = undefined
      this.#waiting?.resolve()
    }
  }

  #take(): Message | undefined {
    const failed = this.#failed
    const arrived = this.#arrived
    this.#failed = undefined
    this.#arrived = undefined
    if (failed !== undefined) return this.#onFailure(toGatewayError(failed))
    if (arrived === undefined || arrived.done === true) {
      // Cancelled by somebody who closed the link: the session is over, or the gateway stops.
      this.cancel()
      return undefined
    }
    const message = arrived.value
    if (message.kind === 'response') return this.#end(this.#context.adapt(message, this) ?? message)
    this.#deadline?.touch()
    if (message.kind === 'request') return this.#ask(message)
    if (message.method === 'notifications/cancelled')
      return this.#context.asked.cancelledBy(this.#link!, message)?.message
    return this.#context.adapt(message, this)
  }

  #onFailure(error: GatewayError): Message | undefined {
    if (error.code === 'backend_session_lost' && !this.#retried) {
      this.#retried = true
      this.#exchange = undefined
      this.#link = undefined
      return undefined
    }
    return this.#end(errorMessage(error, this.request.id))
  }

  #ask(request: Message): Message | undefined {
    const link = this.#link!
    if (request.method === 'ping') {
      link.send(makeResult(request.id!, {})).catch(() => {})
      return undefined
    }
    const refusal = this.#context.refusal(request, this)
    if (refusal === undefined) {
      const adapted = this.#context.adapt(request, this)
      if (adapted !== undefined) return this.#context.asked.ask(adapted, this.live, link, this)
    }
    const { code, text } = refusal ?? { code: -32602, text: 'the client cannot take this request' }
    facts.drop.publish({ reason: 'refused_ask', backend: this.backend.name })
    link.send(makeError(request.id, code, text)).catch(() => {})
    return undefined
  }

  #expired(what: 'timeout' | 'maxTime'): void {
    const { timeout, maxTime } = this.#context.limits(this.backend, this.request.method!)
    const text =
      what === 'timeout' ? `the backend was silent for ${timeout} ms` : `the call took longer than ${maxTime} ms`
    this.fail(new GatewayError('timeout', text, { backend: this.backend.name, data: { limit: what } }))
  }

  /** The response, after which there is nothing. */
  #end(response: Message): Message {
    if (isError(response)) {
      this.outcome = 'rpc_error'
      this.error = this.#failure?.code ?? String(rpcCode(response))
    }
    this.#finish()
    return response
  }

  #finish(): void {
    if (this.#over) return
    this.#context.asked.drop(this)
    this.#over = true
    this.#deadline?.stop()
    this.#deadline = undefined
    this.#exchange = undefined
    this.#link = undefined
    this.#context.inFlight.delete(this)
    if (!facts.operation.wanted) return
    facts.operation.publish({
      backend: this.backend.name,
      method: this.request.method!,
      name: stringParam(this.request, 'name'),
      durationMs: performance.now() - this.#started,
      error: this.outcome === 'ok' ? undefined : (this.error ?? this.outcome)
    })
  }
}

/** `error.code` of a response that is an error. */
function rpcCode(response: Message): unknown {
  const { keys, spans } = response.scanned.top
  const i = keys.indexOf('error')
  const error = JSON.parse(response.source.toString('utf8', spans[2 * i], spans[2 * i + 1])) as {
    code?: unknown
  } | null
  return error?.code
}
