/**
 * One request of a legacy client to a modern server. What the server wants to know it asks by ending the request; here that
 * becomes requests on the client's stream, and their answers the next round of the same request (decisions: "How an input
 * ends there"). To whoever reads it is one exchange.
 */

import { randomUUID } from 'node:crypto'
import type { Call, Exchange } from '../backends/backend.ts'
import type { Placed } from '../backends/under-way.ts'
import { GatewayError } from '../errors.ts'
import { refusal } from '../gateway/refusal.ts'
import { withParam } from '../protocol/edit.ts'
import { settled } from '../protocol/envelope.ts'
import { makeError, makeNotification } from '../protocol/make.ts'
import { isError, type Message, readMessage, stringParam, textOf, textParam } from '../protocol/message.ts'
import { interactive } from '../protocol/modern.ts'
import { complete, inputRequired, resultTypeOf } from '../protocol/result-type.ts'
import { bytes } from '../protocol/write.ts'
import type { Place } from '../streams/stream-log.ts'
import { type InputRequired, readInputRequired } from './input-required.ts'
import { toLegacyAnswer } from './older-result.ts'

/** What it needs of its link. */
export interface Questions {
  /** JSON text of what the client can be asked. */
  readonly capabilities: string
  begin(request: Message, call: Call): Exchange
  number(exchange: BridgedExchange): string
  drop(id: string): void
  over(exchange: BridgedExchange): void
}

/** A round that asks for nothing but patience is sent again after this time, milliseconds. */
const patienceMs = 250

const done: IteratorResult<Message> = { done: true, value: undefined }

interface Question {
  readonly key: string
  readonly method: string
}

export class BridgedExchange implements Exchange, Placed {
  list: unknown
  before: Placed | undefined
  after: Placed | undefined
  readonly place: Place | undefined
  readonly #link: Questions
  readonly #request: Message
  readonly #call: Call
  readonly #maxRounds: number
  #inner: Exchange | undefined
  /** To be read before anything else: questions, and what ends them. */
  #waiting: Message[] = []
  #last: Message | undefined
  /** Open questions by id. */
  readonly #open = new Map<string, Question>()
  /** Key to answer, JSON texts; of the round that is being asked. */
  #answers: string[] | undefined
  #state: string | undefined
  #rounds = 0
  #progress = Number.NEGATIVE_INFINITY
  #wake: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #over = false

  constructor(link: Questions, request: Message, call: Call, maxRounds: number) {
    this.#link = link
    this.#request = request
    this.#call = call
    this.#maxRounds = maxRounds
    this.#inner = link.begin(request, call)
  }

