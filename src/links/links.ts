/**
 * The links of this instance: opened once however many ask, reopened from the session's record, opened again when the
 * upstream lost its side, closed with the last session that uses them.
 */
import type { Backend, Link } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import type { Message } from '../protocol/message.ts'
import type { Live, Sessions } from '../sessions/lifecycle.ts'
import type { Client, LinkState } from '../sessions/session.ts'
import { facts } from '../telemetry/events.ts'
import { linkKey } from './key.ts'

export interface LinksOptions {
  readonly sessions: Pick<Sessions, 'update'>
  /** Who the gateway is towards shared backends. */
  readonly self: Client
  /** Messages that belong to no exchange. `users`: the sessions of the link. */
  readonly receive: (message: Message, link: Link, backend: Backend, users: ReadonlySet<Live>) => void
  /** The upstream lost its side of a link. */
  readonly lost: (link: Link, users: ReadonlySet<Live>) => void
  /** A link was opened again after that: what was set before is set again. Never rejects. */
  readonly reopened: (link: Link, backend: Backend, users: ReadonlySet<Live>) => Promise<void>
}

interface Entry {
  readonly backend: Backend
  readonly users: Set<Live>
  readonly listeners: Set<Live>
  link: Link | undefined
  opening: Promise<Link> | undefined
  abort: AbortController | undefined
  /** The upstream lost its side: the next opening restores. With the state that is worth nothing any more. */
  lost: { readonly state: LinkState | undefined } | undefined
}

export class Links {
  readonly #options: LinksOptions
  readonly #entries = new Map<string, Entry>()
  /** Keys of each session's links. */
  readonly #keys = new Map<Live, Set<string>>()
  /** Sessions that wait for what belongs to no exchange. */
  readonly #listening = new Set<Live>()

  constructor(options: LinksOptions) {
    this.#options = options
  }

  /** The link when it is open. */
  ready(live: Live, backend: Backend): Link | undefined {
    const entry = this.#entries.get(linkKey(backend, live.record.id))
    return entry?.users.has(live) === true ? entry.link : undefined
  }

