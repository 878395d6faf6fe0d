/**
 * The stream by GET on which an upstream says what belongs to no request (basic/transports, "Listening for Messages from the
 * Server"): open while somebody listens, and never hammered (case NTF-01).
 */
import { GatewayError } from '../../errors.ts'
import { isBatch, type Message, read } from '../../protocol/message.ts'
import { facts } from '../../telemetry/events.ts'
import { backoff } from './backoff.ts'
import { codeOf } from './faults.ts'
import { type LegHeaders, resumeHeaders, usableId } from './headers.ts'
import { Leg } from './leg.ts'
import type { Fault, Reader } from './reader.ts'
import { isPassing, maxRetryMs } from './resumption.ts'
import type { Wire } from './wire.ts'

/** With jitter that is 7 attempts in the first minute and 2 in every later one. Milliseconds. */
const pauses = { first: 1_000, most: 60_000 }

/** Who waits for the stream to be open goes on after this time, milliseconds. */
const patienceMs = 1_000

/** A stream that lived so long (ms) was no failure. */
const healthyMs = 10_000

/** What a listener needs of its link. */
export interface Audience {
  readonly wire: Wire
  readonly headers: LegHeaders
  receive(message: Message): void
  /** The stream broke, and what was said until it was open again is lost. */
  missed(): void
  /** Whether what is said is heard, from now on. */
  heard(on: boolean): void
  /** The answer was 404 or 400: either the session is lost or there is no such stream. */
  notFound(): void
}

export class Listener implements Reader {
  readonly #audience: Audience
  #wanted = false
  /** Refused for good, or until other headers are configured. */
  #refused: 'never' | 'unauthorized' | undefined
  #leg: Leg | undefined
  #forget: (() => void) | undefined
  #lastEventId: string | undefined
  #failures = 0
  #retry = 0
  #openedAt: number | undefined
  /** It was open before, and the one that is opened does not go on where it ended. */
  #gap = false
  #heard = false
  /** Somebody waits for it to be open. */
  #opening: (PromiseWithResolvers<void> & { readonly stop: () => void }) | undefined

  constructor(audience: Audience) {
    this.#audience = audience
  }

  listen(on: boolean): void {
    if (on === this.#wanted) return
    this.#wanted = on
    if (on) this.#open()
    else this.#stop()
  }

  /** Resolves when it is open, cannot be opened, or takes too long. Undefined when that is so, or was the last time. */
  opening(): Promise<void> | undefined {
    const { gets, clock } = this.#audience.wire
    if (!this.#wanted || this.#refused !== undefined || this.#openedAt !== undefined || gets.areSlow) return undefined
    const late = (): void => {
      gets.late()
      this.#settle()
    }
    this.#opening ??= { ...Promise.withResolvers<void>(), stop: clock.after(patienceMs, late) }
    return this.#opening.promise
  }

  /** Other headers are configured: whoever was refused for want of credentials tries again. */
  tuned(): void {
    if (this.#refused !== 'unauthorized') return
    this.#refused = undefined
    if (this.#wanted) this.#open()
  }

  opened(): void {
    const { wire } = this.#audience
    wire.health.up()
    this.#openedAt = wire.clock.now()
    this.#settle()
    if (this.#gap) this.#audience.missed()
    this.#gap = false
    this.#hears(true)
  }

  text(text: Buffer): void {
    try {
      const got = read(text, this.#audience.wire.depth)
      if (!isBatch(got)) this.#message(got)
      else
        for (const one of got.elements) one instanceof GatewayError ? this.#drop('invalid_message') : this.#message(one)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#drop('invalid_message')
    }
  }

  id(id: string): void {
    this.#lastEventId = usableId(id)
  }

  retry(ms: number): void {
    this.#retry = Math.min(ms, maxRetryMs)
  }

  ended(): void {
    this.#again()
  }

  failed(fault: Fault): void {
    const { wire } = this.#audience
    if (fault.kind === 'unreached') wire.health.down(codeOf(fault.cause))
    if (fault.kind === 'too_large') {
      this.#drop('too_large')
      // To go on before it would bring it again.
      this.#lastEventId = undefined
    }
    if (fault.kind === 'invalid') this.#refuse('never', fault.text)
    else if (fault.kind !== 'status' || isPassing(fault)) this.#again()
    else if (fault.status === 401 || fault.status === 403) this.#refuse('unauthorized', `HTTP status ${fault.status}`)
    else {
      if (fault.status === 405) wire.gets.refused()
      this.#refuse('never', `HTTP status ${fault.status}`)
      if (fault.status === 404 || fault.status === 400) this.#audience.notFound()
    }
  }

  #message(message: Message): void {
    if (message.kind === 'response') this.#drop('unknown_id')
    else this.#audience.receive(message)
  }

  #open(): void {
    this.#forget = undefined
    if (this.#refused !== undefined) return
    const { wire, headers } = this.#audience
    const id = this.#lastEventId
    this.#openedAt = undefined
    this.#leg = new Leg(this, wire.limit, false)
    wire.stream(id === undefined ? headers.get : resumeHeaders(headers.get, id), this.#leg)
  }

  #again(): void {
    const { clock } = this.#audience.wire
    this.#settle()
    this.#leg = undefined
    this.#gap ||= this.#openedAt !== undefined && this.#lastEventId === undefined
    // What is resumed is heard, later.
    if (this.#lastEventId === undefined) this.#hears(false)
    const healthy = this.#openedAt !== undefined && clock.now() - this.#openedAt >= healthyMs
    this.#failures = healthy ? 1 : this.#failures + 1
    const pause = backoff(this.#failures, pauses, clock)
    this.#forget = clock.after(Math.max(this.#retry, pause), () => this.#open())
  }

  #refuse(how: 'never' | 'unauthorized', text: string): void {
    const { name } = this.#audience.wire
    this.#settle()
    this.#leg = undefined
    this.#hears(false)
    this.#refused = how
    facts.notice.publish({ level: 'debug', text: `no stream by GET: ${text}`, backend: name })
  }

  #settle(): void {
    this.#opening?.stop()
    this.#opening?.resolve()
    this.#opening = undefined
  }

  #stop(): void {
    this.#settle()
    this.#openedAt = undefined
    this.#forget?.()
    this.#forget = undefined
    this.#gap = false
    this.#leg?.drop()
    this.#leg = undefined
    this.#hears(false)
  }

  #hears(on: boolean): void {
    if (this.#heard === on) return
    this.#heard = on
    this.#audience.heard(on)
  }

  #drop(reason: string): void {
    facts.drop.publish({ reason, backend: this.#audience.wire.name })
  }
}
