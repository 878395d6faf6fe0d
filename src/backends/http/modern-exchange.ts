/**
 * One modern request: one POST, whose response is its own stream; closing that is the cancel (2026-07-28
 * basic/transports/streamable-http). What breaks is lost: nothing is resumed, and nothing that ran is sent again.
 */
import { GatewayError } from '../../errors.ts'
import { withId } from '../../protocol/edit.ts'
import { withSubscription } from '../../protocol/envelope.ts'
import { isBatch, isError, type Message, read, stringParam, textMeta, textParam } from '../../protocol/message.ts'
import type { ParamHeader } from '../../protocol/param-headers.ts'
import { bytes } from '../../protocol/write.ts'
import { facts } from '../../telemetry/events.ts'
import { Queue, type Transport } from '../queue.ts'
import { broke, codeOf, errorOf, invalid, overloaded, rpcCodeOf, sessionLost } from './faults.ts'
import { Leg } from './leg.ts'
import { mirrored } from './mirrored.ts'
import { answers, isProgressOf, type Origin } from './origin.ts'
import type { Fault, Headers, Reader } from './reader.ts'
import type { ToolHeaders } from './tool-headers.ts'
import type { Wire } from './wire.ts'

/** What an exchange needs of its upstream. */
export interface ModernHome {
  readonly wire: Wire
  /** Of every POST. */
  readonly post: readonly string[]
  readonly tools: ToolHeaders
  /** Resolves once the list of tools was read, or could not be. Never rejects. */
  readTools(): Promise<void>
  /** Whether it still is a modern upstream, as far as can be told. Never rejects. Undefined: that is settled. */
  readonly recheck: (() => Promise<boolean>) | undefined
}

export interface ModernRequest {
  readonly request: Message
  /** What the response will carry. */
  readonly callerId: string
  /** A number of the upstream's own. */
  readonly id: string
  /** How it is refused is the answer. */
  readonly probe?: boolean
  /** Whatever way it ended. */
  readonly done?: (exchange: ModernExchange) => void
}

const headerMismatch = -32020
const unsupportedVersion = -32022

export class ModernExchange implements Transport, Reader {
  readonly queue = new Queue(this)
  readonly #callerId: string
  readonly #origin: Origin
  readonly #probe: boolean
  #done: ((exchange: ModernExchange) => void) | undefined
  #request: Message | undefined
  #home: ModernHome | undefined
  #leg: Leg | undefined
  /** Counted by the wire as in flight. */
  #counted = false
  #stream = false
  #paused = false
  #retried = false
  /** A text was skipped that may have been the response. */
  #skipped: GatewayError | undefined

  /** The request is settled and completed. */
  constructor(home: ModernHome, { request, callerId, id, probe, done }: ModernRequest) {
    this.#home = home
    this.#request = request
    this.#callerId = callerId
    this.#origin = { id, token: textMeta(request, 'progressToken') }
    this.#probe = probe ?? false
    this.#done = done
  }

