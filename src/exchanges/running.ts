/**
 * One call of a client on its way: the exchange with the upstream, seen as what the client is to get. It opens the link,
 * sends what was refused with a lost session once more, watches the deadlines, gives requests of the upstream ids of ours,
 * and ends with one response, one error, or, cancelled, with nothing (decisions: "How a call ends").
 */

import type { Principal } from '../auth/principal.ts'
import type { Backend, Call, Exchange, Link, Origin } from '../backends/backend.ts'
import type { Admission, Ended, Gate } from '../backends/gate.ts'
import type { Gates } from '../backends/gates.ts'
import type { Placed } from '../backends/under-way.ts'
import { GatewayError, toGatewayError } from '../errors.ts'
import type { Links } from '../links/links.ts'
import { failureOf } from '../protocol/failure.ts'
import { errorMessage, makeError } from '../protocol/make.ts'
import { type Message, stringParam } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Place } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import type { Asked, Asker } from './asked.ts'
import type { Countdowns } from './countdown.ts'
import { Deadline } from './deadline.ts'
import type { InFlight } from './in-flight.ts'
import type { MessageSource } from './source.ts'

/** Why a request of an upstream is not put to the client. */
export interface Refusal {
  readonly code: number
  readonly text: string
}

export const isRefusal = (value: Message | Refusal): value is Refusal => 'code' in value

/** What running calls share. */
export interface RunningContext {
  readonly links: Pick<Links, 'ready' | 'get'>
  readonly asked: Asked
  readonly inFlight: InFlight
  readonly countdowns: Countdowns
  readonly gates: Pick<Gates, 'of'>
  /** Milliseconds of silence, and in all. */
  readonly limits: (backend: Backend, method: string) => { readonly timeout: number; readonly maxTime: number }
  /** How the exchange is begun, when it is not by sending the request. May throw a GatewayError. */
  readonly begin?: (link: Link, call: Running) => Exchange
  /** What a response or notification becomes for this client; undefined: it is not for this client. */
  readonly adapt: (message: Message, running: Running) => Message | undefined
  /** What a request of the upstream becomes for this client, or why it may not be put to it. */
  readonly admit: (request: Message, running: Running) => Message | Refusal
  /** Puts something on the session's channel. */
  readonly outside: (live: Live, message: Message) => void
}

export class Running implements Asker, Call, MessageSource, Placed {
  readonly live: Live
  readonly backend: Backend
  readonly request: Message
  /** Whether requests of the upstream can go out on this call's own response; else they go on the channel. */
  readonly streamable: boolean
  named?: string
  origin: Origin | undefined
  list: unknown
  before: Placed | undefined
  after: Placed | undefined
  readonly #context: RunningContext
  readonly #started = performance.now()
  readonly #gate: Gate
  #admission: Admission | undefined
  #deadline: Deadline | undefined
  #exchange: Exchange | undefined
  #link: Link | undefined
  /** Messages that came while nobody read. */
  #waiting: Message[] | undefined
  #reader: ((message: Message | undefined) => void) | undefined
  #pulling = false
  #retried = false
  #asks = 0
  /** Its place at the backend is free: it was sent, and stands still. */
  #aside = false
  #onCloseStream: (() => void) | undefined
  #over = false
  #error: string | undefined

  constructor(live: Live, backend: Backend, request: Message, streamable: boolean, context: RunningContext) {
    this.live = live
    this.backend = backend
    this.request = request
    this.streamable = streamable
    this.#context = context
    this.#gate = context.gates.of(backend, request.method)
    const { timeout, maxTime } = context.limits(backend, request.method!)
    this.#deadline = new Deadline(context.countdowns, timeout, maxTime, what => this.#expired(what))
    context.inFlight.add(this)
  }

