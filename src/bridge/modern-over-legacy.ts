/**
 * A legacy link as modern requests see it: what their era has in `_meta` stays here, the upstream is told the log level that
 * the request wants, and is refused whatever it asks of a client.
 */
import type { Call, Exchange, Link, Server } from '../backends/backend.ts'
import { without } from '../protocol/edit.ts'
import { makeError, makeRequest } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import { stringMeta } from '../protocol/meta.ts'
import { levelKey, modernKeys, modernParams } from '../protocol/modern.ts'
import type { LinkState } from '../sessions/session.ts'
import type { Place } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'

export class ModernOverLegacy implements Link {
  readonly era = 'modern'
  readonly server: Server
  readonly #link: Link
  readonly #backend: string
  /** What the upstream was told last. */
  #level: string | undefined

  constructor(link: Link, backend: string) {
    this.#link = link
    this.#backend = backend
    this.server = link.server
  }

  get state(): LinkState | undefined {
    return this.#link.state
  }

  exchange(request: Message, call: Call): Exchange {
    const level = stringMeta(request, levelKey)
    const send = (): Exchange => this.#link.exchange(forLegacy(request), call)
    const refuse = (asked: Message): void => this.#refuse(asked)
    if (level === undefined || level === this.#level || this.server.capabilities.logging === undefined) {
      return new Answered(send(), refuse, undefined)
    }
    this.#level = level
    const setting = this.#link.exchange(makeRequest('"level"', 'logging/setLevel', { level }), call)
    return new Answered(setting, refuse, send)
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

  #refuse(asked: Message): void {
    facts.drop.publish({ reason: 'refused_ask', backend: this.#backend })
    this.#link.send(makeError(asked.id, -32601, 'clients of this revision take no requests')).catch(() => {})
  }
}

/** The request without what a legacy server knows nothing of. */
function forLegacy(request: Message): Message {
  const { params, meta } = request.scanned
  let bare = meta === undefined ? request : without(request, meta, modernKeys)
  if (params !== undefined) bare = without(bare, params, modernParams)
  return bare
}

/** The exchange without requests of the upstream. `then`: what follows once this one is over, whatever came of it. */
class Answered implements Exchange {
  #exchange: Exchange
  readonly #refuse: (asked: Message) => void
  #then: (() => Exchange) | undefined

  constructor(exchange: Exchange, refuse: (asked: Message) => void, then: (() => Exchange) | undefined) {
    this.#exchange = exchange
    this.#refuse = refuse
    this.#then = then
  }

  get place(): Place | undefined {
    return undefined
  }

  async next(): Promise<IteratorResult<Message>> {
    for (;;) {
      const arrived = await this.#exchange.next()
      if (this.#then !== undefined && (arrived.done === true || arrived.value.kind === 'response')) {
        this.#exchange = this.#then()
        this.#then = undefined
      } else if (arrived.done === true || arrived.value.kind !== 'request') {
        return arrived
      } else {
        this.#refuse(arrived.value)
      }
    }
  }

  async return(): Promise<IteratorResult<Message>> {
    this.cancel()
    return { done: true, value: undefined }
  }

  cancel(reason?: string): void {
    this.#then = undefined
    this.#exchange.cancel(reason)
  }

  detach(): void {
    this.#then = undefined
    this.#exchange.detach()
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
