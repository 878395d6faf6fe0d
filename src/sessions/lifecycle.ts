/** Sessions as one instance sees them: made, found, changed, ended, expired (basic/transports, "Session Management"). */
import { createHash, randomBytes } from 'node:crypto'
import { GatewayError } from '../errors.ts'
import type { Era } from '../protocol/version.ts'
import { facts } from '../telemetry/events.ts'
import { answer } from './answer.ts'
import type { Caps, SessionId, SessionRecord, SessionStore } from './session.ts'

/** What this instance knows of a session that it has seen. */
export interface Live {
  record: SessionRecord
  /** Milliseconds of the clock. */
  readonly opened: number
  seen: number
  /** Open streams and calls in flight: while there are any the session is not idle. */
  busy: number
  closed: boolean
  /** Not in the store: one request without a session. */
  readonly ephemeral: boolean
  /** It stands for requests of the modern era, which have no session. */
  readonly modern?: true
  /** {@link sessionHash} of its id, once somebody asked. */
  hash?: string
}

export type CloseReason = 'deleted' | 'expired' | 'refused' | 'removed' | 'shutdown' | 'left'
export type OnClosed = (live: Live, reason: CloseReason) => void

/** Read when they are used: they may change. */
export interface LifecycleOptions {
  readonly store: SessionStore
  readonly idleMs: number
  readonly caps: Caps
  readonly now?: () => number
}

/** How often records that lose a compare-and-set are tried again. */
const attempts = 20

export class Sessions {
  readonly #options: LifecycleOptions
  readonly #now: () => number
  readonly #live = new Map<SessionId, Live>()
  readonly #listeners: OnClosed[] = []
  readonly #onChanged: ((live: Live) => void)[] = []
  #sweeper: NodeJS.Timeout | undefined
  #sweeping = false
  /** Sessions that ended here so far. */
  #ended = 0

  constructor(options: LifecycleOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.retime()
  }

