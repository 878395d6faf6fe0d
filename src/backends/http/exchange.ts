/** One request towards the upstream: sent once, its messages told apart, its stream asked for again when it breaks. */
import { GatewayError } from '../../errors.ts'
import { withId } from '../../protocol/edit.ts'
import { sessionHeader } from '../../protocol/headers.ts'
import { isBatch, isError, type Message, read } from '../../protocol/message.ts'
import { bytes } from '../../protocol/write.ts'
import { facts } from '../../telemetry/events.ts'
import { Queue, type Transport } from '../queue.ts'
import { broke, codeOf, errorOf, invalid, isModernRefusal, overloaded, sessionLost } from './faults.ts'
import { isForgotten } from './forgotten.ts'
import { type LegHeaders, resumeHeaders, usableId } from './headers.ts'
import { Leg } from './leg.ts'
import { answers, isProgressOf, type Origin, placeOf } from './origin.ts'
import type { Fault, Headers, Reader } from './reader.ts'
import { isPassing, Resumption } from './resumption.ts'
import type { Wire } from './wire.ts'

/** What an exchange needs of its link. */
export interface Home {
  readonly wire: Wire
  readonly headers: LegHeaders
  /** `Mcp-Session-Id` in use: with it some refusals mean that the session is lost. */
  readonly session: string | undefined
  /** Hands were shaken: who refuses in terms of the modern era was replaced since. */
  readonly met: boolean
  lost(): void
  /** Tells the upstream that a request is not wanted any more. */
  cancelled(id: string, reason: string | undefined): void
  /** A ping of the upstream (basic/utilities/ping). */
  pong(id: string): void
  /** Whatever way it ended. */
  forget(exchange: HttpExchange): void
}

export class HttpExchange implements Transport, Reader {
  readonly queue = new Queue(this)
  readonly #callerId: string
  readonly #origin: Origin
  #home: Home | undefined
  #leg: Leg | undefined
  /** Counted by the wire as in flight. */
  #counted = false
  #stream = false
  #paused = false
  /** A text was skipped that may have been the response. */
  #skipped: GatewayError | undefined
  #lastEventId: string | undefined
  #resumption: Resumption | undefined
  /** Session id that came with the answer to `initialize`. */
  session: string | string[] | undefined

  /** `callerId` is the id that the response will carry. */
  constructor(home: Home, callerId: string, origin: Origin) {
    this.#home = home
    this.#callerId = callerId
    this.#origin = origin
  }

  /** Fails at once. */
  refuse(error: GatewayError): void {
    this.#fail(error)
  }