  async next(): Promise<IteratorResult<Message>> {
    while (!this.#over) {
      const message = this.#waiting.shift()
      if (message !== undefined) return { done: false, value: message }
      if (this.#last !== undefined) return this.#finish(this.#last)
      if (this.#answers === undefined) {
        const value = await this.#read()
        if (value !== undefined) return { done: false, value }
      } else if (this.#open.size > 0 || this.#timer !== undefined) {
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
      } else {
        this.#again(this.#answers)
      }
    }
    return done
  }

  /** The client's answer to one question. */
  answer(response: Message): void {
    const question = this.#open.get(response.id!)
    if (question === undefined || this.#over) return
    this.#open.delete(response.id!)
    const text = resultIn(response) ?? withoutAnswer(question.method)
    if (text === undefined) this.#giveUp(response)
    else this.#answers?.push(`${question.key}:${text}`)
    this.#wake?.()
  }

  cancel(reason?: string): void {
    if (this.#over) return
    this.#inner?.cancel(reason)
    this.#end()
  }

  /** There is nobody else who could go on with it. */
  detach(): void {
    if (this.#over) return
    this.#inner?.detach()
    this.#end()
  }

  async return(): Promise<IteratorResult<Message>> {
    this.cancel()
    return done
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next message for the client; undefined when there is something else to do first. */
  async #read(): Promise<Message | undefined> {
    try {
      const { value, done } = await this.#inner!.next()
      if (this.#over) return undefined
      if (done === true) this.#end()
      else if (value.kind !== 'response') return this.#isNews(value) ? value : undefined
      else this.#take(value)
      return undefined
    } catch (error) {
      this.#end()
      throw error
    }
  }

  /** Each round counts from its own beginning: the client sees progress that rises. */
  #isNews(message: Message): boolean {
    if (message.method !== 'notifications/progress') return true
    const progress = Number(textParam(message, 'progress'))
    if (this.#rounds > 0 && progress <= this.#progress) return false
    this.#progress = progress
    return true
  }

  #take(response: Message): void {
    const type = isError(response) ? complete : resultTypeOf(response)
    if (type === complete) {
      this.#last = toLegacyAnswer(response, this.#request)
      return
    }
    if (type !== inputRequired) throw invalid(`a result of the type ${JSON.stringify(type)}`)
    if (!interactive.has(this.#request.method!)) throw invalid(`a wish for input in ${this.#request.method}`)
    if (++this.#rounds > this.#maxRounds) throw invalid(`wishes for input after ${this.#maxRounds} rounds`)
    let input: InputRequired
    try {
      input = readInputRequired(response)
    } catch (cause) {
      throw invalid('a wish for input that cannot be read', cause)
    }
    this.#ask(input)
  }

  /** All at once, or, where one may not be asked, none. */
  #ask({ requests, state }: InputRequired): void {
    this.#inner = undefined
    const messages = requests.map(({ message }) => withElicitationId(message(this.#link.number(this))))
    const refused = messages.map(message => refusal(message, this.#link.capabilities)).find(one => one !== undefined)
    if (refused !== undefined) {
      for (const { id } of messages) this.#link.drop(id!)
      this.#last = makeError(
        this.#request.id,
        -32602,
        `the backend asked for what the client cannot do: ${refused.text}`
      )
      return
    }
    this.#state = state
    this.#answers = []
    for (const [i, message] of messages.entries()) this.#open.set(message.id!, requests[i]!)
    this.#waiting.push(...messages)
    if (messages.length > 0) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#wake?.()
    }, patienceMs)
  }

  /** The same request with what the client said, and the state exactly as it came. */
  #again(answers: readonly string[]): void {
    let request = settled(this.#request)
    if (this.#state !== undefined) request = withParam(request, 'requestState', this.#state)
    if (answers.length > 0) request = withParam(request, 'inputResponses', `{${answers.join(',')}}`)
    this.#answers = undefined
    this.#inner = this.#link.begin(request, this.#call)
  }

  /** Without this answer there is no result: the call ends with the client's own error. */
  #giveUp({ source, scanned }: Message): void {
    for (const id of this.#open.keys()) {
      this.#link.drop(id)
      this.#waiting.push(
        makeNotification('notifications/cancelled', { requestId: Number(id), reason: 'the call is over' })
      )
    }
    this.#open.clear()
    const error = textOf(source, scanned.top, 'error') ?? '{"code":-32603,"message":"the client gave no answer"}'
    const text = `{"jsonrpc":"2.0","id":${this.#request.id},"error":${error}}`
    this.#last = readMessage(Buffer.from(text), anyDepth)
  }

  #finish(response: Message): IteratorResult<Message> {
    this.#end()
    return { done: false, value: response }
  }

  #end(): void {
    this.#over = true
    this.#inner = undefined
    this.#waiting = []
    clearTimeout(this.#timer)
    for (const id of this.#open.keys()) this.#link.drop(id)
    this.#open.clear()
    this.#wake?.()
    this.#link.over(this)
  }
}

/** Deeper than whatever was read. */
const anyDepth = 2_000

const invalid = (what: string, cause?: unknown): GatewayError =>
  new GatewayError('backend_invalid', `the backend answered with ${what}`, { cause })

/** What stands for an answer that the client did not give; undefined: nothing does. */
function withoutAnswer(method: string): string | undefined {
  if (method === 'elicitation/create') return '{"action":"cancel"}'
  return method === 'roots/list' ? '{"roots":[]}' : undefined
}

/** JSON text of the result, when it is an object. */
function resultIn(response: Message): string | undefined {
  const { source, scanned } = settled(response)
  const text = textOf(source, scanned.top, 'result')
  return text?.startsWith('{') === true ? text : undefined
}

/** Legacy clients tell elicitations by URL apart by an id, which the modern era has not. */
function withElicitationId(request: Message): Message {
  if (stringParam(request, 'mode') !== 'url' || textParam(request, 'elicitationId') !== undefined) return request
  return readMessage(bytes(withParam(request, 'elicitationId', JSON.stringify(randomUUID()))), anyDepth)
}