  /** Sweeps as often as `idleMs` asks for now. */
  retime(): void {
    clearInterval(this.#sweeper)
    const every = Math.max(50, Math.min(30_000, this.#options.idleMs / 3))
    this.#sweeper = setInterval(() => void this.sweep(), every).unref()
  }

  onClosed(listener: OnClosed): void {
    this.#listeners.push(listener)
  }

  /** Called when a record was changed here. */
  onChanged(listener: (live: Live) => void): void {
    this.#onChanged.push(listener)
  }

  /** 192 bits from the system's generator, base64url. */
  static newId(): SessionId {
    return randomBytes(24).toString('base64url')
  }

  /** Throws GatewayError `full` (503, Retry-After) when a cap is reached, `store` (503) when the store does not answer. */
  async create(record: SessionRecord): Promise<Live> {
    const outcome = await answer(this.#options.store.create(record, this.#options.idleMs, this.#options.caps))
    if (outcome !== 'created') {
      const text = outcome === 'full' ? 'too many sessions are open' : 'too many sessions of this caller are open'
      throw new GatewayError('full', text, { headers: { 'retry-after': '30' } })
    }
    return this.#adopt(record)
  }

  /** A session for one request that has none; never in the store. `close` it afterwards. */
  ephemeral(record: SessionRecord, era: Era = 'legacy'): Live {
    const now = this.#now()
    const live = { record, opened: now, seen: now, busy: 0, closed: false, ephemeral: true }
    return era === 'modern' ? { ...live, modern: true } : live
  }

  /**
   * The session, when it exists on this route for this principal. One store operation; a promise only where the store gives one.
   * Throws, or rejects with, GatewayError `store`.
   */
  get(id: SessionId, route: string, principal: string): Promise<Live | undefined> | Live | undefined {
    const asked = this.#options.store.get(id, this.#options.idleMs)
    return asked instanceof Promise
      ? this.#answered(asked, id, route, principal)
      : this.#found(asked, id, route, principal)
  }

  async #answered(
    asked: ReturnType<SessionStore['get']>,
    id: SessionId,
    route: string,
    principal: string
  ): Promise<Live | undefined> {
    for (;;) {
      const ended = this.#ended
      const record = await answer(asked)
      // The one that ended while the store was asked may be this one.
      if (record === undefined || this.#live.has(id) || this.#ended === ended) {
        return this.#found(record, id, route, principal)
      }
      asked = this.#options.store.get(id, this.#options.idleMs)
    }
  }

  #found(record: SessionRecord | undefined, id: SessionId, route: string, principal: string): Live | undefined {
    const live = this.#live.get(id)
    if (record === undefined) {
      if (live !== undefined) this.#forget(live, 'expired')
      return undefined
    }
    if (record.route !== route || record.principal !== principal) return undefined
    if (live === undefined) return this.#adopt(record)
    if (record.revision > live.record.revision) live.record = record
    live.seen = this.#now()
    return live
  }

  /** The session as this instance has it, without a look at the store. */
  local(id: SessionId): Live | undefined {
    return this.#live.get(id)
  }

  *locals(): Iterable<Live> {
    yield* this.#live.values()
  }

  readonly list = (route: string): AsyncIterable<SessionRecord> => this.#options.store.list(route)

  readonly count = (): Promise<number> => this.#options.store.count()

  /** Changes the record; `change` may run several times. False when the session is gone. Throws GatewayError `store`. */
  async update(live: Live, change: (record: SessionRecord) => Partial<SessionRecord>): Promise<boolean> {
    if (live.ephemeral) {
      live.record = { ...live.record, ...change(live.record) }
      return true
    }
    for (let i = 0; i < attempts; i++) {
      const previous = live.record
      const next = { ...previous, ...change(previous), revision: previous.revision + 1 }
      if (await answer(this.#options.store.replace(previous, next))) {
        live.record = next
        for (const listener of this.#onChanged) listener(live)
        return true
      }
      const now = await answer(this.#options.store.get(live.record.id, this.#options.idleMs))
      if (now === undefined) return false
      live.record = now
    }
    throw new GatewayError('internal', 'the session record changes too often')
  }

  /** Ends a session, here in any case. Throws GatewayError `store` when the store still has it. */
  async close(live: Live, reason: CloseReason): Promise<void> {
    try {
      if (!live.ephemeral) await answer(this.#options.store.delete(live.record.id))
    } finally {
      this.#forget(live, reason)
    }
  }

  /** Another instance changed it, or ended it: its record is read again when it is known here. Rejects with GatewayError `store`. */
  async refresh(id: SessionId): Promise<Live | undefined> {
    const live = this.#live.get(id)
    if (live === undefined) return undefined
    const record = await answer(this.#options.store.get(id, this.#options.idleMs))
    if (record === undefined) this.#forget(live, 'deleted')
    else if (record.revision > live.record.revision) live.record = record
    return live.closed ? undefined : live
  }

  /** It goes on, at other instances. */
  leave(live: Live): void {
    this.#forget(live, 'left')
  }

  /** Ends what is left of sessions that the store no longer has; keeps those that are in use. */
  async sweep(): Promise<void> {
    if (this.#sweeping) return
    this.#sweeping = true
    try {
      for (const live of this.#live.values()) {
        if (live.seen + this.#options.idleMs / 2 > this.#now()) continue
        if (!(await this.#isThere(live))) this.#forget(live, 'expired')
      }
    } catch (error) {
      facts.notice.publish({ level: 'warn', text: 'the session store does not answer', error })
    } finally {
      this.#sweeping = false
    }
  }

  stop(): void {
    clearInterval(this.#sweeper)
  }

  /** A session in use is refreshed. */
  async #isThere(live: Live): Promise<boolean> {
    if (live.busy === 0) return this.#options.store.has(live.record.id)
    const there = (await this.#options.store.get(live.record.id, this.#options.idleMs)) !== undefined
    live.seen = this.#now()
    return there
  }

  #adopt(record: SessionRecord): Live {
    const now = this.#now()
    const live: Live = { record, opened: now, seen: now, busy: 0, closed: false, ephemeral: false }
    this.#live.set(record.id, live)
    return live
  }

  #forget(live: Live, reason: CloseReason): void {
    if (live.closed) return
    live.closed = true
    this.#ended++
    this.#live.delete(live.record.id)
    for (const listener of this.#listeners) listener(live, reason)
  }
}

/** What logs show of a session's id. */
export function sessionHash(live: Live): string {
  live.hash ??= createHash('sha256').update(live.record.id).digest('hex').slice(0, 12)
  return live.hash
}
