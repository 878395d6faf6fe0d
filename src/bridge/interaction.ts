/**
 * One request of a modern client at a legacy upstream, over as many round trips as the upstream's questions need: each round
 * is an exchange of its own towards the client, while that with the upstream goes on (2026-07-28 basic/patterns/mrtr;
 * decisions: "When `input_required` is returned", "While parked").
 */

import type { Backend, Call, Exchange, Link, Origin } from '../backends/backend.ts'
import type { Placed } from '../backends/under-way.ts'
import { GatewayError, toGatewayError } from '../errors.ts'
import type { Refusal } from '../exchanges/running.ts'
import { withId, withParam } from '../protocol/edit.ts'
import { makeError } from '../protocol/make.ts'
import { type Message, textMeta, textParam } from '../protocol/message.ts'
import { capabilitiesKey, interactive } from '../protocol/modern.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Place } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'
import { type Answered, type Input, inputMethods, inputRequired, urlsRequired } from './inputs.ts'
import { sampledForOlderServer } from './older-sampling.ts'
import type { Parked } from './parked.ts'
import { Questions } from './questions.ts'

export interface Asking {
  readonly backend: Backend
  readonly live: Live
  /** To the upstream; and as modern users see that. */
  readonly link: Pick<Link, 'send' | 'server' | 'knowsModern'>
  readonly bridge: Link
  readonly parked: Parked
  /** Why the client may not be asked that; undefined: it may. */
  readonly refusal: (asked: Message, capabilities: string) => Refusal | undefined
  /** It has its end. */
  readonly over: (interaction: Interaction) => void
}

/** Notices that wait for a reader. */
const maxNews = 256

const done: IteratorResult<Message> = { done: true, value: undefined }

export class Interaction implements Exchange, Placed {
  list: unknown
  before: Placed | undefined
  after: Placed | undefined
  readonly live: Live
  readonly backend: Backend
  readonly bridge: Link
  readonly #questions: Questions
  readonly #asking: Asking
  readonly #inner: Exchange
  /** Of this round. */
  call: Call
  /** Of the last round; undefined: nobody would come back with answers. */
  origin: Origin | undefined
  #request: Message
  #rounds = 0
  #isParked = false
  #reader: PromiseWithResolvers<IteratorResult<Message>> | undefined
  #reading = false
  /** How it ends, until somebody reads that. */
  #outcome: Message | GatewayError | undefined
  #over = false
  /** The questions are to go out with the next read. */
  #due = false
  /** Came beside the exchange, and is to be read before anything else. */
  readonly #news: Message[] = []

  constructor(inner: Exchange, request: Message, call: Call, asking: Asking) {
    this.#inner = inner
    this.#request = request
    this.call = call
    this.#asking = asking
    this.origin = call.origin
    this.#questions = new Questions(() => this.#gathered(), asking.link.knowsModern === true)
    this.live = asking.live
    this.backend = asking.backend
    this.bridge = asking.bridge
  }

  get place(): Place | undefined {
    return undefined
  }

  /** Questions that wait for an answer, by their keys. */
  get open(): ReadonlyMap<string, Input> {
    return this.#questions.open
  }

  /** Rounds that ended with questions. */
  get rounds(): number {
    return this.#rounds
  }

  /** The next round: what it brings goes to the upstream, what it leaves open is asked again. */
  again(request: Message, call: Call, answered: readonly Answered[], ready?: Promise<void>): this {
    this.#isParked = false
    this.#request = request
    this.call = call
    const { link } = this.#asking
    this.origin = call.origin
    for (const { input, answer } of answered) {
      this.#questions.open.delete(input.key)
      const adapted =
        input.method === 'sampling/createMessage' ? sampledForOlderServer(answer, link.server.version) : answer
      // An upstream that is gone says so itself.
      const send = (): Promise<void> => link.send(adapted).catch(() => {})
      void (ready === undefined ? send() : ready.then(send))
    }
    if (this.open.size > 0) this.#questions.gather()
    return this
  }

