/** The sessions of one instance, in memory. Time-outs are judged by the clock; one sweeper frees what nobody asks for. */
import type { Caps, SessionId, SessionRecord, SessionStore } from './session.ts'

interface Kept {
  record: SessionRecord
  /** Clock reading in milliseconds. */
  expires: number
}

/** The sweeper runs at most this often. */
const sweepMs = 1_000

export class MemorySessionStore implements SessionStore {
  readonly #now: () => number
  readonly #sessions = new Map<SessionId, Kept>()
  /** Sessions of each group; no entry for none. */
  readonly #groups = new Map<string, number>()
  /** Before this time nothing expires. */
  #earliest = Number.POSITIVE_INFINITY
  #sweeper: NodeJS.Timeout | undefined

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  async create(record: SessionRecord, ttlMs: number, caps: Caps): Promise<'created' | 'full' | 'group-full'> {
    if (this.#find(record.id) !== undefined) throw new Error('a session has this id already')
    const full = () => this.#sessions.size >= caps.total
    const groupFull = () => (this.#groups.get(record.group) ?? 0) >= caps.perGroup
    if (full() || groupFull()) this.#sweep()
    if (full()) return 'full'
    if (groupFull()) return 'group-full'
    this.#sessions.set(record.id, { record, expires: this.#until(ttlMs) })
    this.#groups.set(record.group, (this.#groups.get(record.group) ?? 0) + 1)
    this.#schedule()
    return 'created'
  }

  get(id: SessionId, ttlMs: number): ReturnType<SessionStore['get']> {
    const kept = this.#find(id)
    if (kept !== undefined) kept.expires = this.#until(ttlMs)
    return kept?.record
  }

  async has(id: SessionId): Promise<boolean> {
    return this.#find(id) !== undefined
  }

  async replace(previous: SessionRecord, next: SessionRecord): Promise<boolean> {
    if (next.id !== previous.id || next.group !== previous.group || next.revision !== previous.revision + 1) {
      throw new TypeError('a session is replaced by its own next revision')
    }
    const kept = this.#find(previous.id)
    if (kept === undefined || kept.record.revision !== previous.revision) return false
    kept.record = next
    return true
  }

  async delete(id: SessionId): Promise<boolean> {
    const kept = this.#find(id)
    if (kept !== undefined) this.#remove(kept.record)
    return kept !== undefined
  }

  async *list(route: string): AsyncIterable<SessionRecord> {
    for (const kept of this.#sessions.values()) {
      if (kept.record.route === route && kept.expires > this.#now()) yield kept.record
    }
  }

  async count(): Promise<number> {
    this.#sweep()
    return this.#sessions.size
  }

  async close(): Promise<void> {
    clearTimeout(this.#sweeper)
    this.#sweeper = undefined
    this.#sessions.clear()
    this.#groups.clear()
  }

  #until(ttlMs: number): number {
    const expires = this.#now() + ttlMs
    if (expires < this.#earliest) this.#earliest = expires
    return expires
  }

  #find(id: SessionId): Kept | undefined {
    const kept = this.#sessions.get(id)
    if (kept === undefined || kept.expires > this.#now()) return kept
    this.#remove(kept.record)
    return undefined
  }

  #remove(record: SessionRecord): void {
    this.#sessions.delete(record.id)
    const left = (this.#groups.get(record.group) ?? 0) - 1
    if (left > 0) this.#groups.set(record.group, left)
    else this.#groups.delete(record.group)
  }

  /** Looks at every session, but only when one may have expired since the last look. */
  #sweep(): void {
    const now = this.#now()
    if (now < this.#earliest) return
    let earliest = Number.POSITIVE_INFINITY
    for (const kept of this.#sessions.values()) {
      if (kept.expires <= now) this.#remove(kept.record)
      else if (kept.expires < earliest) earliest = kept.expires
    }
    this.#earliest = earliest
  }

  /** One timer for all sessions, none while there are none. */
  #schedule(): void {
    if (this.#sweeper !== undefined || this.#sessions.size === 0) return
    const wait = Math.max(sweepMs, this.#earliest - this.#now())
    this.#sweeper = setTimeout(
      () => {
        this.#sweeper = undefined
        this.#sweep()
        this.#schedule()
      },
      Math.min(wait, 0x7fffffff)
    ).unref()
  }
}