  /** The link, opened when it is not. Rejects with the GatewayError of the opening; the next call tries again. */
  async get(live: Live, backend: Backend): Promise<Link> {
    if (live.closed) throw sessionOver()
    const key = linkKey(backend, live.record.id)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = {
        backend,
        users: new Set(),
        listeners: new Set(),
        link: undefined,
        opening: undefined,
        abort: undefined,
        lost: undefined
      }
      this.#entries.set(key, entry)
    }
    this.#use(live, key, entry)
    if (entry.link !== undefined) return entry.link
    entry.opening ??= this.#open(entry, live)
    return entry.opening
  }

  /** The sessions that use the same link. */
  users(live: Live, backend: Backend): ReadonlySet<Live> {
    return this.#entries.get(linkKey(backend, live.record.id))?.users ?? nobody
  }

  /** Every open link of a session. */
  *of(live: Live): Iterable<{ link: Link; backend: Backend }> {
    for (const key of this.#keys.get(live) ?? []) {
      const entry = this.#entries.get(key)
      if (entry?.link !== undefined) yield { link: entry.link, backend: entry.backend }
    }
  }

  /** Whether the session waits for what belongs to no exchange. */
  listen(live: Live, on: boolean): void {
    if (on) this.#listening.add(live)
    else this.#listening.delete(live)
    for (const key of this.#keys.get(live) ?? []) this.#hear(this.#entries.get(key)!, live, on)
  }

  /** The session is over: links that nobody uses any more are closed. */
  async release(live: Live): Promise<void> {
    this.#listening.delete(live)
    const keys = this.#keys.get(live)
    if (keys === undefined) return
    this.#keys.delete(live)
    await Promise.all([...keys].map(key => this.#leave(live, key)))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#keys.keys()].map(live => this.release(live)))
  }

  /** Links that are open, or wanted by a session that is. */
  get size(): number {
    return this.#entries.size
  }

  #use(live: Live, key: string, entry: Entry): void {
    if (entry.users.has(live)) return
    entry.users.add(live)
    const keys = this.#keys.get(live)
    if (keys === undefined) this.#keys.set(live, new Set([key]))
    else keys.add(key)
    if (this.#listening.has(live)) this.#hear(entry, live, true)
  }

  #hear(entry: Entry, live: Live, on: boolean): void {
    const before = entry.listeners.size
    if (on) entry.listeners.add(live)
    else entry.listeners.delete(live)
    const after = entry.listeners.size
    if ((before === 0) !== (after === 0)) entry.link?.listen(after > 0)
  }

  async #leave(live: Live, key: string): Promise<void> {
    const entry = this.#entries.get(key)!
    entry.users.delete(live)
    this.#hear(entry, live, false)
    if (entry.users.size > 0) return
    this.#entries.delete(key)
    entry.abort?.abort(sessionOver())
    await entry.link?.close()
  }

  async #open(entry: Entry, live: Live): Promise<Link> {
    const { backend, users, lost } = entry
    const shared = backend.scope === 'shared'
    const known = shared ? undefined : live.record.links[backend.identity]
    // Unlike the state that was lost, it is what another instance opened since.
    const state = lost === undefined || known !== lost.state ? known : undefined
    const abort = new AbortController()
    entry.abort = abort
    const early: Message[] = []
    let link: Link | undefined
    let over: Error | undefined
    try {
      link = await backend.open({
        principal: { key: live.record.principal },
        client: shared ? this.#options.self : live.record.client,
        ...(state === undefined ? {} : { state }),
        signal: abort.signal,
        receive: message => {
          if (link === undefined) early.push(message)
          else this.#options.receive(message, link, backend, users)
        },
        ended: reason => {
          over = reason
          entry.lost = { state: link === undefined ? state : link.state }
          if (link !== undefined) this.#lose(entry, link, reason)
        }
      })
      for (const message of early) this.#options.receive(message, link, backend, users)
      if (users.size > 0) await this.#remember(entry, live, link)
      if (lost !== undefined && state === undefined && users.size > 0) {
        await this.#options.reopened(link, backend, users)
      }
      if (users.size === 0) {
        await link.close()
        throw sessionOver()
      }
      if (over !== undefined) {
        throw new GatewayError('backend_broke', `backend "${backend.name}" broke off`, {
          backend: backend.name,
          cause: over
        })
      }
      entry.lost = undefined
      entry.link = link
      if (entry.listeners.size > 0) link.listen(true)
      return link
    } finally {
      entry.opening = undefined
      entry.abort = undefined
    }
  }

  /** What another instance needs to reopen it goes into the session's record. */
  async #remember(entry: Entry, live: Live, { state }: Link): Promise<void> {
    const { identity, scope, name } = entry.backend
    if (state === undefined || scope === 'shared' || live.record.links[identity] === state) return
    try {
      await this.#options.sessions.update(live, record => ({ links: { ...record.links, [identity]: state } }))
    } catch (error) {
      facts.notice.publish({ level: 'warn', text: 'a link could not be noted for others', backend: name, error })
    }
  }

  #lose(entry: Entry, link: Link, error: Error): void {
    const { backend, users } = entry
    this.#options.lost(link, users)
    if (entry.link !== link) return
    entry.link = undefined
    facts.notice.publish({ level: 'info', text: 'the backend lost a session', backend: backend.name, error })
    // Who subscribed waits for news without a call that would open it again. One try: the next is that call.
    const [subscriber] = [...users].filter(({ record }) => record.subscriptions.length > 0)
    if (subscriber !== undefined) setImmediate(() => void this.get(subscriber, backend).catch(() => {}))
  }
}

const nobody: ReadonlySet<Live> = new Set()

const sessionOver = (): GatewayError => new GatewayError('session', 'the session is over')
