/** Where the config says that sessions and streams are kept. In memory each instance has its own. */
import { hkdfSync } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { RedisBus, RedisPresence } from '../instances/redis.ts'
import { Sealer } from '../protocol/seal.ts'
import { Redis } from '../redis/store.ts'
import { RedisSessionStore } from '../sessions/redis.ts'
import type { SessionStore } from '../sessions/session.ts'
import { RedisStreamLog } from '../streams/redis.ts'
import type { StreamBounds, StreamLog } from '../streams/stream-log.ts'
import type { Shared } from './parts.ts'

/** What instances have in common. */
export interface Stores {
  readonly shared: Shared
  readonly store: SessionStore
  log(bounds: StreamBounds): StreamLog
  /** Whether it answers in time. */
  readonly up: () => boolean
  close(): Promise<void>
}

/** Resolves once they are there, or do not answer for now: the gateway starts all the same. Undefined: there are none. */
export async function openStores({ store, secrets }: Pick<Config, 'store' | 'secrets'>): Promise<Stores | undefined> {
  if (store.kind === 'memory') return undefined
  const secret = Buffer.from(secrets.key!, 'base64url')
  const { url, prefix, deadline } = store
  const redis = await Redis.connect({ url: url!, prefix, sealer: new Sealer(secret), deadlineMs: deadline })
  const presence = await RedisPresence.start(redis)
  const bus = new RedisBus(redis)
  let log: StreamLog | undefined
  return {
    shared: { presence, bus, key: Buffer.from(hkdfSync('sha256', secret, '', 'causeway asks', 32)) },
    store: new RedisSessionStore(redis),
    log: bounds => {
      log = new RedisStreamLog(redis, bounds, presence.id)
      return log
    },
    up: () => redis.up,
    async close() {
      await bus.close()
      await log?.close()
      await presence.close()
      await redis.close()
    }
  }
}
