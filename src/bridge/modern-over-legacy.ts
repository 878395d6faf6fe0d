/**
 * A legacy link as modern requests see it: what their era has in `_meta` stays here, the upstream is told the log level that
 * the request wants, and is refused whatever it asks of a client.
 */
import type { Call, Exchange, Link, Server } from '../backends/backend.ts'
import { Queue } from '../backends/queue.ts'
import { without } from '../protocol/edit.ts'
import { makeError } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import { stringMeta } from '../protocol/meta.ts'
import { levelKey, modernKeys, modernParams } from '../protocol/modern.ts'
import type { LinkState } from '../sessions/session.ts'
import type { Place } from '../streams/stream-log.ts'
import { facts } from '../telemetry/events.ts'

/** Undefined when the upstream was told before; else resolves when it was. Never rejects. */
type WantLevel = (level: string) => Promise<void> | undefined

export class ModernOverLegacy implements Link {
  readonly era = 'modern'
  readonly server: Server
  readonly #link: Link
  readonly #backend: string
  readonly #wantLevel: WantLevel

  constructor(link: Link, backend: string, wantLevel: WantLevel) {
    this.#link = link
    this.#backend = backend
    this.#wantLevel = wantLevel
    this.server = link.server
  }

  get state(): LinkState | undefined {
    return this.#link.state
  }

  exchange(request: Message, call: Call): Exchange {
    // Tasks of the two eras have nothing in common but their names.
    if (request.method!.startsWith('tasks/')) return unknown(request)
    const level = stringMeta(request, levelKey)
    return new Answered(
      () => this.#link.exchange(forLegacy(request), call),
      level === undefined ? undefined : this.#wantLevel(level),
      asked => this.#refuse(asked)
    )
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

function unknown(request: Message): Exchange {
  const queue = new Queue({ cancel() {}, detach() {} })
  queue.finish(makeError(request.id, -32601, `the server has no ${request.method}`))
  return queue
}

/** The request without what a legacy server knows nothing of. */
function forLegacy(request: Message): Message {
  const { params, meta } = request.scanned
  let bare = meta === undefined ? request : without(request, meta, modernKeys)
  if (params !== undefined) bare = without(bare, params, modernParams)
  return bare
}

/** The exchange without requests of the upstream, begun at once or when `ready` resolves. */
class Answered implements Exchange {
  readonly place = undefined
  readonly #begin: () => Exchange
  readonly #refuse: (asked: Message) => void
  #ready: Promise<void> | undefined
  #exchange: Exchange | undefined
  #over = false

  constructor(begin: () => Exchange, ready: Promise<void> | undefined, refuse: (asked: Message) => void) {
    this.#begin = begin
    this.#ready = ready
    this.#refuse = refuse
    if (ready === undefined) this.#exchange = begin()
  }

  async next(): Promise<IteratorResult<Message>> {
    if (this.#ready !== undefined) {
      await this.#ready
      this.#ready = undefined
      if (!this.#over) this.#exchange = this.#begin()
    }
    for (;;) {
      const arrived = await this.#exchange?.next()
      if (arrived === undefined) return { done: true, value: undefined }
      if (arrived.done === true || arrived.value.kind !== 'request') return arrived
      this.#refuse(arrived.value)
    }
  }

  async return(): Promise<IteratorResult<Message>> {
    this.cancel()
    return { done: true, value: undefined }
  }

  cancel(reason?: string): void {
    this.#over = true
    this.#exchange?.cancel(reason)
  }

  detach(): void {
    this.#over = true
    this.#exchange?.detach()
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
