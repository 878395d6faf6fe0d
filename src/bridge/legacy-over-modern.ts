/**
 * A modern upstream as a legacy session sees it: a conversation that remembers what the session said of itself, and says it
 * with every request (decisions: "Upstream eras and the bridges").
 */

import type { Backend, Call, Exchange, Link, Server, Upstream } from '../backends/backend.ts'
import { failed, Queue } from '../backends/queue.ts'
import { UnderWay } from '../backends/under-way.ts'
import { GatewayError, toGatewayError } from '../errors.ts'
import { withMetas } from '../protocol/envelope.ts'
import { listKinds } from '../protocol/list-kinds.ts'
import { makeError, makeResult } from '../protocol/make.ts'
import { type Message, stringParam } from '../protocol/message.ts'
import { capabilitiesKey, clientKey, levelKey } from '../protocol/modern.ts'
import { latestLegacy } from '../protocol/version.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { LinkState } from '../sessions/session.ts'
import { subscriptionsAt } from '../sessions/subscribed.ts'
import { facts } from '../telemetry/events.ts'
import { BridgedExchange, type Questions } from './bridged-exchange.ts'
import type { Listening, Member } from './listening.ts'
import { toLegacy, toModern } from './older-capabilities.ts'

/** What a client hears that never said how much it wants to hear (server/utilities/logging: the server decides then). */
const firstLevel = 'info'

export interface BridgeOptions {
  /** How often one request may come back for input. Read when it is used: it may change. */
  readonly rounds: number
  /** Where what the upstream says outside of calls comes from; undefined: nowhere. */
  readonly listening: (upstream: Upstream, backend: string) => Listening
  /** What belongs to no exchange. */
  readonly receive: (message: Message, link: Link, backend: Backend, users: ReadonlySet<Live>) => void
  /** Whether changes of its lists are heard for the session, from now on. */
  readonly heard: (backend: Backend, live: Live, on: boolean) => void
}

export class LegacyOverModern implements Link, Questions, Member {
  readonly era = 'legacy'
  readonly server: Server
  readonly #link: Link
  readonly #live: Live
  readonly #options: BridgeOptions
  /** JSON texts: what the session's client can do, and who it is. */
  readonly capabilities: string
  readonly #info: string
  readonly #exchanges = new UnderWay<BridgedExchange>()
  readonly #asked = new Map<string, BridgedExchange>()
  readonly #listening: Listening | undefined
  readonly #backend: Backend
  /** What it is told of. */
  readonly lists = new Set<string>()
  readonly uris = new Set<string>()
  #lastQuestion = 0
  #closed = false
  /** Changes of lists are heard. */
  #hears = false
  /** The upstream lost its side: another link takes the place of this one. */
  #retired = false

  constructor(link: Link, live: Live, backend: Backend, options: BridgeOptions) {
    this.#link = link
    this.#live = live
    this.#options = options
    const { client } = live.record
    // Several clients share it, so that it may ask none of them.
    this.capabilities = backend.scope === 'shared' ? '{}' : toModern(client.capabilities, client.version)
    this.#info = client.info
    this.server = legacyServer(link.server)
    this.#backend = backend
    this.#listening = link.upstream && options.listening(link.upstream, backend.name)
    // Of a link that was there before, here or elsewhere.
    for (const uri of subscriptionsAt(live.record, backend)) this.uris.add(uri)
    if (this.uris.size > 0) this.#changed()
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
        return this.#subscribe(request)
      case 'resources/unsubscribe':
        this.uris.delete(stringParam(request, 'uri') ?? '')
        this.#changed()
        return answered(makeResult(id, {}))
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

  listen(on: boolean): void {
    this.lists.clear()
    if (on) for (const list of listsOf(this.#link.server)) this.lists.add(list)
    this.#changed()
  }

  tell(message: Message): void {
    this.#options.receive(message, this, this.#backend, new Set([this.#live]))
  }

  /** Nothing is heard any more; what is under way goes on. */
  retire(): void {
    this.#retired = true
    this.#listening?.leave(this)
    this.#heard(false)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.retire()
    for (const exchange of this.#exchanges.now()) exchange.cancel('the session was closed')
  }

  #changed(): void {
    if (this.#retired) return
    if (this.lists.size === 0) this.#heard(false)
    if (this.lists.size + this.uris.size === 0) this.#listening?.leave(this)
    else {
      this.#listening?.changed(this).then(
        () => this.#heard(this.lists.size > 0 && !this.#retired),
        (error: unknown) => this.#unheard(error)
      )
    }
  }

  #heard(on: boolean): void {
    if (this.#hears === on) return
    this.#hears = on
    this.#options.heard(this.#backend, this.#live, on)
  }

  #unheard(error: unknown): void {
    const text = 'changes of the backend are not heard'
    facts.notice.publish({ level: 'warn', text, backend: this.#backend.name, error })
  }

  #subscribe(request: Message): Exchange {
    const uri = stringParam(request, 'uri')
    if (uri === undefined) return answered(makeError(request.id, -32602, 'params.uri must be a string'))
    const queue = new Queue({ cancel() {}, detach() {} })
    const before = this.uris.has(uri)
    this.uris.add(uri)
    const listening = this.#listening
    const refuse = (): void => {
      if (!before) this.uris.delete(uri)
      this.#changed()
    }
    void Promise.resolve(listening?.changed(this)).then(
      () => {
        if (listening?.honours(uri) === true) {
          queue.finish(makeResult(request.id!, {}))
          return
        }
        refuse()
        queue.finish(makeError(request.id, -32602, 'the backend does not tell of changes of this resource', { uri }))
      },
      (error: unknown) => {
        refuse()
        queue.fail(toGatewayError(error))
      }
    )
    return queue
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

/** Lists whose changes the server tells. */
const listsOf = ({ capabilities }: Server): string[] =>
  Object.keys(listKinds).filter(
    name => (capabilities[name] as { readonly listChanged?: unknown } | null | undefined)?.listChanged === true
  )

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
