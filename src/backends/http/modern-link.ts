/** What one opener has of a modern upstream. There is no conversation: it says who asks, and ends what was asked. */

import { GatewayError } from '../../errors.ts'
import type { Message } from '../../protocol/message.ts'
import type { Call, Exchange, Link, OpenOptions, Server, Upstream } from '../backend.ts'
import { failed } from '../queue.ts'
import { UnderWay } from '../under-way.ts'
import { unavailable } from './faults.ts'
import type { Modern } from './modern.ts'
import type { ModernExchange } from './modern-exchange.ts'

export class ModernHttpLink implements Link {
  readonly era = 'modern'
  readonly state: string
  readonly upstream: Upstream
  readonly #modern: Modern
  readonly #options: OpenOptions
  readonly #exchanges = new UnderWay<ModernExchange>()
  readonly #forget: () => void
  #over = false

  constructor(modern: Modern, options: OpenOptions) {
    this.#modern = modern
    this.#options = options
    this.state = modernState
    this.upstream = modern.upstream
    this.#forget = modern.onOver(() => this.#end())
  }

  get server(): Server {
    return this.#modern.server
  }

  renew(): Promise<void> {
    return this.#modern.renew()
  }

  exchange(request: Message, { named }: Call): Exchange {
    const { capabilities, info } = this.#options.client
    if (this.#over) return failed(this.#closed())
    const done = (ended: ModernExchange): void => void this.#exchanges.delete(ended)
    const exchange = this.#modern.exchange(request, { capabilities, info }, { named, done })
    if (!exchange.queue.over) this.#exchanges.add(exchange)
    return exchange.queue
  }

  resume(): Exchange {
    return failed(
      new GatewayError('internal', 'a modern exchange cannot be resumed', { backend: this.#modern.wire.name })
    )
  }

  async send(): Promise<void> {
    if (this.#over) throw this.#closed()
  }

  listen(): void {}

  async close(): Promise<void> {
    if (this.#over) return
    this.#over = true
    this.#forget()
    for (const { queue } of this.#exchanges.now()) queue.cancel()
  }

  /** What is under way may still end well; the next request is for whoever opens anew. */
  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#forget()
    this.#options.ended(this.#closed())
  }

  #closed(): GatewayError {
    return unavailable(this.#modern.wire.name, new Error('the link is closed'))
  }
}

/** What another instance opens it by: nothing has to be known. */
export const modernState = '{"era":"modern"}'
