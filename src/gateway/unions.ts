/** Where the gateway asks whether a session has several backends, and tells what it hears of them. */
import type { Backend, Link, Server } from '../backends/backend.ts'
import { isBusy } from '../backends/busy.ts'
import type { Links, LinksOptions } from '../links/links.ts'
import { makeNotification } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import type { Live, Sessions } from '../sessions/lifecycle.ts'
import { subscriptionsAt } from '../sessions/subscribed.ts'
import { listChanges } from './list-changed.ts'
import { kinds } from './list-items.ts'
import { capabilityOf, ListNews } from './list-news.ts'
import type { Lists } from './lists.ts'
import { isListChanged } from './outgoing.ts'
import type { Route } from './route.ts'
import { type Succession, succeeded } from './succession.ts'
import type { Union } from './union.ts'
import { refusedName } from './unknown-name.ts'

export interface UnionsOptions {
  readonly lists: Lists
  readonly links: Links
  /** What is served at this moment. */
  readonly routes: { find(path: string): Route | undefined; all(): Iterable<Route> }
  readonly sessions: Pick<Sessions, 'locals'>
  readonly receive: LinksOptions['receive']
  /** Puts something on the session's channel. */
  readonly post: (live: Live, message: Message) => void
  /** Whether the session's channel is open. */
  readonly isListening: (live: Live) => boolean
  /** A list of the backend could not be read. */
  readonly failed: (backend: Backend) => void
}

const doubtMs = 1_000

/** Links opened at once for those who wait. */
const atOnce = 32

export class Unions {
  readonly #options: UnionsOptions
  readonly #news: ListNews
  /** When a list of theirs was last found to be old. */
  readonly #doubted = new WeakMap<Backend, number>()

  constructor(options: UnionsOptions) {
    this.#options = options
    const { lists, links, routes, sessions, receive, post, failed } = options
    this.#news = new ListNews({
      routes: () => routes.all(),
      sessions,
      linked: (live, backend) => links.ready(live, backend) !== undefined,
      post
    })
    lists.use({
      links,
      receive,
      changed: (backend, kind, said) => this.#news.changed(backend, kind, said),
      failed
    })
  }

  /** What the session's backends are together; undefined where it has one, which is served as it is. */
  of(live: Live): Union | undefined {
    return this.#options.routes.find(live.record.route)?.union
  }

  /**
   * A session listens: each of its backends may have something to say. One that hangs, or cannot be reached, is looked for by
   * others.
   */
  listen(live: Live): void {
    const { lists, links, failed } = this.#options
    for (const { backend } of this.of(live)?.members ?? []) {
      if (lists.known.late(backend)) continue
      links.get(live, backend).catch((error: unknown) => {
        if (live.closed || isBusy(error)) return
        lists.known.waited(backend)
        failed(backend)
      })
    }
  }

  /** A notification of a backend, before its sessions get it. */
  heard(message: Message, backend: Backend): void {
    const capability = isListChanged(message) ? capabilityOf(message.method!) : undefined
    if (capability !== undefined) this.#options.lists.invalidate(backend, capability)
  }

  /** A response of a backend: when it does not know what it listed, the list is read again, once a second at most. */
  answered(response: Message, request: Message, live: Live, backend: Backend): void {
    const kind = refusedName(response, request)
    if (kind === undefined || this.of(live) === undefined) return
    const now = performance.now()
    if (now - (this.#doubted.get(backend) ?? Number.NEGATIVE_INFINITY) < doubtMs) return
    this.#doubted.set(backend, now)
    this.#options.lists.invalidate(backend, kind.capability, false)
  }

  /** What is said to a session that may have missed something: `list_changed` of what its client was told there is. */
  changes(live: Live): Message[] {
    const union = this.of(live)
    const servers = [...this.#options.links.of(live)].map(({ link }) => link.server)
    return union === undefined ? servers.flatMap(listChanges) : this.#changesOf(union, servers)
  }

  /** The route of these sessions took the place of another. Resolves when those are told that need no reading. */
  succeeded(lives: readonly Live[], succession: Succession): Promise<void> {
    const { lists, links, post } = this.#options
    const changes = (live: Live): Message[] => this.changes(live)
    return succeeded(lives, succession, { known: lists.known, links, news: this.#news, changes, post })
  }

  /** A link was opened anew after its upstream had lost it: what it lists may be something else. */
  reopened(link: Link, backend: Backend, users: ReadonlySet<Live>): void {
    this.#options.lists.invalidate(backend)
    for (const message of listChanges(link.server)) {
      for (const live of users) if (this.of(live) === undefined) this.#options.post(live, message)
    }
  }

  /**
   * A backend that was away can be reached: its lists are read again. Sessions that wait for news of it, without a call that
   * would open their link again, have it opened.
   */
  async back(backend: Backend): Promise<void> {
    const { lists, links, sessions, isListening } = this.#options
    lists.invalidate(backend)
    const waiting = [...sessions.locals()].filter(
      live =>
        this.of(live)?.has(backend) === true &&
        links.ready(live, backend) === undefined &&
        (isListening(live) || subscriptionsAt(live.record, backend).length > 0)
    )
    for (let i = 0; i < waiting.length; i += atOnce) {
      await Promise.allSettled(waiting.slice(i, i + atOnce).map(live => links.get(live, backend)))
    }
  }

  /** `servers`: what left the route a moment ago may still be linked. */
  #changesOf({ members }: Union, servers: readonly Server[]): Message[] {
    const { known } = this.#options.lists
    const there = (name: string): boolean =>
      members.some(({ backend }) => known.has(backend, name) !== false) ||
      servers.some(({ capabilities }) => capabilities[name] !== undefined)
    return capabilities.filter(there).map(name => makeNotification(`notifications/${name}/list_changed`))
  }

  close(): void {
    this.#news.close()
  }
}

const capabilities = [...new Set(Object.values(kinds).map(({ capability }) => capability))]
