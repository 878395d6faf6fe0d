/**
 * A stream log that every instance of the gateway sees. Whatever is appended or posted is one step at the server, which wakes
 * the readers of all instances; a reader that missed a signal is woken when its connection is there again.
 *
 * Data, facts and places are sealed: places hold the sessions of backends. A stream is bounded by `events` and `bytes`; `total` is
 * the server's own (`maxmemory`), which refuses what is too much. A stream that nobody ends, nor writes to, goes after a while.
 */
import { randomBytes } from 'node:crypto'
import type { InstanceId } from '../instances/presence.ts'
import type { Argument, Reply } from '../redis/connection.ts'
import type { Script } from '../redis/script.ts'
import type { Redis } from '../redis/store.ts'
import type { SessionId } from '../sessions/session.ts'
import { append, claim, end, ensure, give, open, post, purge, read, take } from './redis-scripts.ts'
import { StreamSeal } from './redis-seal.ts'
import {
  type AppendOptions,
  type Claimed,
  type Entry,
  type Facts,
  Fenced,
  Lost,
  type Place,
  type Slice,
  type StreamBounds,
  type StreamKey,
  type StreamLog,
  type Unwatch,
  type Writer
} from './stream-log.ts'

/** How long (ms) an open stream, or one of posts, is kept that nobody writes to or asks for. */
const unusedMs = 7 * 24 * 3_600_000

const unknown: Slice = { state: 'unknown', entries: [], last: 0, ended: false, facts: '' }

export class RedisStreamLog implements StreamLog {
  readonly #redis: Redis
  readonly #bounds: StreamBounds
  readonly #instance: InstanceId
  readonly #seal: StreamSeal
  readonly #watchers = new Set<Unwatch>()

  /** Whoever made `redis` closes it. */
  constructor(redis: Redis, bounds: StreamBounds, instance: InstanceId) {
    this.#redis = redis
    this.#bounds = bounds
    this.#instance = instance
    this.#seal = new StreamSeal(redis.sealer)
  }

