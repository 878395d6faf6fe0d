/** One request towards the upstream: sent once, its messages told apart, its stream asked for again when it breaks. */
import { GatewayError } from '../../errors.ts'
import { sessionHeader } from '../../protocol/headers.ts'
import { type Batch, isBatch, isError, type Message, read } from '../../protocol/message.ts'
import { broke, errorOf, isModernRefusal, sessionLost } from './faults.ts'
import { isForgotten } from './forgotten.ts'
import { type LegHeaders, resumeHeaders, usableId } from './headers.ts'
import { Leg } from './leg.ts'
import { answers, placeOf } from './origin.ts'
import { Posted } from './posted.ts'
import type { Fault, Headers } from './reader.ts'
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

export class HttpExchange extends Posted<Home> {
  #lastEventId: string | undefined
  #resumption: Resumption | undefined
  /** Session id that came with the answer to `initialize`. */
  session: string | string[] | undefined

  /** Fails at once. */
  refuse(error: GatewayError): void {
    this.fail(error)
  }

  send(request: Message): void {
    if (this.admitted()) this.post(request, this.home!.headers.post)
  }

  /** Asks for the rest of a stream: what came after that event. */
  goOn(lastEventId: string): void {
    const { wire, headers } = this.home!
    this.#lastEventId = lastEventId
    this.#resumption ??= new Resumption(wire.clock)
    this.queue.stand(placeOf(this.origin, this.#lastEventId))
    this.leg = new Leg(this, wire.limit, false)
    wire.stream(resumeHeaders(headers.get, lastEventId), this.leg)
  }

  cancel(reason: string | undefined): void {
    const { home, leg } = this
    const sent = leg === undefined || leg.started || this.#resumption !== undefined
    this.detach()
    if (sent) home?.cancelled(this.origin.id, reason)
  }

  override opened(leg: Leg, headers: Headers, stream: boolean): void {
    this.session ??= headers[sessionHeader]
    super.opened(leg, headers, stream)
  }

  override text(text: Buffer, leg: Leg): void {
    this.#resumption?.message()
    super.text(text, leg)
  }

  id(id: string): void {
    if (this.home === undefined) return
    this.#lastEventId = usableId(id)
    this.#resumption?.event()
    this.queue.stand(placeOf(this.origin, this.#lastEventId))
  }

  retry(ms: number): void {
    if (this.home === undefined) return
    this.#resumption ??= new Resumption(this.home.wire.clock)
    this.#resumption.retry(ms)
  }

  protected refused(fault: Fault, home: Home): void {
    const { wire } = home
    const resumed = this.#resumption !== undefined && this.#lastEventId !== undefined
    if (fault.kind === 'status' && home.session !== undefined && isForgotten(fault.status, fault.body)) {
      // What ran already must not look as if it never had.
      this.fail(resumed ? broke(wire.name) : sessionLost(wire.name))
      home.lost()
    } else if (fault.kind === 'status' && fault.body !== undefined && this.#refusal(fault.body)) {
      // Was the response.
    } else {
      const error = errorOf(fault, wire.name)
      if (fault.kind === 'broke') this.cut(error)
      else if (!resumed || fault.kind === 'too_large') this.fail(error)
      else if (fault.kind === 'unreached' || isPassing(fault)) this.cut(broke(wire.name, error))
      else this.fail(broke(wire.name, error))
    }
  }

  protected respond(response: Message): void {
    this.finish(response)
  }

  protected heard(message: Message): Message | undefined {
    if (message.method !== 'ping' || message.kind !== 'request') return message
    this.home!.pong(message.id!)
    return undefined
  }

  protected batch({ elements }: Batch, leg: Leg): void {
    for (const one of elements) one instanceof GatewayError ? this.skip(one) : this.message(one, leg)
  }

  /** Resumes the stream when that can be done, else fails. Never sends the request again. */
  protected cut(error: GatewayError): void {
    const id = this.#lastEventId
    if (id === undefined) {
      this.fail(error)
      return
    }
    this.leg = undefined
    if (this.#resumption === undefined) {
      this.#resumption = new Resumption(this.home!.wire.clock)
      this.#resumption.event()
    }
    if (!this.#resumption.again(() => this.goOn(id))) this.fail(error)
  }

  protected override end(): void {
    const { home } = this
    super.end()
    home?.forget(this)
    this.#resumption?.stop()
    this.#resumption = undefined
  }

  /** Whether the body of a 4xx or 5xx is the JSON-RPC error that answers this request; then it is handed on. */
  #refusal(body: Buffer): boolean {
    try {
      const home = this.home!
      const got = read(body, home.wire.depth)
      if (isBatch(got) || !isError(got)) return false
      if (home.met && isModernRefusal(got)) {
        this.fail(sessionLost(home.wire.name))
        home.lost()
        return true
      }
      if (!answers(got, this.origin, false)) return false
      this.finish(got)
      return true
    } catch {
      return false
    }
  }
}
