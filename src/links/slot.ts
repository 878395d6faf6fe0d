/** Where one link stands: the sessions that use it, and the link once it is open; opened again when the upstream lost its side. */
import type { Backend, Link } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import type { Message } from '../protocol/message.ts'
import { eraOf } from '../sessions/era.ts'
import type { Live, Sessions } from '../sessions/lifecycle.ts'
import type { Client, LinkState } from '../sessions/session.ts'
import { subscriptionsAt } from '../sessions/subscribed.ts'
import { facts } from '../telemetry/events.ts'

export interface LinksOptions {
  readonly sessions: Pick<Sessions, 'update'>
  /** Who the gateway is towards shared backends. */
  readonly self: Client
  /** Messages that belong to no exchange. `users`: the sessions of the link. */
  readonly receive: (message: Message, link: Link, backend: Backend, users: ReadonlySet<Live>) => void
  /** The upstream lost its side of a link, which this user saw like that. */
  readonly lost: (link: Link, live: Live) => void
  /** A link was opened, or a user that has a log level joined an open one. `restored`: what was set before was set again. Must not throw. */
  readonly opened?: (link: Link, backend: Backend, users: ReadonlySet<Live>, restored: boolean) => void
  /**
   * A link was opened again after that, or in the place of another backend's: what was set before is set again. Never
   * rejects. `told`: the users heard already that lists may have changed.
   */
  readonly reopened: (link: Link, backend: Backend, users: ReadonlySet<Live>, told: boolean) => Promise<void>
  /** What the upstream said outside of exchanges was not heard for a while. Must not throw. */
  readonly missed?: (backend: Backend, users: ReadonlySet<Live>) => void
  /** Whether what the upstream says outside of exchanges is heard for this session, from now on. Must not throw. */
  readonly heard?: (backend: Backend, live: Live, on: boolean) => void
  /** A link that is, or whose user is, of the modern era, as the user sees it. Made once for each link and user. */
  readonly bridged?: (link: Link, live: Live, backend: Backend) => Link
}

export class Slot {
  readonly backend: Backend
  readonly users = new Set<Live>()
  readonly #options: LinksOptions
  readonly #listeners = new Set<Live>()
  #link: Link | undefined
  /** As each of its users sees it. */
  #bridged = new WeakMap<Live, Link>()
  #opening: Promise<Link> | undefined
  #abort: AbortController | undefined
  /** The upstream lost its side, and with it this state: the next opening restores. */
  #lost: { readonly state: LinkState | undefined; readonly told?: true } | undefined

  constructor(backend: Backend, options: LinksOptions) {
    this.backend = backend
    this.#options = options
  }