  /** Nothing more comes of the upstream. */
  get over(): boolean {
    return this.#over
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

  /** Where the upstream's own stream stands, as long as nothing that came of it waits here. */
  get place(): Place | undefined {
    return this.#waiting === undefined || this.#waiting.length === 0 ? this.#exchange?.place : undefined
  }

  /** The next message for the client; undefined after the last. Never rejects. One reader. */
  next(): Promise<Message | undefined> {
    const message = this.#waiting?.shift()
    if (message !== undefined) return Promise.resolve(message)
    if (this.#over) {
      this.#context.inFlight.delete(this)
      return nothing
    }
    const { promise, resolve } = Promise.withResolvers<Message | undefined>()
    this.#reader = resolve
    if (!this.#pulling) void this.#pull()
    return promise
  }

  /** The client does not want the answer any more (R102): the upstream is told, nothing but what was said before follows. */
  cancel(reason?: string): void {
    if (this.#over) return
    this.#error = 'cancelled'
    this.#exchange?.cancel(reason)
    this.#finish(undefined, 'neutral')
  }

  /** The call is given up: the upstream is told, the client gets the error. */
  fail(error: GatewayError): void {
    if (this.#over) return
    this.#error = error.code
    this.#exchange?.cancel(error.message)
    this.#finish(errorMessage(error, this.request.id), error)
  }

  asked(): void {
    if (this.#asks++ === 0 && this.#exchange !== undefined) {
      this.#aside = true
      this.#gate.aside()
    }
    this.#deadline?.stop()
  }

  answered(): void {
    if (--this.#asks !== 0) return
    this.#back()
    this.#deadline?.start()
  }

  /** Something about an ask: on this call's stream as long as there is one. */
  tell(message: Message): void {
    if (this.streamable && !this.#over) this.#give(message)
    else this.#context.outside(this.live, message)
  }

  /** Asks the upstream for as long as somebody reads. */
  async #pull(): Promise<void> {
    this.#pulling = true
    while (this.#reader !== undefined) {
      try {
        const exchange = this.#exchange ?? this.#openNow() ?? (await this.#open())
        if (exchange === undefined) break
        const arrived = await exchange.next()
        if (this.#over) break
        // Done without a response: the link was closed, for the session is over or the gateway stops.
        if (arrived.done === true) this.cancel()
        else this.#take(arrived.value)
      } catch (error) {
        this.#failed(toGatewayError(error))
      }
    }
    this.#pulling = false
  }

  /** With a place at the backend, on a link that is open. */
  #openNow(): Exchange | undefined {
    this.#admission ??= this.#gate.enter()
    if (typeof this.#admission === 'object') return undefined
    const link = this.#context.links.ready(this.live, this.backend)
    return link === undefined ? undefined : this.#send(link)
  }

  /** Undefined when the call ended meanwhile. */
  async #open(): Promise<Exchange | undefined> {
    if (typeof this.#admission === 'object') await this.#admission.admitted
    if (this.#over) return undefined
    const { links } = this.#context
    const link = links.ready(this.live, this.backend) ?? (await links.get(this.live, this.backend))
    return this.#over ? undefined : this.#send(link)
  }

  #send(link: Link): Exchange {
    this.#link = link
    this.#exchange = this.#context.begin?.(link, this) ?? link.exchange(this.request, this)
    return this.#exchange
  }

  #take(message: Message): void {
    if (message.kind === 'response') {
      this.#respond(this.#context.adapt(message, this) ?? message)
      return
    }
    this.#deadline?.touch()
    if (message.kind === 'request') this.#ask(message)
    else if (message.method === 'notifications/cancelled') {
      this.#context.asked.cancelled(this.#context.adapt(message, this) ?? message, this.live, this.#link!)
    } else {
      const adapted = this.#context.adapt(message, this)
      if (adapted !== undefined) this.#give(adapted)
    }
  }

  #failed(error: GatewayError): void {
    if (error.code === 'backend_session_lost' && !this.#retried) {
      this.#retried = true
      this.#exchange = undefined
      this.#link = undefined
    } else {
      this.fail(error)
    }
  }

  #ask(request: Message): void {
    const link = this.#link!
    const { asked, admit } = this.#context
    const admitted = admit(request, this)
    const ask = isRefusal(admitted) ? admitted : (asked.ask(admitted, this.live, link, this) ?? tooMany)
    if (!isRefusal(ask)) {
      this.tell(ask)
      return
    }
    facts.drop.publish({ reason: 'refused_ask', backend: this.backend.name })
    link.send(makeError(request.id, ask.code, ask.text)).catch(() => {})
  }

  #expired(what: 'timeout' | 'maxTime'): void {
    // What the upstream said last still waits for the client: it was not silent.
    if (what === 'timeout' && this.#reader === undefined && this.#exchange !== undefined) {
      this.#deadline?.start()
      return
    }
    if (typeof this.#admission === 'object' && this.#admission.pass === undefined) {
      this.fail(this.#gate.late())
      return
    }
    const { timeout, maxTime } = this.#context.limits(this.backend, this.request.method!)
    const text =
      what === 'timeout' ? `the backend was silent for ${timeout} ms` : `the call took longer than ${maxTime} ms`
    this.fail(new GatewayError('timeout', text, { backend: this.backend.name, data: { limit: what } }))
  }

  /** What the upstream asked meanwhile stays open: on one pipe it may not have been for this call. */
  #respond(response: Message): void {
    if (facts.operation.wanted) this.#error = failureOf(response)?.code
    this.#asks = 0
    this.#finish(response, 'ok')
  }

  #back(): void {
    if (!this.#aside) return
    this.#aside = false
    this.#gate.back()
  }

  #give(message: Message): void {
    const reader = this.#reader
    this.#reader = undefined
    if (reader !== undefined) reader(message)
    else if (this.#waiting === undefined) this.#waiting = [message]
    else this.#waiting.push(message)
  }

  /** Nothing comes after `last`. */
  #finish(last: Message | undefined, how: Ended): void {
    this.#deadline?.stop()
    this.#deadline = undefined
    if (this.#asks > 0) this.#context.asked.drop(this, this.live)
    this.#back()
    if (this.#admission !== undefined) this.#gate.leave(this.#admission, how)
    if (last !== undefined) this.#give(last)
    this.#over = true
    this.#exchange = undefined
    this.#link = undefined
    if (this.#reader !== undefined) {
      this.#reader(undefined)
      this.#reader = undefined
      this.#context.inFlight.delete(this)
    }
    if (!facts.operation.wanted) return
    facts.operation.publish({
      backend: this.backend.name,
      method: this.request.method!,
      name: stringParam(this.request, 'name'),
      durationMs: performance.now() - this.#started,
      error: this.#error
    })
  }
}

const nothing = Promise.resolve(undefined)

export const tooMany: Refusal = { code: -32603, text: 'too many requests to this client are open' }
