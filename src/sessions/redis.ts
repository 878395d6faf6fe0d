/**
 * Sessions that every instance of the gateway sees. A record is one value, sealed whole: its id opens the session, its links those
 * of the backends. It lives by the server's time.
 *
 * What counts against the caps is an index, in a slot of its own. The record is the truth: an entry whose time is over is asked
 * for its record before it counts as gone, so that a call costs one command, which leaves the index alone.
 */
import { digest, type Redis } from '../redis/store.ts'
import { facts } from '../telemetry/events.ts'
import { due, replace, reserve, settle, unreserve } from './redis-scripts.ts'
import type { Caps, SessionId, SessionRecord, SessionStore } from './session.ts'

/** Entries of the index looked at in one step. */
const page = 500
/** Records read at once while they are listed. */
const chunk = 20
/** How long (ms) a place is kept for a record that does not come. */
const graceMs = 10_000

export class RedisSessionStore implements SessionStore {
  readonly #redis: Redis
  readonly #index: string
  #told = false

  /** Whoever made `redis` closes it. */
  constructor(redis: Redis) {
    this.#redis = redis
    this.#index = redis.key('{sessions}')
  }

  async create(record: SessionRecord, ttlMs: number, caps: Caps): Promise<'created' | 'full' | 'group-full'> {
    const member = memberOf(record)
    let outcome = await this.#reserve(member, ttlMs, caps)
    if (outcome === 'full' || outcome === 'group-full') {
      if (!(await this.#sweep())) return outcome
      outcome = await this.#reserve(member, ttlMs, caps)
      if (outcome === 'full' || outcome === 'group-full') return outcome
    }
    try {
      const made = await this.#redis.send('SET', this.#key(record.id), this.#write(record), 'NX', 'PX', whole(ttlMs))
      if (made !== null) return 'created'
    } catch (error) {
      void this.#unreserve(member).catch(ignore)
      throw error
    }
    // `known`: the place is that of the one that is there.
    if (outcome === 'reserved') await this.#unreserve(member).catch(ignore)
    throw new Error('a session has this id already')
  }

  async get(id: SessionId, ttlMs: number): Promise<SessionRecord | undefined> {
    return this.#read(id, await this.#redis.send('GETEX', this.#key(id), 'PX', whole(ttlMs)))
  }

  async has(id: SessionId): Promise<boolean> {
    return (await this.#redis.send('EXISTS', this.#key(id))) === 1
  }

  async replace(previous: SessionRecord, next: SessionRecord): Promise<boolean> {
    if (next.id !== previous.id || next.group !== previous.group || next.revision !== previous.revision + 1) {
      throw new TypeError('a session is replaced by its own next revision')
    }
    const given = [head(previous.revision), this.#write(next)]
    return (await this.#redis.run(replace, [this.#key(next.id)], given)) === 1
  }

  async delete(id: SessionId): Promise<boolean> {
    const found = await this.#redis.send('GETDEL', this.#key(id))
    const record = this.#read(id, found)
    // Its place is free later all the same when this fails.
    if (record !== undefined) await this.#unreserve(memberOf(record)).catch(ignore)
    return found !== null
  }

  async *list(route: string): AsyncIterable<SessionRecord> {
    const seen = new Set<string>()
    const wanted = digest(route)
    let cursor = '0'
    do {
      const [next, pairs] = (await this.#redis.send('ZSCAN', this.#index, cursor, 'COUNT', `${page}`)) as [
        Buffer,
        (Buffer | number)[]
      ]
      cursor = next.toString()
      const names = pairs
        .filter((_, i) => i % 2 === 0)
        .map(partsOf)
        .filter(([name, of]) => of === wanted && !seen.has(name))
        .map(([name]) => name)
      for (let i = 0; i < names.length; i += chunk) yield* this.#records(names.slice(i, i + chunk), seen)
    } while (cursor !== '0')
  }

  async count(): Promise<number> {
    await this.#sweep()
    return Number(await this.#redis.send('ZCARD', this.#index))
  }

  async close(): Promise<void> {}

  #key(id: SessionId): string {
    return this.#redis.sessionKey(id)
  }

  #write(record: SessionRecord): Buffer {
    const sealed = this.#redis.sealer.sealBytes(purpose(digest(record.id)), JSON.stringify(record))
    return Buffer.concat([Buffer.from(head(record.revision)), sealed])
  }

  #read(id: SessionId, value: unknown): SessionRecord | undefined {
    const record = this.#open(digest(id), value)
    return record?.id === id ? record : undefined
  }

  #open(name: string, value: unknown): SessionRecord | undefined {
    if (!Buffer.isBuffer(value)) return undefined
    const opened = this.#redis.sealer.openBytes(purpose(name), value.subarray(value.indexOf(0x0a) + 1))
    if (opened !== undefined) return JSON.parse(opened.toString()) as SessionRecord
    if (!this.#told) {
      const text = 'a stored session cannot be read: do all instances have the same secrets.key?'
      facts.notice.publish({ level: 'error', text })
    }
    this.#told = true
    return undefined
  }

  async *#records(names: readonly string[], seen: Set<string>): AsyncIterable<SessionRecord> {
    const values = await Promise.all(names.map(name => this.#redis.send('GET', this.#redis.key(`{${name}}`))))
    for (const [i, value] of values.entries()) {
      const record = this.#open(names[i]!, value)
      if (record !== undefined && !seen.has(names[i]!)) yield record
      seen.add(names[i]!)
    }
  }

  #reserve(member: string, ttlMs: number, { total, perGroup }: Caps): Promise<string> {
    const keys = [this.#index, this.#index + groupOf(member)]
    const given = [member, whole(Math.min(ttlMs, graceMs)), `${total}`, `${perGroup}`]
    return this.#redis.run(reserve, keys, given).then(String)
  }

  #unreserve(member: string): Promise<unknown> {
    return this.#redis.run(unreserve, [this.#index, this.#index + groupOf(member)], [member])
  }

  /** Looks after the entries whose time is over. Resolves to whether any went. */
  async #sweep(): Promise<boolean> {
    let gone = false
    for (;;) {
      const members = ((await this.#redis.run(due, [this.#index], [`${page}`])) as Buffer[]).map(String)
      if (members.length === 0) return gone
      const left = await Promise.all(
        members.map(member => this.#redis.send('PTTL', this.#redis.key(`{${partsOf(member)[0]}}`)))
      )
      const given = members.flatMap((member, i) => [member, groupOf(member), `${left[i]}`])
      await this.#redis.run(settle, [this.#index], given)
      gone ||= left.some(ms => Number(ms) < 0)
    }
  }
}

const memberOf = ({ id, route, group }: SessionRecord): string => `${digest(id)} ${digest(route)} ${digest(group)}`

/** Digests of id, route and group. */
const partsOf = (member: unknown): [string, string, string] => {
  const [name = '', route = '', group = ''] = `${member}`.split(' ')
  return [name, route, group]
}

/** What is behind the key of the index in that of a group. */
const groupOf = (member: string): string => `g${partsOf(member)[2]}`

const purpose = (name: string): string => `session ${name}`

/** In front of the sealed record, for scripts to compare. */
const head = (revision: number): string => `${revision}\n`

const whole = (ms: number): string => `${Math.max(1, Math.ceil(ms))}`

const ignore = (): void => {}
