/** Where the gateway asks whether a session has several backends, and tells what it hears of them. */
import type { Backend, Link } from '../backends/backend.ts'
import type { Links, LinksOptions } from '../links/links.ts'
import { makeNotification } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'
import type { Live, Sessions } from '../sessions/lifecycle.ts'
import { listChanges } from './list-changed.ts'
import { capabilityOf, ListNews } from './list-news.ts'
import type { Lists } from './lists.ts'
import { isListChanged } from './outgoing.ts'
import type { Route } from './route.ts'
import type { Union } from './union.ts'

export interface UnionsOptions {
  readonly lists: Lists
  readonly links: Links
  /** What is served at this moment. */
  readonly routes: { find(path: string): Route | undefined; all(): Iterable<Route> }
  readonly sessions: Pick<Sessions, 'locals'>
  readonly receive: LinksOptions['receive']
  /** Puts something on the session's channel. */
  readonly post: (live: Live, message: Message) => void
  /** A list of the backend could not be read. */
  readonly failed: (backend: Backend) => void
}

export class Unions {
  readonly #options: UnionsOptions
  readonly #news: ListNews

  constructor(options: UnionsOptions) {
    this.#options = options
    const { lists, links, routes, sessions, receive, post, failed } = options
    this.#news = new ListNews({ routes: () => routes.all(), sessions, post })
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

  /** A notification of a backend, before its sessions get it. */
  heard(message: Message, backend: Backend): void {
    const capability = isListChanged(message) ? capabilityOf(message.method!) : undefined
    if (capability !== undefined) this.#options.lists.invalidate(backend, capability)
  }

  /** What is said to a session that may have missed something: `list_changed` of what its client was told there is. */
  changes(live: Live): Message[] {
    if (this.of(live) !== undefined) return everyList()
    return [...this.#options.links.of(live)].flatMap(({ link }) => listChanges(link.server))
  }

  /** A link was opened anew after its upstream had lost it: what it lists may be something else. */
  reopened(link: Link, backend: Backend, users: ReadonlySet<Live>): void {
    this.#options.lists.invalidate(backend)
    for (const message of listChanges(link.server)) {
      for (const live of users) if (this.of(live) === undefined) this.#options.post(live, message)
    }
  }

  close(): void {
    this.#news.close()
  }
}

const everyList = (): Message[] =>
  ['tools', 'prompts', 'resources'].map(kind => makeNotification(`notifications/${kind}/list_changed`))
