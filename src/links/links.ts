/**
 * The links of this instance: opened once however many ask, reopened from the session's record, opened again when the
 * upstream lost its side, closed with the last session that uses them.
 */
import type { Backend, Link } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import type { Message } from '../protocol/message.ts'
import type { Live, Sessions } from '../sessions/lifecycle.ts'
import type { Client } from '../sessions/session.ts'
import { facts } from '../telemetry/events.ts'
import { linkKey } from './key.ts'

export interface LinksOptions {
  readonly sessions: Sessions
  /** Who the gateway is towards shared backends. */
  readonly self: Client
  /** Messages that belong to no exchange. `users`: the sessions of the link. */
  readonly receive: (message: Message, link: Link, backend: Backend, users: ReadonlySet<Live>) => void
  /** A link was opened again after its upstream lost it: what was set before is set again. */
  readonly reopened: (link: Link, backend: Backend, users: ReadonlySet<Live>) => Promise<void>
}

interface Entry {
  readonly backend: Backend
  readonly users: Set<Live>
  readonly listeners: Set<Live>
  link: Link | undefined
  opening: Promise<Link> | undefined
  abort: AbortController | undefined
  /** The upstream lost its side: the next opening restores. */
  lost: boolean
}

export class Links {
  readonly #options: LinksOptions
  readonly #entries = new Map<string, Entry>()
  /** Keys of each session's links. */
  readonly #keys = new Map<Live, Set<string>>()

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
        lost: false
      }
      this.#entries.set(key, entry)
    }
    this.#use(live, key, entry)
    if (entry.link !== undefined) return entry.link
    entry.opening ??= this.#open(entry, live)
    return entry.opening
  }

  /** The sessions that use the same link. */
  users(live: Live, backend: Backend): Iterable<Live> {
    return this.#entries.get(linkKey(backend, live.record.id))?.users ?? []
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
    for (const key of this.#keys.get(live) ?? []) {
      const entry = this.#entries.get(key)
      if (entry === undefined) continue
      const before = entry.listeners.size
      if (on) entry.listeners.add(live)
      else entry.listeners.delete(live)
      if (before === 0 && entry.listeners.size > 0) entry.link?.listen(true)
      if (before > 0 && entry.listeners.size === 0) entry.link?.listen(false)
    }
  }

  /** The session is over: links that nobody uses any more are closed. */
  async release(live: Live): Promise<void> {
    const keys = this.#keys.get(live)
    if (keys === undefined) return
    this.#keys.delete(live)
    await Promise.all([...keys].map(key => this.#leave(live, key)))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#keys.keys()].map(live => this.release(live)))
  }

  /** Open links per backend. */
  count(backend: Backend): number {
    let count = 0
    for (const entry of this.#entries.values()) if (entry.backend === backend && entry.link !== undefined) count++
    return count
  }

  #use(live: Live, key: string, entry: Entry): void {
    if (entry.users.has(live)) return
    entry.users.add(live)
    const keys = this.#keys.get(live)
    if (keys === undefined) this.#keys.set(live, new Set([key]))
    else keys.add(key)
  }

  async #leave(live: Live, key: string): Promise<void> {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    entry.users.delete(live)
    if (entry.listeners.delete(live) && entry.listeners.size === 0) entry.link?.listen(false)
    if (entry.users.size > 0) return
    this.#entries.delete(key)
    entry.abort?.abort(new GatewayError('session', 'the session is over'))
    await entry.link?.close()
  }

  async #open(entry: Entry, live: Live): Promise<Link> {
    const { backend, users } = entry
    const shared = backend.scope === 'shared'
    const state = entry.lost || shared ? undefined : live.record.links[backend.identity]
    const abort = new AbortController()
    entry.abort = abort
    let link: Link | undefined
    let ended: Error | undefined
    const early: Message[] = []
    try {
      link = await backend.open({
        principal: { key: live.record.principal },
        client: shared ? this.#options.self : live.record.client,
        ...(state === undefined ? {} : { state }),
        signal: abort.signal,
        receive: message => {
          if (entry.link === undefined) early.push(message)
          else this.#options.receive(message, entry.link, backend, users)
        },
        ended: reason => {
          ended = reason
          this.#lose(entry, link, reason)
        }
      })
      if (users.size === 0 || abort.signal.aborted) {
        await link.close()
        throw new GatewayError('session', 'the session is over')
      }
      if (entry.lost) await this.#options.reopened(link, backend, users)
      if (ended !== undefined)
        throw new GatewayError('backend_broke', 'the backend broke off', { backend: backend.name, cause: ended })
      entry.lost = false
      entry.link = link
      if (entry.listeners.size > 0) link.listen(true)
      await this.#remember(entry, live, link)
      for (const message of early) this.#options.receive(message, link, backend, users)
      return link
    } finally {
      entry.opening = undefined
      entry.abort = undefined
    }
  }

  /** What another instance needs to reopen it goes into the session's record. */
  async #remember(entry: Entry, live: Live, link: Link): Promise<void> {
    const { state } = link
    const { identity, scope } = entry.backend
    if (state === undefined || scope === 'shared' || live.record.links[identity] === state) return
    await this.#options.sessions.update(live, record => ({ links: { ...record.links, [identity]: state } }))
  }

  #lose(entry: Entry, link: Link | undefined, reason: Error): void {
    entry.lost = true
    if (entry.link !== link || link === undefined) return
    entry.link = undefined
    facts.notice.publish({
      level: 'info',
      text: 'the backend lost a session',
      backend: entry.backend.name,
      error: reason
    })
  }
}
