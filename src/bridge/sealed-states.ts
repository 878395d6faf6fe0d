/** A modern link as a caller sees it who is told apart from others: what its upstream calls `requestState` is sealed on its way out. */
import type { Call, Exchange, Link, Server, Upstream } from '../backends/backend.ts'
import { failed } from '../backends/queue.ts'
import { toGatewayError } from '../errors.ts'
import { editedParam, splice, withParam } from '../protocol/edit.ts'
import { find } from '../protocol/find.ts'
import { type Message, stringParam } from '../protocol/message.ts'
import { interactive } from '../protocol/modern.ts'
import { nameParam } from '../protocol/named-by.ts'
import { resultStart } from '../protocol/remove.ts'
import { inputRequired, resultTypeOf } from '../protocol/result-type.ts'
import type { LinkState } from '../sessions/session.ts'
import type { Place } from '../streams/stream-log.ts'
import { hasState } from './origin.ts'
import type { Binding, OwnStates } from './own-states.ts'

/** Whose link it is: key of the principal, and identity of the backend. */
export type Owner = Pick<Binding, 'principal' | 'backend'>

export class SealedStates implements Link {
  readonly era = 'modern'
  readonly upstream?: Upstream
  readonly #link: Link
  readonly #states: OwnStates
  readonly #owner: Owner

  constructor(link: Link, states: OwnStates, owner: Owner) {
    this.#link = link
    this.#states = states
    this.#owner = owner
    if (link.upstream !== undefined) this.upstream = link.upstream
  }

  get server(): Server {
    return this.#link.server
  }

  async renew(): Promise<void> {
    await this.#link.renew?.()
  }

  get state(): LinkState | undefined {
    return this.#link.state
  }

  exchange(request: Message, call: Call): Exchange {
    const method = request.method!
    if (!interactive.has(method)) return this.#link.exchange(request, call)
    const binding = { ...this.#owner, method, name: nameOf(request) }
    try {
      const sent = hasState(request) ? this.#opened(request, binding) : request
      return new Sealing(this.#link.exchange(sent, call), response => this.#sealed(response, binding))
    } catch (error) {
      return failed(toGatewayError(error))
    }
  }

  resume(clientId: string, place: Place, call: Call): Exchange {
    return this.#link.resume(clientId, place, call)
  }

  send(message: Message): Promise<void> {
    return this.#link.send(message)
  }

  listen(on: boolean): void {
    this.#link.listen(on)
  }

  close(): Promise<void> {
    return this.#link.close()
  }

  #opened(request: Message, binding: Binding): Message {
    const sealed = stringParam(request, 'requestState') ?? ''
    return withParam(request, 'requestState', this.#states.open(sealed, binding, request.id))
  }

  #sealed(response: Message, binding: Binding): Message {
    if (resultTypeOf(response) !== inputRequired) return response
    const { source } = response
    const span = find(source, resultStart(response)!, ['requestState'])
    // Of what is no text whoever reads the result makes an error.
    if (span === undefined || source[span.start] !== 0x22) return response
    const state = source.toString('utf8', span.start, span.end)
    return splice(response, { ...span, text: JSON.stringify(this.#states.seal(state, binding)) })
  }
}

/** As the backend calls it; JSON text, written in one way. */
function nameOf(request: Message): string | undefined {
  const text = editedParam(request, nameParam(request.method!)!)
  return text === undefined ? undefined : JSON.stringify(JSON.parse(text))
}

class Sealing implements Exchange {
  readonly #inner: Exchange
  readonly #seal: (response: Message) => Message

  constructor(inner: Exchange, seal: (response: Message) => Message) {
    this.#inner = inner
    this.#seal = seal
  }

  get place(): Place | undefined {
    return this.#inner.place
  }

  async next(): Promise<IteratorResult<Message>> {
    const arrived = await this.#inner.next()
    if (arrived.done === true || arrived.value.kind !== 'response') return arrived
    return { done: false, value: this.#seal(arrived.value) }
  }

  async return(): Promise<IteratorResult<Message>> {
    this.cancel()
    return { done: true, value: undefined }
  }

  cancel(reason?: string): void {
    this.#inner.cancel(reason)
  }

  detach(): void {
    this.#inner.detach()
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