  /** Another user came. */
  joined(): void {
    if (this.#link !== undefined) this.#options.opened?.(this.#link, this.backend, this.users, false)
  }

  /** The link when it is open, as this user sees it. */
  of(live: Live): Link | undefined {
    const link = this.#link
    return link === undefined ? undefined : this.#seen(link, live)
  }

  get opening(): boolean {
    return this.#opening !== undefined
  }

  /**
   * It takes the place of another backend's, whose users heard of that: what they had set is set again. `state`: of a link
   * that is somebody else's, so that this one begins anew.
   */
  succeed(state?: LinkState): void {
    if (this.#link === undefined) this.#lost ??= { state, told: true }
  }

  /** The link, opened for this user when it is not. Rejects with the GatewayError of the opening; the next call tries again. */
  async get(live: Live): Promise<Link> {
    if (this.#link !== undefined) return this.#seen(this.#link, live)
    this.#opening ??= this.#open(live)
      .catch((error: unknown) => {
        // It was given up: that says nothing of the backend.
        throw this.users.size === 0 ? sessionOver() : error
      })
      .finally(() => {
        this.#opening = undefined
        this.#abort = undefined
      })
    return this.#seen(await this.#opening, live)
  }

  /** Whether this user waits for what belongs to no exchange. */
  listen(live: Live, on: boolean): void {
    const before = this.#listeners.size
    if (on) this.#listeners.add(live)
    else this.#listeners.delete(live)
    const after = this.#listeners.size
    if (this.#link === undefined) return
    if ((before === 0) !== (after === 0)) this.#link.listen(after > 0)
    this.#bridge(live)?.listen(on)
  }

  /** After the last one the link is closed, or its opening given up. `stays`: another instance goes on with it where it can. */
  async leave(live: Live, stays = false): Promise<void> {
    this.users.delete(live)
    this.listen(live, false)
    await this.#bridge(live)?.close()
    if (this.users.size > 0) return
    this.#abort?.abort(sessionOver())
    await this.#link?.close(stays)
  }

  /** What a legacy user has of the open link, when that is a modern one: without a conversation the bridge has it. */
  #bridge(live: Live): Link | undefined {
    return this.#link?.era === 'modern' && eraOf(live) === 'legacy' ? this.of(live) : undefined
  }

  #seen(link: Link, live: Live): Link {
    const { bridged } = this.#options
    if (bridged === undefined || (link.era === 'legacy' && eraOf(live) === 'legacy')) return link
    let seen = this.#bridged.get(live)
    if (seen === undefined) {
      seen = bridged(link, live, this.backend)
      this.#bridged.set(live, seen)
    }
    return seen
  }

  async #open(live: Live): Promise<Link> {
    const { identity, scope } = this.backend
    const known = scope === 'shared' ? undefined : live.record.links[identity]
    // Unlike the state that was lost, it is what another instance opened since.
    const state = this.#lost === undefined || known !== this.#lost.state ? known : undefined
    const link = await this.#openAs(live, state)
    // Another instance opened one at the same time, and was first: the session has that one.
    return typeof link === 'string' ? ((await this.#openAs(live, link)) as Link) : link
  }

  /** Resolves to the state of another link when the session has got that meanwhile; not when it was opened from a state. */
  async #openAs(live: Live, state: LinkState | undefined): Promise<Link | LinkState> {
    const { backend, users } = this
    const { receive, reopened, self } = this.#options
    const lost = this.#lost
    const shared = backend.scope === 'shared'
    const before = live.record.links[backend.identity]
    this.#abort = new AbortController()
    const early: Message[] = []
    let link: Link | undefined
    let over: Error | undefined
    link = await backend.open({
      principal: { key: live.record.principal },
      client: shared ? self : live.record.client,
      ...(state === undefined ? {} : { state }),
      signal: this.#abort.signal,
      receive: message => {
        if (link === undefined) early.push(message)
        else receive(message, link, backend, users)
      },
      ended: reason => {
        over = reason
        if (link !== undefined) this.#lose(link, reason)
      },
      missed: () => this.#options.missed?.(backend, users),
      heard: on => this.#options.heard?.(backend, live, on)
    })
    if (over !== undefined) throw this.#lostAtOnce(link, over)
    for (const message of early) receive(message, link, backend, users)
    if (users.size > 0 && !shared) {
      const other = await this.#remember(live, link, before, state === undefined)
      if (other !== undefined) {
        await link.close()
        return other
      }
    }
    const restored = users.size > 0 && lost !== undefined && state === undefined
    if (restored) await reopened(link, backend, users, lost.told === true)
    if (users.size === 0) {
      await link.close()
      throw sessionOver()
    }
    if (over !== undefined) throw this.#lostAtOnce(link, over)
    this.#lost = undefined
    this.#link = link
    this.#bridged = new WeakMap()
    this.#options.opened?.(link, backend, users, restored)
    if (this.#listeners.size > 0) link.listen(true)
    for (const listener of this.#listeners) this.#bridge(listener)?.listen(true)
    return link
  }

  /**
   * What another instance needs to reopen it goes into the session's record. `fresh`: unless another one stands there now than
   * `before`: resolves to that.
   */
  async #remember(
    live: Live,
    { state }: Link,
    before: LinkState | undefined,
    fresh: boolean
  ): Promise<LinkState | undefined> {
    const { identity, name } = this.backend
    if (state === undefined || live.record.links[identity] === state) return undefined
    let other: LinkState | undefined
    try {
      await this.#options.sessions.update(live, ({ links }) => {
        other = fresh && links[identity] !== before ? links[identity] : undefined
        return other === undefined ? { links: { ...links, [identity]: state } } : {}
      })
    } catch (error) {
      facts.notice.publish({ level: 'warn', text: 'a link could not be noted for others', backend: name, error })
    }
    return other
  }

  /** It ended before it could be used. */
  #lostAtOnce(link: Link, cause: Error): GatewayError {
    const { name } = this.backend
    this.#lost = { state: link.state }
    return new GatewayError('backend_broke', `backend "${name}" broke off`, { backend: name, cause })
  }

  #lose(link: Link, error: Error): void {
    const { backend, users } = this
    this.#lost = { state: link.state }
    for (const live of users) this.#options.lost(this.#seen(link, live), live)
    if (this.#link !== link) return
    this.#link = undefined
    facts.notice.publish({ level: 'info', text: 'the backend lost a session', backend: backend.name, error })
    // Who subscribed waits for news without a call that would open it again. One try: the next is that call.
    const [subscriber] = [...users].filter(({ record }) => subscriptionsAt(record, backend).length > 0)
    if (subscriber === undefined) return
    setImmediate(() => {
      if (users.has(subscriber)) this.get(subscriber).catch(() => {})
    })
  }
}

export const sessionOver = (): GatewayError => new GatewayError('session', 'the session is over')
