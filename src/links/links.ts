/** The links of this instance: each session finds its own, or the one that it shares, and lets go of them when it ends. */
import type { Backend, Link } from '../backends/backend.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { subscriptionsAt } from '../sessions/subscribed.ts'
import { facts } from '../telemetry/events.ts'
import { type LinksOptions, Slot, sessionOver } from './slot.ts'

export type { LinksOptions } from './slot.ts'

export class Links {
  readonly #options: LinksOptions
  /** Every call looks here: no keys are made of ids. */
  readonly #slots = new Map<Live, Map<Backend, Slot>>()
  /** Of backends that all sessions share. */
  readonly #shared = new Map<Backend, Slot>()
  /** Releases that are under way. */
  readonly #releasing = new Set<Promise<unknown>>()
  /** How many links of a backend are being left. */
  readonly #leaving = new Map<Backend, number>()
  /** Identities of backends that sessions are letting go of: what is noted of those links is not to be used again. */
  readonly #dropping = new Map<Live, Set<string>>()
  /** Sessions that wait for what belongs to no exchange. */
  readonly #listening = new Set<Live>()

  constructor(options: LinksOptions) {
    this.#options = options
  }

  /** Links that are open, or wanted by a session. */
  get size(): number {
    const slots = new Set(this.#shared.values())
    for (const own of this.#slots.values()) for (const slot of own.values()) slots.add(slot)
    return slots.size
  }

  /** The link when it is open, as the session sees it. */
  ready(live: Live, backend: Backend): Link | undefined {
    return this.#slots.get(live)?.get(backend)?.of(live)
  }

  /** The link, opened when it is not. Rejects with the GatewayError of the opening; the next call tries again. */
  async get(live: Live, backend: Backend): Promise<Link> {
    if (live.closed) throw sessionOver()
    return (this.#slots.get(live)?.get(backend) ?? this.#use(live, backend)).get(live)
  }

  /** The sessions that use the same link. */
  users(live: Live, backend: Backend): ReadonlySet<Live> {
    const slot = backend.scope === 'shared' ? this.#shared.get(backend) : this.#slots.get(live)?.get(backend)
    return slot?.users ?? nobody
  }

  /** Every open link of a session. */
  *of(live: Live): Iterable<{ link: Link; backend: Backend }> {
    for (const slot of this.#of(live)) {
      const link = slot.of(live)
      if (link !== undefined) yield { link, backend: slot.backend }
    }
  }

  /** Whether the session waits for what belongs to no exchange. */
  listen(live: Live, on: boolean): void {
    if (on) this.#listening.add(live)
    else this.#listening.delete(live)
    for (const slot of this.#of(live)) slot.listen(live, on)
  }

  /** Whether links of it are used, or being closed. */
  isUsed(backend: Backend): boolean {
    if (this.#leaving.has(backend) || this.#shared.has(backend)) return true
    for (const own of this.#slots.values()) if (own.has(backend)) return true
    return false
  }

  /** What sessions use, or open at this moment. */
  *uses(): Iterable<{ live: Live; backend: Backend; opening: boolean }> {
    for (const [live, own] of this.#slots) {
      for (const [backend, { opening }] of own) yield { live, backend, opening }
    }
  }

  /**
   * A backend takes the place of another: the sessions that use the one go on with the other, whose links are opened when
   * they are wanted; what was set is set again then.
   */
  succeed(live: Live, backend: Backend, successor: Backend): void {
    const slot = this.#slots.get(live)?.get(backend)
    if (slot === undefined || live.closed) return
    this.#use(live, successor).succeed()
  }

  /** The session uses the backend no more: a link that nobody uses any more is closed. */
  async drop(live: Live, backend: Backend): Promise<void> {
    const own = this.#slots.get(live)
    const slot = own?.get(backend)
    if (own === undefined || slot === undefined) return
    own.delete(backend)
    if (own.size === 0) this.#slots.delete(live)
    // What it asked the session is asked no more.
    const link = slot.of(live)
    if (link !== undefined) this.#options.lost(link, live)
    const { identity } = backend
    const dropping = this.#dropping.get(live) ?? new Set()
    this.#dropping.set(live, dropping.add(identity))
    try {
      await this.#released(this.#leave(live, slot))
      const state = link?.state
      if (state === undefined || live.record.links[identity] !== state) return
      await this.#options.sessions.update(live, ({ links: { [identity]: _, ...links } }) => ({ links }))
    } finally {
      dropping.delete(identity)
      if (dropping.size === 0) this.#dropping.delete(live)
    }
  }

  /** The session is over: links that nobody uses any more are closed. `stays`: it goes on at another instance. */
  async release(live: Live, stays = false): Promise<void> {
    this.#listening.delete(live)
    const slots = [...this.#of(live)]
    this.#slots.delete(live)
    await this.#released(Promise.all(slots.map(slot => this.#leave(live, slot, stays))))
  }

  /** The same for whoever has nothing to do with how that ends: never rejects, the operator is told. */
  async letGo(live: Live): Promise<void> {
    await this.release(live).catch((error: unknown) => {
      facts.notice.publish({ level: 'warn', text: 'an upstream session was not closed', error })
    })
  }

  /** Resolves once every link is closed, those of sessions that ended before too. */
  async close(): Promise<void> {
    const released = [...this.#slots.keys()].map(live => this.release(live))
    await Promise.all([...released, ...this.#releasing])
  }

  #of(live: Live): Iterable<Slot> {
    return this.#slots.get(live)?.values() ?? []
  }

  #use(live: Live, backend: Backend): Slot {
    let slot = backend.scope === 'shared' ? this.#shared.get(backend) : undefined
    slot ??= new Slot(backend, this.#options)
    if (backend.scope === 'shared') this.#shared.set(backend, slot)
    slot.users.add(live)
    if (live.record.level !== undefined) slot.joined()
    if (this.#listening.has(live)) slot.listen(live, true)
    const own = this.#slots.get(live)
    // It came back while the one that left is still used, or being closed; or later, to a session that subscribed then.
    const leaving =
      this.#dropping.get(live)?.has(backend.identity) ||
      [...(own?.values() ?? [])].some(other => other.backend.identity === backend.identity)
    if (leaving) slot.succeed(live.record.links[backend.identity])
    else if (subscriptionsAt(live.record, backend).length > 0) slot.succeed()
    if (own === undefined) this.#slots.set(live, new Map([[backend, slot]]))
    else own.set(backend, slot)
    return slot
  }

  async #released(releasing: Promise<unknown>): Promise<void> {
    this.#releasing.add(releasing)
    await releasing.finally(() => this.#releasing.delete(releasing))
  }

  async #leave(live: Live, slot: Slot, stays = false): Promise<void> {
    const { backend } = slot
    const left = slot.leave(live, stays)
    if (slot.users.size === 0 && this.#shared.get(backend) === slot) this.#shared.delete(backend)
    this.#leaving.set(backend, (this.#leaving.get(backend) ?? 0) + 1)
    try {
      await left
    } finally {
      const others = this.#leaving.get(backend)! - 1
      if (others > 0) this.#leaving.set(backend, others)
      else this.#leaving.delete(backend)
    }
  }
}

const nobody: ReadonlySet<Live> = new Set()
