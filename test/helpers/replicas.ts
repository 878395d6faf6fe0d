/** Several instances of the gateway in this process, over one Redis, in front of one scripted backend. */
import type { Test } from 'tap'
import { RedisBus, RedisPresence } from '../../src/instances/redis.ts'
import type { Redis } from '../../src/redis/store.ts'
import { RedisSessionStore } from '../../src/sessions/redis.ts'
import { RedisStreamLog } from '../../src/streams/redis.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { HttpUpstream, type HttpUpstreamOptions } from './http-upstream.ts'
import { RawClient } from './raw-client.ts'
import { connectRedis, type RedisServer, startRedis } from './redis.ts'
import { contractTools, Scripted, type Turn } from './scripted.ts'
import { until } from './until.ts'

export interface Replica extends RunningGateway {
  readonly redis: Redis
  readonly presence: RedisPresence
}

export interface Replicas {
  readonly server: RedisServer
  readonly upstream: HttpUpstream
  readonly scripted: Scripted
  readonly all: readonly Replica[]
  open(options?: Parameters<typeof RawClient.open>[1]): Promise<RawClient>
  /** The same session at another instance. */
  at(client: RawClient, replica: number): RawClient
  /** The next call of the tool `held`, once it reached the backend. */
  held(): Promise<Turn>
}

export interface ReplicasOptions {
  readonly count?: number
  readonly file?: Record<string, unknown>
  readonly upstream?: HttpUpstreamOptions
}

const bounds = { events: 1_000, bytes: 1 << 22, total: 1 << 28, retainMs: 600_000 }

export async function startReplicas(t: Test, { count = 2, file = {}, upstream = {} }: ReplicasOptions = {}) {
  const server = await startRedis(t)
  const scripted = contractTools(new Scripted())
  const turns: Turn[] = []
  scripted.on('tools/call:held', turn => void turns.push(turn))
  const behind = await HttpUpstream.start(scripted, upstream)
  t.teardown(() => behind.close())
  const secrets = { key: Buffer.alloc(32, 'secret').toString('base64url') }
  const config = { secrets, backends: { docs: { kind: 'http', url: behind.url } }, ...file }
  const all: Replica[] = []
  for (let i = 0; i < count; i++) {
    const redis = await connectRedis(server)
    const presence = await RedisPresence.start(redis)
    t.teardown(async () => {
      await presence.close()
      await redis.close()
    })
    const gateway = await startGateway(t, config, import.meta.dirname, {
      store: new RedisSessionStore(redis),
      log: new RedisStreamLog(redis, bounds, presence.id),
      shared: { presence, bus: new RedisBus(redis), key: Buffer.alloc(32, 'asks') }
    })
    all.push({ ...gateway, redis, presence })
  }
  const at = (client: RawClient, replica: number): RawClient => {
    const same = new RawClient(all[replica]!.url, client.version)
    same.session = client.session
    return same
  }
  return {
    server,
    upstream: behind,
    scripted,
    all,
    at,
    open: (options?: Parameters<typeof RawClient.open>[1]) => RawClient.open(all[0]!.url, options),
    async held() {
      await until('a call of the tool held', () => turns.length > 0)
      return turns.shift()!
    }
  } satisfies Replicas
}
