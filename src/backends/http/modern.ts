/** A Streamable HTTP upstream of the modern era, for all of its links: stateless, a POST for each request. */
import { asInitializeResult, type Discovered } from '../../protocol/discovered.ts'
import { type Asking, completed } from '../../protocol/envelope.ts'
import { makeRequest } from '../../protocol/make.ts'
import { isError, type Message, textOf } from '../../protocol/message.ts'
import { latestModern } from '../../protocol/version.ts'
import type { Server, Upstream } from '../backend.ts'
import { legHeaders } from './headers.ts'
import { ModernExchange, type ModernHome, type ModernRequest } from './modern-exchange.ts'
import { ToolHeaders } from './tool-headers.ts'
import type { Wire } from './wire.ts'

/** How long (ms) a call waits for the list of tools that says which headers it needs. */
const listMs = 10_000
/** After a list that could not be read no call waits for one, milliseconds. */
const pauseMs = 30_000
/** Of a list. */
const maxPages = 100

export class Modern implements ModernHome {
  readonly wire: Wire
  readonly tools: ToolHeaders
  /** Who the gateway is, for requests of its own. */
  readonly self: Asking
  /** The gateway asks. */
  readonly upstream: Upstream = { exchange: request => this.exchange(request, this.self).queue }
  readonly recheck: (() => Promise<boolean>) | undefined
  /** Asks what it is, when what it said does not hold any more. */
  readonly renew: () => Promise<void>
  #met: { readonly discovered: Discovered; readonly server: Server } | undefined
  readonly #listeners = new Set<() => void>()
  #post: readonly string[] = []
  #nextId = 1
  #reading: Promise<void> | undefined
  #pausedUntil = 0

  /** `recheck` asks for its era again: whether that is still the modern one; undefined where it is settled. */
  constructor(
    wire: Wire,
    self: Asking,
    headers: Readonly<Record<string, string>>,
    recheck: (() => Promise<boolean>) | undefined,
    renew: () => Promise<void>
  ) {
    this.renew = renew
    this.wire = wire
    this.self = self
    this.tools = new ToolHeaders(wire.name)
    this.recheck = recheck && (() => this.#recheck(recheck))
    this.tune(headers)
  }

  /** What it said last. */
  get server(): Server {
    return this.#met!.server
  }

  /** It said what it is. */
  meet(discovered: Discovered): void {
    if (this.#met?.discovered === discovered) return
    const { version, capabilities, text, at } = discovered
    const result = asInitializeResult(discovered, this.wire.name)
    this.#met = { discovered, server: { version, capabilities, result, discovered: text, discoveredAt: at } }
  }

  get post(): readonly string[] {
    return this.#post
  }

  tune(headers: Readonly<Record<string, string>>): void {
    this.#post = legHeaders(headers, undefined, latestModern).post
  }

  /** Tells of the moment in which it turns out to be of the other era; the function returned stops that. */
  onOver(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `more.done`: it ended, whatever way. */
  exchange(request: Message, asking: Asking, more: Pick<ModernRequest, 'named' | 'done'> = {}): ModernExchange {
    return this.#start(request, asking, more)
  }

  /** A question about the upstream itself. */
  probe(request: Message): ModernExchange['queue'] {
    return this.#start(request, this.self, { probe: true }).queue
  }

  async #recheck(ask: () => Promise<boolean>): Promise<boolean> {
    // Who cannot be asked is taken for what it was.
    const isModern = await ask().catch(() => true)
    if (!isModern) for (const listener of [...this.#listeners]) listener()
    return isModern
  }

  async readTools(): Promise<void> {
    if (this.wire.clock.now() < this.#pausedUntil) return
    this.#reading ??= this.#readTools().finally(() => {
      this.#reading = undefined
    })
    await this.#reading
  }

  async #readTools(): Promise<void> {
    const deadline = this.wire.clock.now() + Math.min(listMs, this.wire.timeout)
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page++) {
      const params = cursor === undefined ? undefined : { cursor }
      const response = await this.#ask(makeRequest('0', 'tools/list', params), deadline - this.wire.clock.now())
      if (response === undefined) break
      const { nextCursor } = JSON.parse(textOf(response.source, response.scanned.top, 'result')!) as {
        nextCursor?: unknown
      }
      if (typeof nextCursor !== 'string') {
        this.tools.seenAll()
        return
      }
      if (nextCursor === cursor) break
      cursor = nextCursor
    }
    this.#pausedUntil = this.wire.clock.now() + pauseMs
  }

  /** Undefined: no result in time. */
  async #ask(request: Message, ms: number): Promise<Message | undefined> {
    const { queue } = this.exchange(request, this.self)
    const stop = this.wire.clock.after(ms, () => queue.cancel())
    try {
      for await (const message of queue) {
        if (message.kind === 'response') return isError(message) ? undefined : message
      }
    } catch {
      // The call that waits is sent all the same, and fails by itself.
    } finally {
      stop()
    }
    return undefined
  }

  #start(request: Message, asking: Asking, options: Pick<ModernRequest, 'named' | 'probe' | 'done'>): ModernExchange {
    const exchange = new ModernExchange(this, {
      request: completed(request, latestModern, asking),
      callerId: request.id!,
      id: String(this.#nextId++),
      ...options
    })
    exchange.start()
    return exchange
  }
}