  send(request: Message): void {
    const { wire, headers } = this.#home!
    if (!wire.admit()) {
      this.#fail(overloaded(wire.name))
      return
    }
    this.#counted = true
    this.#leg = new Leg(this, wire.limit, true)
    wire.call(headers.post, bytes(withId(request, this.#origin.id)), this.#leg)
  }

  /** Asks for the rest of a stream: what came after that event. */
  goOn(lastEventId: string): void {
    const { wire, headers } = this.#home!
    this.#lastEventId = lastEventId
    this.#resumption ??= new Resumption(wire.clock)
    this.queue.stand(placeOf(this.#origin, this.#lastEventId))
    this.#leg = new Leg(this, wire.limit, false)
    wire.stream(resumeHeaders(headers.get, lastEventId), this.#leg)
  }

  cancel(reason: string | undefined): void {
    const home = this.#home
    const leg = this.#leg
    const sent = leg === undefined || leg.started || this.#resumption !== undefined
    this.#end()
    leg?.drop()
    if (sent) home?.cancelled(this.#origin.id, reason)
  }

  detach(): void {
    const leg = this.#leg
    this.#end()
    leg?.drop()
  }

  resume(): void {
    this.#paused = false
    this.#leg?.release()
  }

  opened(_leg: Leg, headers: Headers, stream: boolean): void {
    this.#stream = stream
    this.session ??= headers[sessionHeader]
    this.#home?.wire.health.up()
    if (this.#paused) this.#leg?.hold()
  }

  text(text: Buffer, leg: Leg): void {
    const home = this.#home
    if (home === undefined) return
    this.#resumption?.message()
    try {
      const got = read(text, home.wire.depth)
      if (!isBatch(got)) this.#message(got, leg)
      else for (const one of got.elements) one instanceof GatewayError ? this.#skip(one) : this.#message(one, leg)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#skip(error)
    }
  }

  id(id: string): void {
    if (this.#home === undefined) return
    this.#lastEventId = usableId(id)
    this.#resumption?.event()
    this.queue.stand(placeOf(this.#origin, this.#lastEventId))
  }

  retry(ms: number): void {
    if (this.#home === undefined) return
    this.#resumption ??= new Resumption(this.#home.wire.clock)
    this.#resumption.retry(ms)
  }

  ended(): void {
    if (this.#home === undefined) return
    const { name } = this.#home.wire
    if (this.#skipped !== undefined) this.#fail(invalid(name, this.#skipped.message, { cause: this.#skipped }))
    else if (!this.#stream) this.#fail(invalid(name, 'it does not answer the request'))
    else this.#again(broke(name))
  }

  failed(fault: Fault): void {
    const home = this.#home
    if (home === undefined) return
    const { wire } = home
    if (fault.kind === 'unreached') wire.health.down(codeOf(fault.cause))
    else wire.health.up()
    const resumed = this.#resumption !== undefined && this.#lastEventId !== undefined
    if (fault.kind === 'status' && home.session !== undefined && isForgotten(fault.status, fault.body)) {
      // What ran already must not look as if it never had.
      this.#fail(resumed ? broke(wire.name) : sessionLost(wire.name))
      home.lost()
    } else if (fault.kind === 'status' && fault.body !== undefined && this.#refusal(fault.body)) {
      // Was the response.
    } else {
      const error = errorOf(fault, wire.name)
      if (fault.kind === 'broke') this.#again(error)
      else if (!resumed || fault.kind === 'too_large') this.#fail(error)
      else if (fault.kind === 'unreached' || isPassing(fault)) this.#again(broke(wire.name, error))
      else this.#fail(broke(wire.name, error))
    }
  }

  #message(message: Message, leg: Leg): void {
    const home = this.#home
    if (home === undefined) return
    if (message.kind === 'response') {
      if (!answers(message, this.#origin, !this.#stream)) {
        this.#drop('unknown_id')
        return
      }
      this.#respond(message)
      home.wire.finish(leg)
      return
    }
    if (message.method === 'notifications/progress' && !isProgressOf(message, this.#origin)) {
      this.#drop('unknown_token')
      return
    }
    if (message.method === 'ping' && message.kind === 'request') {
      home.pong(message.id!)
      return
    }
    if (this.queue.push(message) || this.#paused) return
    this.#paused = true
    leg.hold()
  }

  #respond(response: Message): void {
    const { queue } = this
    this.#end()
    queue.finish(withId(response, this.#callerId))
  }

  /** Whether the body of a 4xx or 5xx is the JSON-RPC error that answers this request; then it is handed on. */
  #refusal(body: Buffer): boolean {
    try {
      const got = read(body, this.#home!.wire.depth)
      if (isBatch(got) || !isError(got)) return false
      const home = this.#home!
      if (home.met && isModernRefusal(got)) {
        this.#fail(sessionLost(home.wire.name))
        home.lost()
        return true
      }
      if (!answers(got, this.#origin, false)) return false
      this.#respond(got)
      return true
    } catch {
      return false
    }
  }

  #skip(error: GatewayError): void {
    this.#skipped = error
    this.#drop('invalid_message')
  }

  #drop(reason: string): void {
    if (this.#home !== undefined) facts.drop.publish({ reason, backend: this.#home.wire.name })
  }

  /** Resumes the stream when that can be done, else fails. Never sends the request again. */
  #again(error: GatewayError): void {
    const id = this.#lastEventId
    if (id === undefined) {
      this.#fail(error)
      return
    }
    this.#leg = undefined
    if (this.#resumption === undefined) {
      this.#resumption = new Resumption(this.#home!.wire.clock)
      this.#resumption.event()
    }
    if (!this.#resumption.again(() => this.goOn(id))) this.#fail(error)
  }

  #fail(error: GatewayError): void {
    const { queue } = this
    this.#end()
    queue.fail(error)
  }

  /** A finished exchange holds nothing of the transport. */
  #end(): void {
    if (this.#counted) this.#home?.wire.dismiss()
    this.#home?.forget(this)
    this.#home = undefined
    this.#leg = undefined
    this.#resumption?.stop()
    this.#resumption = undefined
  }
}
