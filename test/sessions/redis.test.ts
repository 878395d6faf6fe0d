import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Sealer } from '../../src/protocol/seal.ts'
import type { RedisOptions } from '../../src/redis/store.ts'
import { RedisSessionStore } from '../../src/sessions/redis.ts'
import type { SessionRecord } from '../../src/sessions/session.ts'
import { facts } from '../../src/telemetry/events.ts'
import { sessionStoreContract } from '../contract/session-store.ts'
import { connectRedis, startRedis, withoutRedis } from '../helpers/redis.ts'

if (withoutRedis) t.pass('Redis', { skip: withoutRedis })
else {
  const server = await startRedis(t)
  sessionStoreContract('redis', async () => {
    const prefix = crypto.randomUUID()
    const [one, two] = await Promise.all([connectRedis(server, { prefix }), connectRedis(server, { prefix })])
    return {
      store: new RedisSessionStore(one),
      other: new RedisSessionStore(two),
      advance: ms => sleep(ms),
      close: async () => void (await Promise.all([one.close(), two.close()]))
    }
  })

  const record: SessionRecord = {
    id: 'canary-id',
    revision: 0,
    route: '/canary-route',
    principal: 'canary-principal',
    group: 'canary-group',
    client: { version: '2025-11-25', capabilities: '{"canary-capability":{}}', info: '{"name":"canary-info"}' },
    operating: true,
    level: 'debug',
    subscriptions: ['canary-uri'],
    links: { backend: '{"session":"canary-upstream"}' }
  }
  const caps = { total: 10, perGroup: 10 }
  const fresh = async (t: Test, options: Partial<RedisOptions> = {}) => {
    const redis = await connectRedis(server, { prefix: crypto.randomUUID(), ...options })
    t.teardown(() => redis.close())
    return new RedisSessionStore(redis)
  }

  t.test('R8: Redis learns nothing of a session: neither its id nor those of backends, nor who it is', async t => {
    const store = await fresh(t)
    await store.create(record, 60_000, caps)
    await store.replace(record, { ...record, revision: 1 })
    t.notMatch(await server.dump(), /canary/)
  })

  t.test('R8: deployments with different prefixes share a server', async t => {
    const [one, two] = [await fresh(t), await fresh(t)]
    await one.create(record, 60_000, caps)
    t.equal(await two.get(record.id, 60_000), undefined)
    t.equal(await two.count(), 0)
    t.equal(await two.create(record, 60_000, { total: 1, perGroup: 1 }), 'created')
  })

  t.test('R5, R9: whatever is stored has a time to live, by the clock of the server', async t => {
    await server.command('FLUSHALL')
    const store = await fresh(t)
    await store.create(record, 60_000, caps)
    await store.replace(record, { ...record, revision: 1 })
    await store.get(record.id, 60_000)
    t.equal((await server.keys()).length, 3)
    for (const key of await server.keys()) t.match(await server.command('PTTL', key), /^:[1-9]/, key)
  })

  t.test(
    'a record sealed with another key is not there, nor one of another session, and an operator is told',
    async t => {
      const prefix = crypto.randomUUID()
      const [one, two] = [await fresh(t, { prefix }), await fresh(t, { prefix, sealer: new Sealer() })]
      const told: string[] = []
      const listen = ({ text }: { text: string }) => void told.push(text)
      t.teardown(facts.notice.subscribe(listen))
      await one.create(record, 60_000, caps)
      t.equal(await two.get(record.id, 60_000), undefined)
      t.equal(await two.get(record.id, 60_000), undefined)
      t.same(
        told.filter(text => text.includes('secrets.key')),
        ['a stored session cannot be read: do all instances have the same secrets.key?'],
        'once'
      )
      await one.create({ ...record, id: 'other' }, 60_000, caps)
      const [key, other] = (await server.keys(`${prefix}:1:{*}`)).filter(name => !name.includes('{sessions}'))
      await server.command('COPY', key!, other!, 'REPLACE')
      const found = [await one.get(record.id, 60_000), await one.get('other', 60_000)]
      t.equal(found.filter(Boolean).length, 1, 'moved to another session it is nothing')
    }
  )

  t.test('R5: a place below the caps that was kept for a record that never came is free again', async t => {
    const prefix = crypto.randomUUID()
    const store = await fresh(t, { prefix })
    const one = { total: 1, perGroup: 1 }
    await store.create(record, 300, one)
    const [key] = (await server.keys(`${prefix}:1:{*}`)).filter(name => !name.includes('{sessions}'))
    await server.command('DEL', key!)
    t.equal(await store.create({ ...record, id: 'next' }, 300, one), 'full', 'it may still come')
    await sleep(350)
    t.equal(await store.create({ ...record, id: 'next' }, 300, one), 'created')
  })
}