  start(): void {
    const home = this.#home!
    if (!home.wire.admit()) {
      this.#fail(overloaded(home.wire.name))
      return
    }
    this.#counted = true
    const params = this.#params()
    if (params !== undefined) this.#send(params)
    else void home.readTools().then(() => this.#send(this.#params() ?? none))
  }

  cancel(): void {
    const leg = this.#leg
    this.#end()
    leg?.drop()
  }

  detach(): void {
    this.cancel()
  }

  resume(): void {
    this.#paused = false
    this.#leg?.release()
  }

  opened(_leg: Leg, _headers: Headers, stream: boolean): void {
    this.#stream = stream
    this.#home?.wire.health.up()
    if (this.#paused) this.#leg?.hold()
  }

  text(text: Buffer, leg: Leg): void {
    const home = this.#home
    if (home === undefined) return
    try {
      const got = read(text, home.wire.depth)
      if (isBatch(got)) this.#skip(new GatewayError('invalid', 'it is a batch'))
      else this.#message(got, leg)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#skip(error)
    }
  }

  id(): void {}

  retry(): void {}

  ended(): void {
    if (this.#home === undefined) return
    const { name } = this.#home.wire
    if (this.#skipped !== undefined) this.#fail(invalid(name, this.#skipped.message, { cause: this.#skipped }))
    else if (!this.#stream) this.#fail(invalid(name, 'it does not answer the request'))
    else this.#fail(broke(name))
  }

  failed(fault: Fault): void {
    const home = this.#home
    if (home === undefined) return
    const { wire } = home
    if (fault.kind === 'unreached') wire.health.down(codeOf(fault.cause))
    else wire.health.up()
    if (fault.kind === 'status') {
      // A server that is in trouble says nothing of what it is.
      const silent = fault.body === undefined || (this.#probe && fault.status >= 500)
      const answer = silent ? undefined : this.#answerIn(fault.body)
      if (answer !== undefined) {
        this.#respond(answer, fault.status)
        return
      }
      if (isForeign(fault.status) && this.#doubt(() => this.#fail(errorOf(fault, wire.name)))) return
    }
    this.#fail(errorOf(fault, wire.name))
  }

  /** Undefined: the list has to be read first. */
  #params(): readonly ParamHeader[] | undefined {
    const request = this.#request!
    if (request.method !== 'tools/call') return none
    const name = stringParam(request, 'name')
    return name === undefined ? none : this.#home?.tools.of(name)
  }

  #send(params: readonly ParamHeader[]): void {
    const home = this.#home
    // Cancelled meanwhile.
    if (home === undefined) return
    const request = this.#request!
    const { wire, post } = home
    this.#leg = new Leg(this, wire.limit, true)
    wire.call([...post, ...mirrored(request, params)], bytes(withId(request, this.#origin.id)), this.#leg)
  }

  #message(message: Message, leg: Leg): void {
    const home = this.#home
    if (home === undefined) return
    if (message.kind === 'response') {
      if (!answers(message, this.#origin, !this.#stream)) {
        this.#drop('unknown_id')
        return
      }
      this.#respond(message, 200)
      home.wire.finish(leg)
      return
    }
    if (message.kind === 'request') {
      this.#drop('unasked_request')
      return
    }
    if (message.method === 'notifications/progress' && !isProgressOf(message, this.#origin)) {
      this.#drop('unknown_token')
      return
    }
    if (this.queue.push(withSubscription(message, this.#callerId)) || this.#paused) return
    this.#paused = true
    leg.hold()
  }

  #respond(response: Message, status: number): void {
    const code = isError(response) ? rpcCodeOf(response) : undefined
    if (code !== undefined && !this.#probe) {
      if (code === headerMismatch) {
        this.#mismatch()
        return
      }
      if (code === unsupportedVersion) {
        const { name } = this.#home!.wire
        const refuse = (): void => this.#fail(invalid(name, 'it does not speak the version that it was asked in'))
        if (!this.#doubt(refuse)) refuse()
        return
      }
      if (status >= 400 && isLegacyCode(code) && this.#doubt(() => this.#deliver(response))) return
    }
    this.#deliver(response)
  }

  #deliver(response: Message): void {
    const { queue } = this
    const shown = this.#shown(response)
    if (this.#isWholeList(response)) this.#home!.tools.seenAll()
    this.#end()
    queue.finish(withId(shown, this.#callerId))
  }

  #shown(response: Message): Message {
    const method = this.#request?.method
    if (method === 'tools/list') return this.#home!.tools.learn(response)
    return method === 'subscriptions/listen' ? withSubscription(response, this.#callerId) : response
  }

  #isWholeList(response: Message): boolean {
    if (this.#request?.method !== 'tools/list' || isError(response)) return false
    return textParam(this.#request, 'cursor') === undefined && !response.source.includes('"nextCursor"')
  }

  /** The gateway's own fault (decisions: "Errors to a modern client"): what is known of the tools is read again, once. */
  #mismatch(): void {
    const home = this.#home!
    if (this.#retried || this.#request?.method !== 'tools/call') {
      this.#fail(invalid(home.wire.name, 'it does not accept the headers that mirror the request'))
      return
    }
    this.#retried = true
    this.#leg = undefined
    this.#stream = false
    home.tools.forget()
    void home.readTools().then(() => this.#send(this.#params() ?? none))
  }

  /** The JSON-RPC error in the body of a 4xx or 5xx that answers this request. */
  #answerIn(body: Buffer): Message | undefined {
    try {
      const got = read(body, this.#home!.wire.depth)
      if (isBatch(got) || got.kind !== 'response' || !isError(got)) return undefined
      return answers(got, this.#origin, isModernCode(rpcCodeOf(got))) ? got : undefined
    } catch {
      return undefined
    }
  }

  /** Refused as no modern server would. If it is none any more, the request did not run, and whoever called opens anew. */
  #doubt(still: () => void): boolean {
    const home = this.#home!
    if (this.#probe || home.recheck === undefined) return false
    this.#leg = undefined
    void home.recheck().then(isModern => {
      // Cancelled meanwhile.
      if (this.#home === undefined) return
      if (isModern) still()
      else this.#fail(sessionLost(home.wire.name))
    })
    return true
  }

  #skip(error: GatewayError): void {
    this.#skipped = error
    this.#drop('invalid_message')
  }

  #drop(reason: string): void {
    if (this.#home !== undefined) facts.drop.publish({ reason, backend: this.#home.wire.name })
  }

  #fail(error: GatewayError): void {
    const { queue } = this
    this.#end()
    queue.fail(error)
  }

  /** A finished exchange holds nothing of the transport. */
  #end(): void {
    if (this.#counted) this.#home?.wire.dismiss()
    this.#counted = false
    this.#home = undefined
    this.#leg = undefined
    this.#request = undefined
    this.#done?.(this)
    this.#done = undefined
  }
}

const none: readonly ParamHeader[] = []

/** Statuses of servers to which a modern request means nothing; who is not let in, or is too many, says nothing of eras. */
const isForeign = (status: number): boolean =>
  status >= 400 && status < 500 && ![401, 403, 407, 408, 413, 429].includes(status)

/** Codes that modern servers do not use for what is sent here: of old implementations, and of requests that are none. */
const isLegacyCode = (code: number): boolean => code === -32600 || (code <= -32000 && code >= -32019 && code !== -32002)

/** Codes with which a modern server refuses what it could not read the id of. */
const isModernCode = (code: number): boolean => code <= -32020 && code >= -32099
