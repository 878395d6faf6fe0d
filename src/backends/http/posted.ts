/** One request that is posted, whatever the era: sent once, its messages told apart, paused while nobody reads them. */

import { GatewayError } from '../../errors.ts'
import { withId } from '../../protocol/edit.ts'
import { type Batch, isBatch, type Message, read } from '../../protocol/message.ts'
import { bytes } from '../../protocol/write.ts'
import { facts } from '../../telemetry/events.ts'
import { Queue, type Transport } from '../queue.ts'
import type { Placed } from '../under-way.ts'
import { broke, codeOf, invalid, overloaded } from './faults.ts'
import { Leg } from './leg.ts'
import { answers, isProgressOf, type Origin } from './origin.ts'
import type { Fault, Headers, Reader } from './reader.ts'
import type { Wire } from './wire.ts'

export abstract class Posted<Home extends { readonly wire: Wire }> implements Transport, Reader, Placed {
  readonly queue = new Queue(this)
  list: unknown
  before: Placed | undefined
  after: Placed | undefined
  /** The id that the response will carry. */
  protected readonly callerId: string
  protected readonly origin: Origin
  /** Undefined once it is over. */
  protected home: Home | undefined
  protected leg: Leg | undefined
  /** The response is an event stream. */
  protected stream = false
  /** Counted by the wire as in flight. */
  #counted = false
  #paused = false
  /** A text was skipped that may have been the response. */
  #skipped: GatewayError | undefined

  constructor(home: Home, callerId: string, origin: Origin) {
    this.home = home
    this.callerId = callerId
    this.origin = origin
  }

  abstract cancel(reason: string | undefined): void
  abstract id(id: string): void
  abstract retry(ms: number): void
  /** The response, with the status of HTTP. */
  protected abstract respond(response: Message, status: number): void
  /** Another message of this request, as the reader is to have it; undefined: it is dealt with. */
  protected abstract heard(message: Message): Message | undefined
  protected abstract batch(batch: Batch, leg: Leg): void
  /** The connection ended, or broke, before the response. */
  protected abstract cut(error: GatewayError): void
  /** It did not get as far as a stream. */
  protected abstract refused(fault: Fault, home: Home): void

  detach(): void {
    const { leg } = this
    this.end()
    leg?.drop()
  }

  resume(): void {
    this.#paused = false
    this.leg?.release()
  }

  opened(_leg: Leg, _headers: Headers, stream: boolean): void {
    this.stream = stream
    this.home?.wire.health.up()
    if (this.#paused) this.leg?.hold()
  }

  text(text: Buffer, leg: Leg): void {
    const { home } = this
    if (home === undefined) return
    try {
      const got = read(text, home.wire.depth)
      if (isBatch(got)) this.batch(got, leg)
      else this.message(got, leg)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.skip(error)
    }
  }

  ended(): void {
    if (this.home === undefined) return
    const { name } = this.home.wire
    if (this.#skipped !== undefined) this.fail(invalid(name, this.#skipped.message, { cause: this.#skipped }))
    else if (!this.stream) this.fail(invalid(name, 'it does not answer the request'))
    else this.cut(broke(name))
  }

  failed(fault: Fault): void {
    const { home } = this
    if (home === undefined) return
    if (fault.kind === 'unreached') home.wire.health.down(codeOf(fault.cause))
    // What takes connections and breaks them has not answered.
    else if (fault.kind !== 'broke') home.wire.health.up()
    this.refused(fault, home)
  }

  /** Whether the wire has room for it; else it has failed. */
  protected admitted(): boolean {
    const { wire } = this.home!
    this.#counted = wire.admit()
    if (!this.#counted) this.fail(overloaded(wire.name))
    return this.#counted
  }

  protected post(request: Message, headers: string[]): void {
    const { wire } = this.home!
    this.leg = new Leg(this, wire.limit, true)
    wire.call(headers, bytes(withId(request, this.origin.id)), this.leg)
  }

  protected message(message: Message, leg: Leg): void {
    const { home } = this
    if (home === undefined) return
    if (message.kind === 'response') {
      if (!answers(message, this.origin, !this.stream)) {
        this.drop('unknown_id')
        return
      }
      this.respond(message, 200)
      home.wire.finish(leg)
      return
    }
    if (message.method === 'notifications/progress' && !isProgressOf(message, this.origin)) {
      this.drop('unknown_token')
      return
    }
    const heard = this.heard(message)
    if (heard === undefined || this.queue.push(heard) || this.#paused) return
    this.#paused = true
    leg.hold()
  }

  protected skip(error: GatewayError): void {
    this.#skipped = error
    this.drop('invalid_message')
  }

  protected drop(reason: string): void {
    if (this.home !== undefined) facts.drop.publish({ reason, backend: this.home.wire.name })
  }

  protected finish(response: Message): void {
    const { queue } = this
    this.end()
    queue.finish(withId(response, this.callerId))
  }

  protected fail(error: GatewayError): void {
    const { queue } = this
    this.end()
    queue.fail(error)
  }

  /** A finished exchange holds nothing of the transport. */
  protected end(): void {
    if (this.#counted) this.home?.wire.dismiss()
    this.home = undefined
    this.leg = undefined
  }
}
