/** One conversation with a Streamable HTTP upstream of the legacy era: its session, or none when it gave no id. */
import { makeNotification } from '../../protocol/make.ts'
import { bytes, type Message, textMeta } from '../../protocol/message.ts'
import { facts } from '../../telemetry/events.ts'
import type { Call, Exchange, Link, OpenOptions, Server } from '../backend.ts'
import { type Home, HttpExchange } from './exchange.ts'
import { broke, sessionLost, unavailable } from './faults.ts'
import { type LegHeaders, legHeaders } from './headers.ts'
import type { Wire } from './wire.ts'

/** What a link is made from, and what another instance makes it from again. */
export interface LinkFacts {
  /** `Mcp-Session-Id` of the upstream. */
  readonly session?: string | undefined
  readonly version: string
  /** JSON text of the InitializeResult. */
  readonly result: string
}

/** Longest wait for the upstream to forget its session, milliseconds. */
const deleteTimeout = 5_000

export class HttpLink implements Link, Home {
  readonly era = 'legacy'
  readonly server: Server
  readonly state: string
  readonly wire: Wire
  readonly session: string | undefined
  headers: LegHeaders
  readonly #options: OpenOptions
  readonly #exchanges = new Set<HttpExchange>()
  #nextId: number
  #over = false
  readonly #closed: (link: HttpLink) => void

  /** `firstId`: number of the next request; an upstream session must not see one twice. */
  constructor(
    wire: Wire,
    options: OpenOptions,
    facts: LinkFacts,
    headers: Readonly<Record<string, string>>,
    firstId: number,
    closed: (link: HttpLink) => void
  ) {
    this.wire = wire
    this.#options = options
    this.session = facts.session
    this.server = { version: facts.version, capabilities: capabilitiesOf(facts.result), result: facts.result }
    this.state = JSON.stringify(facts)
    this.headers = legHeaders(headers, facts.session, facts.version)
    this.#nextId = firstId
    this.#closed = closed
  }

  tune(headers: Readonly<Record<string, string>>): void {
    this.headers = legHeaders(headers, this.session, this.server.version)
  }

  exchange(request: Message, _call: Call): Exchange {
    const exchange = new HttpExchange(this, request.id!, {
      id: String(this.#nextId++),
      token: textMeta(request, 'progressToken')
    })
    this.#exchanges.add(exchange)
    if (this.#over) exchange.refuse(sessionLost(this.wire.name))
    else exchange.send(request)
    return exchange.queue
  }

  resume(clientId: string, place: string, _call: Call): Exchange {
    const { lastEventId, ...origin } = JSON.parse(place)
    const exchange = new HttpExchange(this, clientId, origin)
    this.#exchanges.add(exchange)
    if (this.#over) exchange.refuse(broke(this.wire.name))
    else exchange.goOn(lastEventId)
    return exchange.queue
  }

  async send(message: Message): Promise<void> {
    const { name } = this.wire
    const status = await this.wire.control('POST', this.headers.post, bytes(message)).catch((cause: Error) => {
      throw unavailable(name, cause)
    })
    if (status < 300) return
    if (status === 404 && this.session !== undefined) {
      this.lost()
      throw sessionLost(name)
    }
    const what = message.method ?? 'an answer'
    facts.notice.publish({ level: 'warn', text: `${what} was answered with HTTP status ${status}`, backend: name })
  }

  listen(_on: boolean): void {}

  async close(): Promise<void> {
    if (this.#over) return
    this.#over = true
    for (const exchange of [...this.#exchanges]) exchange.queue.cancel('the session was closed')
    this.#closed(this)
    if (this.session === undefined) return
    await this.wire
      .control('DELETE', this.headers.delete, null, Math.min(this.wire.timeout, deleteTimeout))
      .catch(() => {})
  }

  lost(): void {
    if (this.#over) return
    this.#over = true
    this.#closed(this)
    this.#options.ended(sessionLost(this.wire.name))
  }

  cancelled(id: string, reason: string | undefined): void {
    const params = { requestId: Number(id), ...(reason === undefined ? {} : { reason }) }
    this.send(makeNotification('notifications/cancelled', params)).catch(() => {})
  }

  forget(exchange: HttpExchange): void {
    this.#exchanges.delete(exchange)
  }
}

function capabilitiesOf(result: string): Record<string, unknown> {
  const { capabilities } = JSON.parse(result)
  return typeof capabilities === 'object' && capabilities !== null ? capabilities : {}
}
