/**
 * One modern request: one POST, whose response is its own stream; closing that is the cancel (2026-07-28
 * basic/transports/streamable-http). What breaks is lost: nothing is resumed, and nothing that ran is sent again.
 */
import { GatewayError } from '../../errors.ts'
import { withSubscription } from '../../protocol/envelope.ts'
import { isBatch, isError, type Message, read, stringParam, textMeta, textParam } from '../../protocol/message.ts'
import type { ParamHeader } from '../../protocol/param-headers.ts'
import { errorOf, invalid, rpcCodeOf, sessionLost } from './faults.ts'
import { mirrored } from './mirrored.ts'
import { answers } from './origin.ts'
import { Posted } from './posted.ts'
import type { Fault } from './reader.ts'
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
  /** Its `Mcp-Name`, where that is not known from the method. */
  readonly named?: string | undefined
  /** How it is refused is the answer. */
  readonly probe?: boolean
  /** Whatever way it ended. */
  readonly done?: (exchange: ModernExchange) => void
}

const headerMismatch = -32020
const unsupportedVersion = -32022

export class ModernExchange extends Posted<ModernHome> {
  readonly #probe: boolean
  readonly #named: string | undefined
  #done: ((exchange: ModernExchange) => void) | undefined
  #request: Message | undefined
  #retried = false

  /** The request is settled and completed. */
  constructor(home: ModernHome, { request, callerId, id, named, probe, done }: ModernRequest) {
    super(home, callerId, { id, token: textMeta(request, 'progressToken') })
    this.#request = request
    this.#probe = probe ?? false
    this.#named = named
    this.#done = done
  }

  start(): void {
    if (this.admitted()) this.#send()
  }

  cancel(): void {
    this.detach()
  }

  id(): void {}

  retry(): void {}

  protected refused(fault: Fault, { wire }: ModernHome): void {
    if (fault.kind === 'status') {
      // A server that is in trouble says nothing of what it is.
      const silent = fault.body === undefined || (this.#probe && fault.status >= 500)
      const answer = silent ? undefined : this.#answerIn(fault.body)
      if (answer !== undefined) {
        this.respond(answer, fault.status)
        return
      }
      if (isForeign(fault.status) && this.#doubt(() => this.fail(errorOf(fault, wire.name)))) return
    }
    this.fail(errorOf(fault, wire.name))
  }

  protected respond(response: Message, status: number): void {
    const code = isError(response) ? rpcCodeOf(response) : undefined
    if (code !== undefined && !this.#probe) {
      if (code === headerMismatch) {
        this.#mismatch()
        return
      }
      if (code === unsupportedVersion) {
        const { name } = this.home!.wire
        const refuse = (): void => this.fail(invalid(name, 'it does not speak the version that it was asked in'))
        if (!this.#doubt(refuse)) refuse()
        return
      }
      if (status >= 400 && isLegacyCode(code) && this.#doubt(() => this.#deliver(response))) return
    }
    this.#deliver(response)
  }

  protected heard(message: Message): Message | undefined {
    if (message.kind !== 'request') return withSubscription(message, this.callerId)
    this.drop('unasked_request')
    // It would wait for an answer that nobody gives.
    const { leg } = this
    this.fail(invalid(this.home!.wire.name, 'it sent a request, which servers of its revision may not'))
    leg?.drop()
    return undefined
  }

  protected batch(): void {
    this.skip(new GatewayError('invalid', 'it is a batch'))
  }

  protected cut(error: GatewayError): void {
    this.fail(error)
  }

  protected override end(): void {
    super.end()
    this.#request = undefined
    this.#done?.(this)
    this.#done = undefined
  }

  #send(): void {
    const params = this.#params()
    if (params !== undefined) this.#sendWith(params)
    else void this.home!.readTools().then(() => this.#sendWith(this.#params() ?? none))
  }

  /** Undefined: the list has to be read first. */
  #params(): readonly ParamHeader[] | undefined {
    const request = this.#request
    if (request?.method !== 'tools/call') return none
    const name = stringParam(request, 'name')
    return name === undefined ? none : this.home?.tools.of(name)
  }

  #sendWith(params: readonly ParamHeader[]): void {
    // Cancelled meanwhile.
    if (this.home === undefined) return
    this.post(this.#request!, [...this.home.post, ...mirrored(this.#request!, params, this.#named)])
  }

  #deliver(response: Message): void {
    const shown = this.#shown(response)
    if (this.#isWholeList(response)) this.home!.tools.seenAll()
    this.finish(shown)
  }

  #shown(response: Message): Message {
    const method = this.#request?.method
    if (method === 'tools/list') return this.home!.tools.learn(response)
    return method === 'subscriptions/listen' ? withSubscription(response, this.callerId) : response
  }

  #isWholeList(response: Message): boolean {
    if (this.#request?.method !== 'tools/list' || isError(response)) return false
    return textParam(this.#request, 'cursor') === undefined && !response.source.includes('"nextCursor"')
  }

  /** The gateway's own fault (decisions: "Errors to a modern client"): what is known of the tools is read again, once. */
  #mismatch(): void {
    const home = this.home!
    if (this.#retried || this.#request?.method !== 'tools/call') {
      this.fail(invalid(home.wire.name, 'it does not accept the headers that mirror the request'))
      return
    }
    this.#retried = true
    this.leg = undefined
    this.stream = false
    home.tools.forget()
    void home.readTools().then(() => this.#sendWith(this.#params() ?? none))
  }

  /** The JSON-RPC error in the body of a 4xx or 5xx that answers this request. */
  #answerIn(body: Buffer): Message | undefined {
    try {
      const got = read(body, this.home!.wire.depth)
      if (isBatch(got) || got.kind !== 'response' || !isError(got)) return undefined
      return answers(got, this.origin, isModernCode(rpcCodeOf(got))) ? got : undefined
    } catch {
      return undefined
    }
  }

  /** Refused as no modern server would. If it is none any more, the request did not run, and whoever called opens anew. */
  #doubt(still: () => void): boolean {
    const home = this.home!
    if (this.#probe || home.recheck === undefined) return false
    this.leg = undefined
    void home.recheck().then(isModern => {
      // Cancelled meanwhile.
      if (this.home === undefined) return
      if (isModern) still()
      else this.fail(sessionLost(home.wire.name))
    })
    return true
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
