/**
 * A modern upstream as a legacy session sees it: a conversation that remembers what the session said of itself, and says it
 * with every request (decisions: "Upstream eras and the bridges").
 */
import type { Backend, Call, Exchange, Link, Server } from '../backends/backend.ts'
import { failed, Queue } from '../backends/queue.ts'
import { GatewayError } from '../errors.ts'
import { withMetas } from '../protocol/envelope.ts'
import { makeError, makeResult } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import { capabilitiesKey, clientKey, levelKey } from '../protocol/modern.ts'
import { latestLegacy } from '../protocol/version.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { LinkState } from '../sessions/session.ts'
import { BridgedExchange, type Questions } from './bridged-exchange.ts'
import { toLegacy, toModern } from './older-capabilities.ts'

/** What a client hears that never said how much it wants to hear (server/utilities/logging: the server decides then). */
const firstLevel = 'info'

export interface BridgeOptions {
  /** How often one request may come back for input. */
  readonly rounds: number
}

export class LegacyOverModern implements Link, Questions {
  readonly era = 'legacy'
  readonly server: Server
  readonly #link: Link
  readonly #live: Live
  readonly #options: BridgeOptions
  /** JSON texts: what the session's client can do, and who it is. */
  readonly capabilities: string
  readonly #info: string
  readonly #exchanges = new Set<BridgedExchange>()
  readonly #asked = new Map<string, BridgedExchange>()
  #lastQuestion = 0
  #closed = false

  constructor(link: Link, live: Live, backend: Backend, options: BridgeOptions) {
    this.#link = link
    this.#live = live
    this.#options = options
    const { client } = live.record
    // Several clients share it, so that it may ask none of them.
    this.capabilities = backend.scope === 'shared' ? '{}' : toModern(client.capabilities, client.version)
    this.#info = client.info
    this.server = legacyServer(link.server)
  }

  get state(): LinkState | undefined {
    return this.#link.state
  }

  exchange(request: Message, call: Call): Exchange {
    const id = request.id!
    switch (request.method) {
      case 'ping':
      case 'logging/setLevel':
        // The level is kept in the session, and goes with its requests.
        return answered(makeResult(id, {}))
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return answered(makeError(id, -32601, 'the backend has no subscriptions'))
      case 'tasks/get':
      case 'tasks/result':
      case 'tasks/list':
      case 'tasks/cancel':
        return answered(makeError(id, -32601, 'the backend has no tasks of this revision'))
    }
    const exchange = new BridgedExchange(this, request, call, this.#options.rounds)
    this.#exchanges.add(exchange)
    return exchange
  }

  resume(): Exchange {
    return failed(new GatewayError('internal', 'a modern exchange cannot be resumed'))
  }

  /** Answers to what was asked on an exchange; notifications of clients mean nothing to a modern server. */
  async send(message: Message): Promise<void> {
    if (message.kind !== 'response' || message.id === undefined) return
    const exchange = this.#asked.get(message.id)
    this.#asked.delete(message.id)
    exchange?.answer(message)
  }

  listen(): void {}

  async close(): Promise<void> {
    this.#closed = true
    for (const exchange of [...this.#exchanges]) exchange.cancel('the session was closed')
  }

  /** Sends a round of a request. */
  begin(request: Message, call: Call): Exchange {
    if (this.#closed) return failed(new GatewayError('backend_unavailable', 'the link is closed'))
    const members: [string, string][] = [
      [clientKey, this.#info],
      [capabilitiesKey, this.capabilities]
    ]
    if (this.server.capabilities.logging !== undefined) {
      members.push([levelKey, JSON.stringify(this.#live.record.level ?? firstLevel)])
    }
    return this.#link.exchange(withMetas(request, members), call)
  }

  /** An id under which an exchange asks the client; its answer is given to the exchange. */
  number(exchange: BridgedExchange): string {
    const id = String(++this.#lastQuestion)
    this.#asked.set(id, exchange)
    return id
  }

  drop(id: string): void {
    this.#asked.delete(id)
  }

  over(exchange: BridgedExchange): void {
    this.#exchanges.delete(exchange)
  }
}

function answered(response: Message): Exchange {
  const queue = new Queue({ cancel() {}, detach() {} })
  queue.finish(response)
  return queue
}

function legacyServer({ capabilities, result }: Server): Server {
  const shown = toLegacy(capabilities)
  const value = { ...JSON.parse(result), protocolVersion: latestLegacy, capabilities: shown }
  return { version: latestLegacy, capabilities: shown, result: JSON.stringify(value) }
}
