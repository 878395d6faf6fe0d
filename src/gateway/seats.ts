/**
 * Who stands for requests of the modern era towards backends, which know sessions: a seat for each caller, kept while it is
 * used, and for calls that are to share nothing with others a stand of their own (decisions: "upstream sessions").
 */
import type { Principal } from '../auth/principal.ts'
import type { Backend } from '../backends/backend.ts'
import type { Era } from '../protocol/version.ts'
import { type Live, Sessions } from '../sessions/lifecycle.ts'
import type { Client, SessionRecord } from '../sessions/session.ts'

export interface Caller {
  readonly route: string
  readonly principal: Principal
  readonly address: string
  /** What is declared upstream, JSON text. */
  readonly capabilities: string
}

export interface SeatsOptions {
  readonly sessions: Pick<Sessions, 'ephemeral'>
  /** What is said upstream of the client. */
  readonly self: Client
  /** Its upstream sessions are over. Resolves when they are closed; never rejects. */
  readonly release: (live: Live) => Promise<void>
  /** Whether calls of a caller share upstream sessions of the backend; undefined: those of callers that are told apart. */
  readonly pool: (backend: Backend) => 'principal' | 'call' | undefined
  readonly idleMs: number
  /** Whoever nobody used since then (ms) is given up. */
  readonly swept?: (before: number) => void
  readonly now?: () => number
}

/** Seats at most; who was used least recently goes. */
export const maxSeats = 1_000

export class Seats {
  readonly #options: SeatsOptions
  readonly #now: () => number
  /** Least recently used first. */
  readonly #seats = new Map<string, Live>()
  /** The last one that was asked for: most calls are of who called before. */
  #latest: { readonly caller: Caller; readonly live: Live } | undefined
  /** By route and principal: whose seat is the home. */
  readonly #homes = new Map<string, Caller>()
  /** How many things need a stand, and what happens when none does. */
  readonly #stands = new Map<Live, { holds: number; readonly free: () => void }>()
  readonly #sweeper: NodeJS.Timeout

  constructor(options: SeatsOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#sweeper = setInterval(() => this.sweep(), Math.max(50, Math.min(30_000, options.idleMs / 3)))
    this.#sweeper.unref()
  }

  get size(): number {
    return this.#seats.size
  }

  /** The caller's seat. */
  seat(caller: Caller): Live {
    const latest = this.#latest
    if (latest !== undefined && !latest.live.closed && isSame(latest.caller, caller)) {
      latest.live.seen = this.#now()
      return latest.live
    }
    const key = keyOf(caller)
    const live = this.#seats.get(key) ?? this.#live(caller)
    live.seen = this.#now()
    this.#latest = { caller, live }
    this.#seats.delete(key)
    this.#seats.set(key, live)
    if (this.#seats.size > maxSeats) this.#evict()
    return live
  }

  /** One seat of the caller, the same whatever a request declares: for what must not depend on that. */
  home(caller: Caller): Live {
    const of = homeOf(caller.route, caller.principal.key)
    const first = this.#homes.get(of) ?? caller
    this.#homes.set(of, first)
    return this.seat(first)
  }

  /** For one call, until it is dropped; then `free`, by default its end. `live`: one that was free is needed again. */
  stand(caller: Caller, free?: () => void, live: Live = this.#live(caller)): Live {
    live.seen = this.#now()
    this.#stands.set(live, { holds: 1, free: free ?? (() => void this.release(live)) })
    return live
  }

  /** Hears what backends say outside of calls, of whatever era they are: to those of its own it is a session as any other. */
  ear(caller: Omit<Caller, 'capabilities'>): Live {
    return this.#live({ ...caller, capabilities: '{}' }, 'legacy')
  }

  /** Something beside its call needs it too: a seat is not idle, a stand stays. */
  readonly hold = (live: Live): void => {
    const stand = this.#stands.get(live)
    if (stand === undefined) live.busy++
    else stand.holds++
  }

  /** Who held it, or took the stand, needs it no more. */
  readonly drop = (live: Live): void => {
    const stand = this.#stands.get(live)
    if (stand === undefined) {
      live.busy--
    } else if (--stand.holds === 0) {
      this.#stands.delete(live)
      live.seen = this.#now()
      stand.free()
    }
  }

  /** What it stood for is over. Resolves when its upstream sessions are closed; never rejects. */
  async release(live: Live): Promise<void> {
    if (live.closed) return
    live.closed = true
    await this.#options.release(live)
  }

  /** Whether calls to the backend go by the seat. */
  pools(backend: Backend, { principal }: Caller): boolean {
    if (backend.scope === 'shared') return true
    return (this.#options.pool(backend) ?? (principal.subject === undefined ? 'call' : 'principal')) === 'principal'
  }

  /** Gives up the seats that nobody used for a while. */
  sweep(): void {
    const before = this.#now() - this.#options.idleMs
    for (const [key, live] of this.#seats) if (live.busy === 0 && live.seen < before) this.#leave(key, live)
    this.#options.swept?.(before)
  }

  close(): void {
    clearInterval(this.#sweeper)
    for (const [key, live] of this.#seats) this.#leave(key, live)
  }

  #evict(): void {
    for (const [key, live] of this.#seats) {
      if (live.busy > 0) continue
      this.#leave(key, live)
      return
    }
  }

  #leave(key: string, live: Live): void {
    this.#seats.delete(key)
    const { route, principal } = live.record
    const of = homeOf(route, principal)
    const home = this.#homes.get(of)
    if (home !== undefined && keyOf(home) === key) this.#homes.delete(of)
    void this.release(live)
  }

  #live({ route, principal, address, capabilities }: Caller, era: Era = 'modern'): Live {
    const record: SessionRecord = {
      id: Sessions.newId(),
      revision: 0,
      route,
      principal: principal.key,
      group: address,
      client: { ...this.#options.self, capabilities },
      operating: true,
      subscriptions: [],
      links: {}
    }
    return this.#options.sessions.ephemeral(record, era)
  }
}

const homeOf = (route: string, principal: string): string => `${route} ${principal}`

/** Whether both have one key. */
const isSame = (one: Caller, other: Caller): boolean =>
  one.route === other.route && one.principal.key === other.principal.key && one.capabilities === other.capabilities

const keyOf = ({ route, principal, capabilities }: Caller): string => `${homeOf(route, principal.key)} ${capabilities}`