  async open(key: StreamKey, facts: Facts, place?: Place): Promise<Writer> {
    const opening = randomBytes(9).toString('base64url')
    const given = [opening, this.#instance, this.#seal.seal(key, 'facts', facts), this.#seal.place(key, place)]
    if ((await this.#run(open, key, given)) !== 1) throw new Error(`the stream ${key.stream} is there already`)
    return this.#writer(key, opening, '0')
  }

  async post(key: StreamKey, data: Uint8Array, options?: AppendOptions): Promise<number> {
    const number = await this.#run(post, key, this.#entry(key, data, options))
    if (number === 0) throw new Error(`the stream ${key.stream} has one writer`)
    return Number(number)
  }

  async ensure(key: StreamKey): Promise<void> {
    await this.#run(ensure, key, [])
  }

  async read(key: StreamKey, after: number, limit: number): Promise<Slice> {
    const reply = await this.#redis.run(read, this.#keys(key), [`${after}`, `${limit}`])
    if (reply === null) return unknown
    const [last, ended, gone, facts, more, found, reader, given] = reply as Read
    if (after > last) return unknown
    const entries = found.map(entry => this.#read(key, entry)).filter(entry => entry !== undefined)
    const state: Slice['state'] = after < gone ? 'trimmed' : ended === 1 && more === 0 ? 'over' : 'entries'
    const slice = { state, entries, last, ended: ended === 1, facts: this.#seal.facts(key, facts) }
    return reader.length === 0 ? slice : { ...slice, taken: { reader: reader.toString(), given } }
  }

  async take(key: StreamKey, reader: string): Promise<boolean> {
    return (await this.#run(take, key, [reader])) === 1
  }

  async give(key: StreamKey, reader: string, number: number): Promise<void> {
    await this.#run(give, key, [reader, `${number}`])
  }

  async watch(key: StreamKey, wake: () => void): Promise<Unwatch> {
    const own = `s${key.stream}`
    const safe = (): void => {
      try {
        wake()
      } catch (error) {
        process.emitWarning(error as Error)
      }
    }
    const heard = (payload: string): void => {
      if (payload === own || payload === 'p') safe()
    }
    const unsubscribe = await this.#redis.signals.subscribe(this.#channel(key.session), heard, safe)
    const unwatch = async (): Promise<void> => {
      if (this.#watchers.delete(unwatch)) await unsubscribe()
    }
    this.#watchers.add(unwatch)
    return unwatch
  }

  async owner(key: StreamKey): Promise<InstanceId | undefined> {
    const reply = await this.#redis.send('HMGET', this.#keys(key)[0]!, 'owner', 'ended')
    const [owner, ended] = reply as [Buffer | null, Buffer | null]
    return owner === null || ended !== null ? undefined : owner.toString()
  }

  async claim(key: StreamKey, from: InstanceId, to: InstanceId): Promise<Claimed | undefined> {
    const reply = await this.#run(claim, key, [from, to])
    if (reply === null) return undefined
    const [opening, number, facts, place, last] = reply as [Buffer, Buffer, Buffer, Buffer, number]
    return {
      writer: this.#writer(key, opening.toString(), number.toString()),
      facts: this.#seal.facts(key, facts),
      place: this.#seal.open(key, 'place', place)?.toString(),
      last
    }
  }

  async purge(session: SessionId): Promise<void> {
    const streams = this.#redis.sessionKey(session, 'i')
    await this.#redis.run(purge, [streams], [this.#channel(session), this.#redis.sessionKey(session)])
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#watchers].map(unwatch => unwatch()))
  }

  #writer(key: StreamKey, opening: string, number: string): Writer {
    const run = async (script: Script, given: readonly Argument[]): Promise<Reply> => {
      const reply = await this.#run(script, key, [opening, number, ...given])
      if (!Array.isArray(reply)) return reply
      const [problem, owner] = reply.map(String)
      if (problem === 'lost') throw new Lost('the stream is gone')
      if (problem === 'fenced') throw new Fenced(`the stream was claimed by ${owner}`)
      return 'ended'
    }
    return {
      append: async (data, options) => {
        const reply = await run(append, [this.#seal.place(key, options?.place), ...this.#entry(key, data, options)])
        if (reply === 'ended') throw new Error('the stream has ended')
        return Number(reply)
      },
      end: async () => void (await run(end, [`${Math.ceil(this.#bounds.retainMs)}`]))
    }
  }

  #run(script: Script, key: StreamKey, given: readonly Argument[]): Promise<Reply> {
    return this.#redis.run(script, this.#keys(key), [this.#channel(key.session), key.stream, `${unusedMs}`, ...given])
  }

  #keys({ session, stream }: StreamKey): string[] {
    const own = this.#redis.sessionKey(session)
    return [`${own}m${stream}`, `${own}e${stream}`, `${own}x${stream}`, `${own}i`]
  }

  #channel(session: SessionId): string {
    return this.#redis.sessionKey(session, 'w')
  }

  #entry(key: StreamKey, data: Uint8Array, { label, expendable }: AppendOptions = {}): Argument[] {
    const { events, bytes } = this.#bounds
    return [
      this.#seal.seal(key, 'data', data),
      `${data.byteLength}`,
      label === undefined ? '' : `=${label}`,
      expendable === true ? '1' : '',
      `${events}`,
      `${bytes}`
    ]
  }

  /** One that cannot be opened is not there. */
  #read(key: StreamKey, entry: Reply): Entry | undefined {
    const [id, fields] = entry as [Buffer, Buffer[]]
    const data = this.#seal.open(key, 'data', fields[3]!)
    if (data === undefined) return undefined
    const number = Number.parseInt(id.toString(), 10)
    const label = fields[5]?.toString()
    return label === undefined ? { number, data } : { number, data, label }
  }
}

type Read = [
  last: number,
  ended: number,
  gone: number,
  facts: Buffer,
  more: number,
  entries: Reply[],
  reader: Buffer,
  given: number
]
