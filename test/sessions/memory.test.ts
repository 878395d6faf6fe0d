import t from 'tap'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import type { SessionRecord } from '../../src/sessions/session.ts'
import { sessionStoreContract } from '../contract/session-store.ts'
import { Clock } from '../helpers/clock.ts'
import { usedBytes } from '../helpers/memory.ts'
import { Timers } from '../helpers/timers.ts'

sessionStoreContract('memory', async () => {
  const clock = new Clock()
  const store = new MemorySessionStore(clock.now)
  return { store, other: store, advance: async ms => clock.advance(ms), close: () => store.close() }
})

const caps = { total: 100_000, perGroup: 100_000 }
const record = (i: number): SessionRecord => ({
  id: `some session of some length ${i}`,
  revision: 0,
  route: '/mcp',
  principal: 'anonymous',
  group: `group ${i % 10}`,
  client: { version: '2025-11-25', capabilities: '{}', info: `{"name":"client ${i}","version":"1"}` },
  operating: true,
  subscriptions: [],
  links: { backend: `{"session":"upstream ${i}"}` }
})

t.test('R26: one timer removes what has expired, unasked, and is gone when there is nothing left', async t => {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const store = new MemorySessionStore(timers.now)
  const before = await usedBytes()
  for (let i = 0; i < 5_000; i++) {
    await store.create(record(i), 60_000 + i, caps)
    if (i === 0) t.match({ count: timers.count, held: timers.held }, { count: 1, held: 0 })
  }
  t.equal(timers.count, 1)
  timers.advance(59_000)
  t.ok((await usedBytes()) - before > 1_000_000)
  timers.advance(7_000)
  const left = (await usedBytes()) - before
  t.ok(left < 200_000, `${left} bytes`)
  t.equal(timers.count, 0)
  await store.create(record(1), 60_000, caps)
  t.equal(timers.count, 1)
  await store.close()
  t.equal(timers.count, 0)
  t.equal(await store.count(), 0)
})

t.test('the timer waits for sessions that were refreshed, without running all the time', async t => {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const store = new MemorySessionStore(timers.now)
  await store.create(record(1), 5_000, caps)
  for (let i = 0; i < 20; i++) {
    timers.advance(2_000)
    t.ok(await store.get(record(1).id, 5_000))
  }
  timers.advance(7_000)
  t.equal(timers.count, 0)
})
