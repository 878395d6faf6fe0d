import t from 'tap'
import { RedisBus, RedisPresence } from '../../src/instances/redis.ts'
import { Sealer } from '../../src/protocol/seal.ts'
import type { Redis } from '../../src/redis/store.ts'
import { busContract } from '../contract/bus.ts'
import { presenceContract } from '../contract/presence.ts'
import { connectRedis, startRedis, withoutRedis } from '../helpers/redis.ts'
import { until } from '../helpers/until.ts'

// What listeners throw becomes a warning of the process, which the tests need not print.
process.removeAllListeners('warning')

if (withoutRedis) t.pass('Redis', { skip: withoutRedis })
else {
  const server = await startRedis(t)

  presenceContract('redis', async () => {
    const prefix = crypto.randomUUID()
    const connections = new Map<RedisPresence, Redis>()
    return {
      async start() {
        const redis = await connectRedis(server, { prefix })
        const presence = await RedisPresence.start(redis)
        connections.set(presence, redis)
        return presence
      },
      async kill(presence) {
        await connections.get(presence as RedisPresence)!.close()
      },
      async close() {
        for (const [presence, redis] of connections) {
          await presence.close()
          await redis.close()
        }
      }
    }
  })

  busContract('redis', async () => {
    const prefix = crypto.randomUUID()
    const [one, two] = await Promise.all([connectRedis(server, { prefix }), connectRedis(server, { prefix })])
    const [bus, other] = [new RedisBus(one), new RedisBus(two)]
    return {
      bus,
      other,
      async close() {
        await Promise.all([bus.close(), other.close()])
        await Promise.all([one.close(), two.close()])
      }
    }
  })

  t.test('REP-05: what was not sealed for this topic by an instance is not heard, whatever it is', async t => {
    const redis = await connectRedis(server)
    t.teardown(() => redis.close())
    const bus = new RedisBus(redis)
    const heard: string[] = []
    await bus.subscribe('topic', payload => heard.push(payload))
    const forged = [
      '',
      'payload',
      '"payload"',
      new Sealer().seal('bus topic', 'payload'),
      redis.sealer.seal('bus other', 'payload'),
      redis.sealer.seal('bus topic', { no: 'text' }),
      redis.sealer.seal('bus topic', 'x'.repeat(1 << 20))
    ]
    for (const text of forged) await redis.send('PUBLISH', redis.key('bus:topic'), text)
    await bus.publish('topic', 'true')
    await until('the true one', () => heard.length > 0)
    t.same(heard, ['true'])
  })
}