  /** What the upstream said beside the exchange, and belongs to it. It does not wait until somebody reads. */
  beside(message: Message): void {
    if (message.kind === 'response' || this.#over || this.#outcome !== undefined) return
    const isNews = message.method === 'notifications/message'
    if (!isNews || this.#isParked || this.#reader !== undefined) this.#take(message)
    else if (this.#news.length < maxNews) this.#news.push(message)
  }

  next(): Promise<IteratorResult<Message>> {
    if (this.#over) return Promise.resolve(done)
    const reader = Promise.withResolvers<IteratorResult<Message>>()
    this.#reader = reader
    const news = this.#news.shift()
    if (news !== undefined) this.#tell(news)
    else if (this.#outcome !== undefined) this.#settle()
    else if (this.#due) this.#turn()
    else void this.#read()
    return reader.promise
  }

  return(): Promise<IteratorResult<Message>> {
    this.cancel()
    return Promise.resolve(done)
  }

  cancel(reason?: string): void {
    this.#end(() => this.#inner.cancel(reason))
  }

  detach(): void {
    this.#end(() => this.#inner.detach())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** For as long as somebody waits, or nobody can. */
  async #read(): Promise<void> {
    if (this.#reading) return
    this.#reading = true
    while (!this.#over && this.#outcome === undefined && (this.#reader !== undefined || this.#isParked)) {
      try {
        const arrived = await this.#inner.next()
        if (this.#over) break
        if (arrived.done === true) this.#ended()
        else this.#take(arrived.value)
      } catch (error) {
        this.#failed(toGatewayError(error))
      }
    }
    this.#reading = false
  }

  #take(message: Message): void {
    if (message.kind === 'response') {
      this.#outcome = message
      this.#settle()
    } else if (message.kind === 'request') {
      this.#ask(message)
    } else if (message.method === 'notifications/cancelled') {
      this.#questions.withdraw(textParam(message, 'requestId'))
      if (this.open.size === 0) this.#due = false
    } else {
      this.#questions.touch()
      this.#tell(message)
    }
  }

  /** Progress has the token of the first round; it is for who asked for progress in this one. */
  #tell(notice: Message): void {
    const reader = this.#reader
    if (reader === undefined) return
    let told = notice
    if (this.#rounds > 0 && notice.method === 'notifications/progress') {
      const token = textMeta(this.#request, 'progressToken')
      if (token === undefined) return
      told = withParam(notice, 'progressToken', token)
    }
    this.#reader = undefined
    reader.resolve({ done: false, value: told })
  }

  #ask(asked: Message): void {
    const refused = this.#refusal(asked)
    if (refused !== undefined) {
      facts.drop.publish({ reason: 'refused_ask', backend: this.backend.name })
      this.#asking.link.send(makeError(asked.id, refused.code, refused.text)).catch(() => {})
      return
    }
    this.#questions.add(asked)
    if (!this.#isParked) this.#questions.gather()
  }

  #refusal(asked: Message): Refusal | undefined {
    if (!interactive.has(this.#request.method!)) {
      return { code: -32601, text: `clients of this revision cannot be asked during ${this.#request.method}` }
    }
    if (this.#questions.isFull) return { code: -32603, text: 'too many requests to this client are open' }
    if (!inputMethods.has(asked.method!)) return { code: -32601, text: `clients have no ${asked.method}` }
    if (this.origin === undefined) return { code: -32601, text: 'nobody can be asked' }
    return this.#asking.refusal(asked, this.#capabilities)
  }

  get #capabilities(): string {
    return textMeta(this.#request, capabilitiesKey) ?? '{}'
  }

  #gathered(): void {
    this.#due = true
    if (this.#reader !== undefined) this.#turn()
  }

  /** Round over: the questions go out, and the exchange with the upstream waits for their answers. */
  #turn(): void {
    this.#due = false
    const { parked } = this.#asking
    this.#rounds++
    const state = this.#rounds > parked.rounds ? undefined : parked.park(this)
    if (state === undefined) {
      const error = this.#rounds > parked.rounds ? this.#tooOften() : this.#tooMany()
      this.#inner.cancel(error.message)
      this.#outcome = error
      this.#settle()
      return
    }
    this.#isParked = true
    const reader = this.#reader!
    this.#reader = undefined
    reader.resolve({ done: false, value: inputRequired(this.#request.id!, this.open.values(), state) })
    void this.#read()
  }

  #ended(): void {
    const text = `backend "${this.backend.name}" ended the conversation while it waited for input`
    if (this.#rounds > 0) this.#failed(new GatewayError('backend_broke', text, { backend: this.backend.name }))
    else {
      this.#end()
    }
  }

  /** What was begun is never sent again. */
  #failed(error: GatewayError): void {
    const begun = this.#rounds > 0 && error.code === 'backend_session_lost'
    this.#outcome = begun
      ? new GatewayError('backend_broke', error.message, { backend: this.backend.name, cause: error })
      : error
    this.#settle()
  }

  /** Tells the outcome to who waits for it. */
  #settle(): void {
    this.#due = false
    this.#questions.clear()
    const reader = this.#reader
    const outcome = this.#outcome
    if (reader === undefined || outcome === undefined) return
    this.#reader = undefined
    this.#end()
    if (outcome instanceof GatewayError) reader.reject(outcome)
    else reader.resolve({ done: false, value: this.#response(outcome) })
  }

  #response(response: Message): Message {
    const id = this.#request.id!
    const own = this.#rounds === 0 ? response : withId(response, id)
    return (interactive.has(this.#request.method!) ? urlsRequired(response, id, this.#capabilities) : undefined) ?? own
  }

  /** `early`: what is done with the upstream, which is still at it, before its conversation may be given up. */
  #end(early?: () => void): void {
    if (this.#over) return
    this.#over = true
    this.#due = false
    this.#questions.clear()
    early?.()
    this.#asking.parked.ended(this, early !== undefined)
    this.#asking.over(this)
    this.#reader?.resolve(done)
    this.#reader = undefined
  }

  #tooOften(): GatewayError {
    const text = `backend "${this.backend.name}" asks for input in more rounds than are allowed (${this.#asking.parked.rounds})`
    return new GatewayError('backend_invalid', text, { backend: this.backend.name })
  }

  #tooMany(): GatewayError {
    const text = `too many calls of backend "${this.backend.name}" wait for input of their clients`
    return new GatewayError('overloaded', text, { backend: this.backend.name })
  }
}
