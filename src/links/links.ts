/** The links of this instance: each session finds its own, or the one that it shares, and lets go of them when it ends. */
import type { Backend, Link } from '../backends/backend.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { linkKey } from './key.ts'
import { type LinksOptions, Slot, sessionOver } from './slot.ts'

export type { LinksOptions } from './slot.ts'

export class Links {
  readonly #options: LinksOptions
  readonly #slots = new Map<string, Slot>()
  /** Keys of each session's links. */
  readonly #keys = new Map<Live, Set<string>>()
  /** Sessions that wait for what belongs to no exchange. */
  readonly #listening = new Set<Live>()

  constructor(options: LinksOptions) {
    this.#options = options
  }

  /** Links that are open, or wanted by a session. */
  get size(): number {
    return this.#slots.size
  }

  /** The link when it is open. */
  ready(live: Live, backend: Backend): Link | undefined {
    const slot = this.#slots.get(linkKey(backend, live.record.id))
    return slot?.users.has(live) === true ? slot.link : undefined
  }

  /** The link, opened when it is not. Rejects with the GatewayError of the opening; the next call tries again. */
  async get(live: Live, backend: Backend): Promise<Link> {
    if (live.closed) throw sessionOver()
    const key = linkKey(backend, live.record.id)
    let slot = this.#slots.get(key)
    if (slot === undefined) {
      slot = new Slot(backend, this.#options)
      this.#slots.set(key, slot)
    }
    if (!slot.users.has(live)) this.#use(live, key, slot)
    return slot.get(live)
  }

  /** The sessions that use the same link. */
  users(live: Live, backend: Backend): ReadonlySet<Live> {
    return this.#slots.get(linkKey(backend, live.record.id))?.users ?? nobody
  }

  /** Every open link of a session. */
  *of(live: Live): Iterable<{ link: Link; backend: Backend }> {
    for (const { link, backend } of this.#of(live)) if (link !== undefined) yield { link, backend }
  }

  /** Whether the session waits for what belongs to no exchange. */
  listen(live: Live, on: boolean): void {
    if (on) this.#listening.add(live)
    else this.#listening.delete(live)
    for (const slot of this.#of(live)) slot.listen(live, on)
  }

  /** The session is over: links that nobody uses any more are closed. */
  async release(live: Live): Promise<void> {
    this.#listening.delete(live)
    const keys = this.#keys.get(live) ?? []
    this.#keys.delete(live)
    await Promise.all([...keys].map(key => this.#leave(live, key)))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#keys.keys()].map(live => this.release(live)))
  }

  *#of(live: Live): Iterable<Slot> {
    for (const key of this.#keys.get(live) ?? []) yield this.#slots.get(key)!
  }

  #use(live: Live, key: string, slot: Slot): void {
    slot.users.add(live)
    if (this.#listening.has(live)) slot.listen(live, true)
    const keys = this.#keys.get(live)
    if (keys === undefined) this.#keys.set(live, new Set([key]))
    else keys.add(key)
  }

  async #leave(live: Live, key: string): Promise<void> {
    const slot = this.#slots.get(key)!
    const left = slot.leave(live)
    if (slot.users.size === 0) this.#slots.delete(key)
    await left
  }
}

const nobody: ReadonlySet<Live> = new Set()
