/** One conversation with a Streamable HTTP upstream of the legacy era: its session, or none when it gave no id. */

import { makeNotification, makeRequest, makeResult } from '../../protocol/make.ts'
import { type Message, textMeta } from '../../protocol/message.ts'
import { bytes } from '../../protocol/write.ts'
import { facts } from '../../telemetry/events.ts'
import type { Call, Exchange, Link, OpenOptions, Server } from '../backend.ts'
import { UnderWay } from '../under-way.ts'
import { type Home, HttpExchange } from './exchange.ts'
import { broke, sessionLost, unanswered } from './faults.ts'
import { type LegHeaders, legHeaders } from './headers.ts'
import { type Audience, Listener } from './listener.ts'
import { readPlace } from './origin.ts'
import { capabilitiesOf, type LinkFacts } from './state.ts'
import type { Wire } from './wire.ts'

/** How long (ms) an upstream may take to hear that something is over. */
const closingMs = 5_000

export class HttpLink implements Link, Home, Audience {
  readonly era = 'legacy'
  readonly met = true
  readonly server: Server
  readonly state: string
  readonly wire: Wire
  readonly session: string | undefined
  headers: LegHeaders
  readonly #options: OpenOptions
  readonly #exchanges = new UnderWay<HttpExchange>()
  readonly #listener = new Listener(this)
  /** Somebody listened for what belongs to no exchange, not only beside one. */
  #isForNews = false
  #nextId: number
  /** Closed, or lost by the upstream. */
  #over = false
  #lost = false
  /** Cancels that are under way: the session is not ended before. */
  #telling: Set<Promise<void>> | undefined
  readonly #closed: (link: HttpLink) => void

  /** `firstId`: number of the next request; an upstream session must not see one twice. */
  constructor(
    wire: Wire,
    options: OpenOptions,
    said: LinkFacts,
    headers: Readonly<Record<string, string>>,
    firstId: number,
    closed: (link: HttpLink) => void
  ) {
    this.wire = wire
    this.#options = options
    this.session = said.session
    this.server = { version: said.version, capabilities: capabilitiesOf(said.result), result: said.result }
    this.state = JSON.stringify(said)
    this.headers = legHeaders(headers, said.session, said.version)
    this.#nextId = firstId
    this.#closed = closed
  }

  tune(headers: Readonly<Record<string, string>>): void {
    this.headers = legHeaders(headers, this.session, this.server.version)
    this.#listener.tuned()
  }

  exchange(request: Message, _call: Call): Exchange {
    const origin = { id: String(this.#nextId++), token: textMeta(request, 'progressToken') }
    const exchange = new HttpExchange(this, request.id!, origin)
    this.#exchanges.add(exchange)
    if (this.#over) exchange.refuse(sessionLost(this.wire.name))
    else exchange.send(request)
    return exchange.queue
  }

  resume(clientId: string, place: string, _call: Call): Exchange {
    const { lastEventId, ...origin } = readPlace(place) ?? { id: '' }
    const exchange = new HttpExchange(this, clientId, origin)
    this.#exchanges.add(exchange)
    if (this.#over || lastEventId === undefined) exchange.refuse(broke(this.wire.name))
    else exchange.goOn(lastEventId)
    return exchange.queue
  }

  async send(message: Message): Promise<void> {
    if (this.#over) throw sessionLost(this.wire.name)
    await this.#post(message)
  }

  listen(on: boolean): void {
    if (this.#over) return
    this.#isForNews ||= on
    this.#listener.listen(on)
  }

  /** A server that has no such stream is not asked for one by each call. */
  hear(): Promise<void> | undefined {
    if (this.#over || this.wire.gets.areNone) return undefined
    this.#listener.listen(true)
    return this.#listener.opening()
  }

  async close(stays = false): Promise<void> {
    if (this.#over) return
    this.#over = true
    this.#listener.listen(false)
    for (const exchange of this.#exchanges.now()) exchange.queue.cancel('the session was closed')
    await Promise.all(this.#telling ?? [])
    if (this.session !== undefined && !stays) {
      await this.wire.control('DELETE', this.headers.delete, null, this.#shortly).catch(() => {})
    }
    this.#closed(this)
  }

  lost(): void {
    if (this.#over) return
    this.#over = true
    this.#lost = true
    this.#listener.listen(false)
    this.#closed(this)
    this.#options.ended(sessionLost(this.wire.name))
  }

  cancelled(id: string, reason: string | undefined): void {
    if (this.#lost) return
    const notice = makeNotification('notifications/cancelled', { requestId: Number(id), reason })
    const told = this.#post(notice, this.#shortly)
      .catch(() => {})
      .finally(() => this.#telling?.delete(told))
    this.#telling ??= new Set()
    this.#telling.add(told)
  }

  pong(id: string): void {
    this.#post(makeResult(id, {})).catch(() => {})
  }

  receive(message: Message): void {
    if (message.method === 'ping' && message.kind === 'request') this.pong(message.id!)
    else this.#options.receive(message)
  }

  missed(): void {
    if (this.#isForNews) this.#options.missed?.()
  }

  heard(on: boolean): void {
    if (this.#isForNews) this.#options.heard?.(on)
  }

  /** An upstream that lost the session refuses a ping too; one that has no such stream answers it. */
  notFound(): void {
    if (this.session === undefined) return
    const ping = new HttpExchange(this, '0', { id: String(this.#nextId++) })
    this.#exchanges.add(ping)
    ping.send(makeRequest('0', 'ping'))
    ping.queue.next().catch(() => {})
  }

  forget(exchange: HttpExchange): void {
    this.#exchanges.delete(exchange)
  }

  get #shortly(): number {
    return Math.min(this.wire.timeout, closingMs)
  }

  async #post(message: Message, timeout?: number): Promise<void> {
    const { name } = this.wire
    const sent = this.wire.control('POST', this.headers.post, bytes(message), timeout)
    const status = await sent.catch((cause: Error) => {
      throw unanswered(name, cause)
    })
    if (status < 300) return
    if (status === 404 && this.session !== undefined) {
      this.lost()
      throw sessionLost(name)
    }
    const what = message.method ?? 'an answer'
    facts.notice.publish({ level: 'warn', text: `${what} was answered with HTTP status ${status}`, backend: name })
  }
}
