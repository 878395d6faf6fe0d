/** A stream log in memory of which single operations fail, or wait, when a test says so. */
import { MemoryStreamLog } from '../../src/streams/memory.ts'
import type {
  AppendOptions,
  Claimed,
  Facts,
  Place,
  Slice,
  StreamBounds,
  StreamKey,
  StreamLog,
  Unwatch,
  Writer
} from '../../src/streams/stream-log.ts'

export type Operation = 'open' | 'post' | 'ensure' | 'read' | 'watch' | 'append' | 'end' | 'take' | 'give' | 'purge'

const plenty: StreamBounds = { events: 1_000, bytes: 1 << 22, total: 1 << 26, retainMs: 600_000 }

export class FaultyLog implements StreamLog {
  readonly memory: MemoryStreamLog
  /** Operations that reject. */
  readonly failing = new Set<Operation>()
  /** How often each was asked for. */
  readonly asked: Partial<Record<Operation, number>> = {}
  /** Watches that were not ended. */
  watches = 0
  /** When set, reads wait for it. */
  gate: Promise<void> | undefined

  constructor(bounds: Partial<StreamBounds> = {}, now?: () => number) {
    this.memory = new MemoryStreamLog({ ...plenty, ...bounds }, 'one', now)
  }

  async open(key: StreamKey, facts: Facts, place?: Place): Promise<Writer> {
    this.#ask('open')
    const writer = await this.memory.open(key, facts, place)
    return {
      append: async (data, options) => {
        this.#ask('append')
        return writer.append(data, options)
      },
      end: async () => {
        this.#ask('end')
        return writer.end()
      }
    }
  }

  async post(key: StreamKey, data: Uint8Array, options?: AppendOptions): Promise<number> {
    this.#ask('post')
    return this.memory.post(key, data, options)
  }

  async ensure(key: StreamKey): Promise<void> {
    this.#ask('ensure')
    return this.memory.ensure(key)
  }

  async read(key: StreamKey, after: number, limit: number): Promise<Slice> {
    this.#ask('read')
    await this.gate
    return this.memory.read(key, after, limit)
  }

  async watch(key: StreamKey, wake: () => void): Promise<Unwatch> {
    this.#ask('watch')
    const unwatch = await this.memory.watch(key, wake)
    this.watches++
    return async () => {
      this.watches--
      return unwatch()
    }
  }

  async take(key: StreamKey, reader: string): Promise<boolean> {
    this.#ask('take')
    return this.memory.take(key, reader)
  }

  async give(key: StreamKey, reader: string, number: number): Promise<void> {
    this.#ask('give')
    return this.memory.give(key, reader, number)
  }

  owner(key: StreamKey): Promise<string | undefined> {
    return this.memory.owner(key)
  }

  claim(key: StreamKey, from: string, to: string): Promise<Claimed | undefined> {
    return this.memory.claim(key, from, to)
  }

  async purge(session: string): Promise<void> {
    this.#ask('purge')
    return this.memory.purge(session)
  }

  close(): Promise<void> {
    return this.memory.close()
  }

  #ask(operation: Operation): void {
    this.asked[operation] = (this.asked[operation] ?? 0) + 1
    if (this.failing.has(operation)) throw new Error(`${operation} fails`)
  }
}
