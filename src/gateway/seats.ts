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
}

export interface SeatsOptions {
  readonly sessions: Pick<Sessions, 'ephemeral'>
  /** What is said upstream of the client. */
  readonly self: Client
  /** Its upstream sessions are over. Must not throw. */
  readonly release: (live: Live) => void
  /** Whether calls of a caller share upstream sessions of the backend; undefined: those of callers that are told apart. */
  readonly pool: (backend: Backend) => 'principal' | 'call' | undefined
  readonly idleMs: number
  readonly now?: () => number
}

/** Seats at most; who was used least recently goes. */
export const maxSeats = 1_000

export class Seats {
  readonly #options: SeatsOptions
  readonly #now: () => number
  /** Least recently used first. */
  readonly #seats = new Map<string, Live>()
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
    const key = `${caller.route} ${caller.principal.key}`
    const live = this.#seats.get(key) ?? this.#live(caller)
    live.seen = this.#now()
    this.#seats.delete(key)
    this.#seats.set(key, live)
    if (this.#seats.size > maxSeats) this.#evict()
    return live
  }

  /** For one call, whose end is told with `release`. */
  stand(caller: Caller): Live {
    return this.#live(caller)
  }

  /** Hears what backends say outside of calls, of whatever era they are: to those of its own it is a session as any other. */
  ear(caller: Caller): Live {
    return this.#live(caller, 'legacy')
  }

  /** The call that a stand was made for is over. */
  release(live: Live): void {
    if (live.closed) return
    live.closed = true
    this.#options.release(live)
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
    this.release(live)
  }

  #live({ route, principal, address }: Caller, era: Era = 'modern'): Live {
    const record: SessionRecord = {
      id: Sessions.newId(),
      revision: 0,
      route,
      principal: principal.key,
      group: address,
      client: this.#options.self,
      operating: true,
      subscriptions: [],
      links: {}
    }
    return this.#options.sessions.ephemeral(record, era)
  }
}
