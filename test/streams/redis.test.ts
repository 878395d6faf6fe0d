import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { RedisStreamLog } from '../../src/streams/redis.ts'
import { streamLogContract } from '../contract/stream-log.ts'
import { connectRedis, startRedis, withoutRedis } from '../helpers/redis.ts'

if (withoutRedis) t.pass('Redis', { skip: withoutRedis })
else {
  const server = await startRedis(t)
  streamLogContract('redis', async bounds => {
    const prefix = crypto.randomUUID()
    const [one, two] = await Promise.all([connectRedis(server, { prefix }), connectRedis(server, { prefix })])
    const [log, other] = [new RedisStreamLog(one, bounds, 'instance'), new RedisStreamLog(two, bounds, 'other')]
    return {
      log,
      other,
      instance: 'instance',
      advance: ms => sleep(ms),
      empty: async () => void (await server.command('FLUSHALL')),
      usedBytes: async () => Number(/^used_memory:(\d+)/m.exec(await server.command('INFO', 'memory'))?.[1]),
      async interrupt() {
        await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
        await server.command('CLIENT', 'KILL', 'TYPE', 'normal')
      },
      async close() {
        await Promise.all([log.close(), other.close()])
        await Promise.all([one.close(), two.close()])
      }
    }
  })

  const bounds = { events: 10, bytes: 1_000, total: 1 << 20, retainMs: 60_000 }
  const key = { session: 'canary-session', stream: 'stream' }
  const fresh = async (t: Test) => {
    const redis = await connectRedis(server, { prefix: crypto.randomUUID() })
    t.teardown(() => redis.close())
    return new RedisStreamLog(redis, bounds, 'instance')
  }

  t.test('R8: Redis learns nothing of what is said, nor the sessions of backends', async t => {
    const log = await fresh(t)
    const writer = await log.open(key, 'canary-facts', 'canary-place')
    await writer.append(Buffer.from('canary-data'), { place: 'canary-place' })
    await log.post({ ...key, stream: 'posts' }, Buffer.from('canary-posted'))
    t.notMatch(await server.dump(), /canary/)
  })

  t.test('R5: whatever is stored has a time to live, and is gone after a purge', async t => {
    await server.command('FLUSHALL')
    const log = await fresh(t)
    const writer = await log.open(key, '')
    for (let i = 0; i < 12; i++) await writer.append(Buffer.from('x'), { expendable: i % 2 === 0 })
    await log.post({ ...key, stream: 'posts' }, Buffer.from('x'), { expendable: true })
    await log.ensure({ ...key, stream: 'empty' })
    const ended = await log.open({ ...key, stream: 'ended' }, '')
    await ended.append(Buffer.from('x'), { expendable: true })
    await ended.end()
    const keys = await server.keys()
    t.equal(keys.length, 3 + 3 + 1 + 3 + 1)
    for (const name of keys) t.match(await server.command('PTTL', name), /^:[1-9]/, name)
    await log.purge(key.session)
    t.same(await server.keys(), [])
  })

  t.test('the streams of a session that ended are not kept in mind for longer than they are there', async t => {
    const redis = await connectRedis(server, { prefix: crypto.randomUUID() })
    t.teardown(() => redis.close())
    const log = new RedisStreamLog(redis, { ...bounds, retainMs: 50 }, 'instance')
    for (const stream of ['a', 'b']) await (await log.open({ ...key, stream }, '')).end()
    await sleep(100)
    await log.ensure({ ...key, stream: 'c' })
    t.equal(await redis.send('ZCARD', redis.sessionKey(key.session, 'i')), 1)
  })

  t.test('an entry that was not sealed for this stream is not there, the others are', async t => {
    const redis = await connectRedis(server, { prefix: crypto.randomUUID() })
    t.teardown(() => redis.close())
    const log = new RedisStreamLog(redis, bounds, 'instance')
    await log.post(key, Buffer.from('one'))
    await redis.send('HINCRBY', redis.sessionKey(key.session, `m${key.stream}`), 'last', '1')
    await redis.send('XADD', redis.sessionKey(key.session, `e${key.stream}`), '2-0', 's', '3', 'd', 'forged'.repeat(9))
    await log.post(key, Buffer.from('three'))
    const { entries } = await log.read(key, 0, 10)
    t.same(
      entries.map(({ number, data }) => [number, `${data}`]),
      [
        [1, 'one'],
        [3, 'three']
      ]
    )
  })
}
