/**
 * A legacy link as modern requests see it: what their era has in `_meta` stays here, the upstream is told the log level that
 * the request wants, and what it asks of a client comes back as `input_required`.
 */

import type { Call, Exchange, Link, Server, Upstream } from '../backends/backend.ts'
import { Queue } from '../backends/queue.ts'
import { UnderWay } from '../backends/under-way.ts'
import { without } from '../protocol/edit.ts'
import { completed, settled } from '../protocol/envelope.ts'
import { makeError } from '../protocol/make.ts'
import { type Message, textMeta } from '../protocol/message.ts'
import { stringMeta } from '../protocol/meta.ts'
import {
  capabilitiesKey,
  interactive,
  levelKey,
  modernKeys,
  modernParams,
  ofTasks,
  roundParams,
  versionKey
} from '../protocol/modern.ts'
import { latestModern } from '../protocol/version.ts'
import type { LinkState, SessionRecord } from '../sessions/session.ts'
import type { Place } from '../streams/stream-log.ts'
import { type Asking, Interaction } from './interaction.ts'
import { legacyCapabilities } from './legacy-capabilities.ts'
import { hasState, notGood } from './origin.ts'

/** Undefined when the upstream was told before; else resolves when it was. Never rejects. */
type WantLevel = (level: string) => Promise<void> | undefined

export class ModernOverLegacy implements Link {
  readonly era = 'modern'
  readonly server: Server
  readonly upstream?: Upstream
  readonly #link: Link
  readonly #asking: Asking
  readonly #wantLevel: WantLevel
  /** Under way. */
  readonly #open = new UnderWay<Interaction>()

  constructor(link: Link, asking: Omit<Asking, 'link' | 'bridge' | 'over'>, wantLevel: WantLevel) {
    this.#link = link
    this.#asking = { ...asking, link, bridge: this, over: interaction => void this.#open.delete(interaction) }
    this.#wantLevel = wantLevel
    this.server = link.server
    if (link.upstream !== undefined) this.upstream = link.upstream
  }

  get state(): LinkState | undefined {
    return this.#link.state
  }

  exchange(request: Message, call: Call): Exchange {
    // Tasks of the two eras have nothing in common but their names.
    if (ofTasks.has(request.method!) && this.#link.knowsModern !== true) return unknown(request)
    const level = stringMeta(request, levelKey)
    const claimed = this.#asking.parked.resuming(call)
    if (claimed === undefined && hasState(request)) return notOurs(request.id!)
    const ready = both(level === undefined ? undefined : this.#wantLevel(level), this.#hear(request, level))
    if (claimed !== undefined) return claimed.interaction.again(request, call, claimed.answered, ready)
    const upstream = this.#link.knowsModern ? forBoth(request, this.#asking.live.record) : forLegacy(request)
    const begin = (): Exchange => this.#link.exchange(upstream, call)
    const inner = ready === undefined ? begin() : new Later(begin, ready)
    const interaction = new Interaction(inner, request, call, this.#asking)
    this.#open.add(interaction)
    return interaction
  }

  /**
   * What the upstream says beside its exchanges: that of the one call under way to which it can belong. False: there is none
   * such, or there are several, and nothing says which.
   */
  beside(message: Message): boolean {
    const isCancel = message.method === 'notifications/cancelled'
    const meant = this.#open.now().filter(({ origin }) => message.kind !== 'request' || origin !== undefined)
    if (meant.length !== 1 && !isCancel) return false
    for (const interaction of meant) interaction.beside(message)
    return true
  }

  /** Servers ask, and log, on another stream than that of the call, too. */
  #hear(request: Message, level: string | undefined): Promise<void> | undefined {
    if (this.#link.hear === undefined) return undefined
    const canBeAsked =
      interactive.has(request.method!) && legacyCapabilities(textMeta(request, capabilitiesKey) ?? '{}').inputs
    return canBeAsked || level !== undefined ? this.#link.hear() : undefined
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
}

/** When both are, where there is anything to wait for. */
function both(one: Promise<void> | undefined, other: Promise<void> | undefined): Promise<void> | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Promise.all([one, other]).then(() => {})
}

/** No state was made by a legacy server, and this one not by us. */
function notOurs(id: string): Exchange {
  const queue = new Queue({ cancel() {}, detach() {} })
  queue.fail(notGood('it was not made here', id))
  return queue
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

/** The request without what the bridge answers for; those that the gateway makes itself say who asks, as those of clients do. */
const forBoth = (request: Message, { client }: SessionRecord): Message => {
  const { params } = request.scanned
  const bare = params === undefined ? request : without(request, params, roundParams)
  return textMeta(request, versionKey) === undefined ? settled(completed(bare, latestModern, client)) : bare
}

/** An exchange that begins when `ready` resolves. */
class Later implements Exchange {
  readonly place = undefined
  readonly #begin: () => Exchange
  #ready: Promise<void> | undefined
  #exchange: Exchange | undefined
  #over = false

  constructor(begin: () => Exchange, ready: Promise<void>) {
    this.#begin = begin
    this.#ready = ready
  }

  async next(): Promise<IteratorResult<Message>> {
    if (this.#ready !== undefined) {
      await this.#ready
      this.#ready = undefined
      if (!this.#over) this.#exchange = this.#begin()
    }
    return (await this.#exchange?.next()) ?? { done: true, value: undefined }
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
