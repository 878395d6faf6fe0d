import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type CloseReason, type Live, Sessions, sessionHash } from '../../src/sessions/lifecycle.ts'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import type { SessionRecord, SessionStore } from '../../src/sessions/session.ts'
import { Clock } from '../helpers/clock.ts'
import { recordOf } from '../helpers/live.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const idleMs = 60_000
const caps = { total: 3, perGroup: 2 }

/** The store in memory, whose operations fail or wait when a test says so. */
class FaultyStore extends MemorySessionStore {
  failing = false
  /** Runs once, after the answer of the next `get` was made and before it is told. */
  meanwhile: (() => Promise<unknown>) | undefined
  /** As often as that a replacement loses to another one. */
  lost = 0

  override async get(id: string, ttlMs: number): Promise<SessionRecord | undefined> {
    this.#ask()
    const record = await super.get(id, ttlMs)
    const { meanwhile } = this
    this.meanwhile = undefined
    await meanwhile?.()
    return record
  }

  override async create(...args: Parameters<SessionStore['create']>): ReturnType<SessionStore['create']> {
    this.#ask()
    return super.create(...args)
  }

  override async has(id: string): Promise<boolean> {
    this.#ask()
    return super.has(id)
  }

  override async replace(previous: SessionRecord, next: SessionRecord): Promise<boolean> {
    this.#ask()
    if (this.lost > 0) {
      this.lost--
      const now = (await super.get(previous.id, idleMs))!
      await super.replace(now, { ...now, revision: now.revision + 1, level: `by another ${this.lost}` })
    }
    return super.replace(previous, next)
  }

  override async delete(id: string): Promise<boolean> {
    this.#ask()
    return super.delete(id)
  }

  #ask(): void {
    if (this.failing) throw new Error('down')
  }
}

function setting(t: Test) {
  const clock = new Clock()
  const store = new FaultyStore(clock.now)
  const sessions = new Sessions({ store, idleMs, caps, now: clock.now })
  const closed: [string, CloseReason][] = []
  sessions.onClosed(({ record }, reason) => void closed.push([record.id, reason]))
  t.teardown(async () => {
    sessions.stop()
    await store.close()
  })
  const find = (live: Live, changes: Partial<SessionRecord> = {}) => {
    const { id, route, principal } = { ...live.record, ...changes }
    return sessions.get(id, route, principal)
  }
  return { clock, store, sessions, closed, find }
}

t.test('an id is visible ASCII with 128 bits or more, never the same twice (R13)', async t => {
  const ids = new Set(Array.from({ length: 1_000 }, () => Sessions.newId()))
  t.equal(ids.size, 1_000)
  for (const id of ids) if (!/^[\x21-\x7e]{22,}$/.test(id)) t.fail(id)
})

t.test('a session is found on its route by its principal, and by nobody else (SES-08)', async t => {
  const { sessions, find } = setting(t)
  const live = await sessions.create(recordOf())
  t.match(sessionHash(live), /^[0-9a-f]{12}$/)
  t.equal(await find(live), live)
  t.equal(sessions.local(live.record.id), live)
  t.equal(await find(live, { route: '/other' }), undefined)
  t.equal(await find(live, { principal: 'mallory' }), undefined)
  t.equal(await find(live, { id: 'unknown' }), undefined)
  t.equal(live.closed, false)
})

t.test('over a cap: 503 with Retry-After', async t => {
  const { sessions } = setting(t)
  await sessions.create(recordOf({ group: 'a' }))
  await sessions.create(recordOf({ group: 'a' }))
  await t.rejects(sessions.create(recordOf({ group: 'a' })), {
    code: 'full',
    status: 503,
    message: 'too many sessions of this caller are open',
    headers: { 'retry-after': '30' }
  })
  await sessions.create(recordOf({ group: 'b' }))
  await t.rejects(sessions.create(recordOf({ group: 'c' })), { code: 'full', message: 'too many sessions are open' })
})

t.test('an idle session expires; asking for it ends what was left of it (R26)', async t => {
  const { clock, sessions, closed, find } = setting(t)
  const live = await sessions.create(recordOf())
  clock.advance(idleMs - 1)
  t.equal(await find(live), live)
  clock.advance(idleMs)
  t.equal(await find(live), undefined)
  t.same(closed, [[live.record.id, 'expired']])
  t.equal(live.closed, true)
  t.equal(sessions.local(live.record.id), undefined)
})

t.test('the sweeper ends idle sessions that nobody asks for, and keeps those in use (R26, SES-15)', async t => {
  const { clock, store, sessions, closed } = setting(t)
  const [idle, busy] = [await sessions.create(recordOf()), await sessions.create(recordOf())]
  busy.busy = 1
  for (let i = 0; i < 5; i++) {
    clock.advance(idleMs / 3)
    await sessions.sweep()
  }
  t.same(closed, [[idle.record.id, 'expired']])
  t.equal(await store.has(busy.record.id), true)
  busy.busy = 0
  clock.advance(idleMs)
  await sessions.sweep()
  t.equal(busy.closed, true)
})

t.test('a session in use that the store lost is over', async t => {
  const { clock, store, sessions, closed } = setting(t)
  const live = await sessions.create(recordOf())
  live.busy = 1
  await store.delete(live.record.id)
  clock.advance(idleMs)
  await sessions.sweep()
  t.same(closed, [[live.record.id, 'expired']])
})

t.test('the sweeper runs by itself', async t => {
  const store = new MemorySessionStore()
  const sessions = new Sessions({ store, idleMs: 60, caps })
  t.teardown(async () => {
    sessions.stop()
    await store.close()
  })
  const closed = new Promise<CloseReason>(resolve => sessions.onClosed((_live, reason) => resolve(reason)))
  await sessions.create(recordOf())
  // The sweeper holds no process; this does.
  t.equal(await Promise.race([closed, sleep(3_000, 'nothing')]), 'expired')
})

t.test('closing tells once, whoever closes', async t => {
  const { sessions, closed, find } = setting(t)
  const live = await sessions.create(recordOf())
  await Promise.all([sessions.close(live, 'deleted'), sessions.close(live, 'shutdown')])
  t.equal(closed.length, 1)
  t.equal(await find(live), undefined)
  t.equal([...sessions.locals()].length, 0)
})

t.test('a session that ends while it is looked up is not brought back (SES-11)', async t => {
  const { store, sessions, find } = setting(t)
  const live = await sessions.create(recordOf())
  store.meanwhile = () => sessions.close(live, 'deleted')
  t.equal(await find(live), undefined)
  t.equal(sessions.local(live.record.id), undefined)
})

t.test('another session that ends meanwhile does not hinder', async t => {
  const { store, sessions } = setting(t)
  const [other, record] = [await sessions.create(recordOf()), recordOf()]
  await store.create(record, idleMs, caps)
  store.meanwhile = () => sessions.close(other, 'deleted')
  const live = await sessions.get(record.id, record.route, record.principal)
  t.equal(live?.record, record, 'taken on, although another instance made it')
})

t.test(
  'a change is tried again on what another made of the record, and an older record never replaces a newer',
  async t => {
    const { store, sessions, find } = setting(t)
    const live = await sessions.create(recordOf())
    store.lost = 2
    t.equal(await sessions.update(live, ({ subscriptions }) => ({ subscriptions: [...subscriptions, 'a'] })), true)
    t.match(live.record, { subscriptions: ['a'], level: 'by another 0', revision: 3 })
    store.meanwhile = () => sessions.update(live, () => ({ operating: false }))
    await find(live)
    t.equal(live.record.operating, false)
  }
)

t.test('a record that changes without end is given up; one that is gone is told', async t => {
  const { store, sessions } = setting(t)
  const live = await sessions.create(recordOf())
  store.lost = 1_000
  await t.rejects(
    sessions.update(live, () => ({})),
    { code: 'internal' }
  )
  store.lost = 0
  await store.delete(live.record.id)
  t.equal(await sessions.update(live, () => ({})), false)
})

t.test('a session for one request is in no store', async t => {
  const { store, sessions, closed } = setting(t)
  const live = sessions.ephemeral(recordOf())
  t.equal(await store.count(), 0)
  t.equal(await sessions.update(live, () => ({ level: 'debug' })), true)
  t.equal(live.record.level, 'debug')
  await sessions.close(live, 'deleted')
  t.equal(closed.length, 1)
})

t.test('a store that does not answer is a 503 with the cause, and the sweeper survives it', async t => {
  const { clock, store, sessions, closed, find } = setting(t)
  const live = await sessions.create(recordOf())
  store.failing = true
  const down = { code: 'store', status: 503, headers: { 'retry-after': '5' }, cause: { message: 'down' } }
  await t.rejects(sessions.create(recordOf()), down)
  await t.rejects(async () => find(live), down)
  await t.rejects(
    sessions.update(live, () => ({})),
    down
  )
  clock.advance(idleMs)
  await sessions.sweep()
  t.equal(live.closed, false)
  await t.rejects(sessions.close(live, 'deleted'), down)
  t.equal(live.closed, true, 'here it is over all the same')
  t.same(closed, [[live.record.id, 'deleted']])
})

t.test('routes list their own sessions', async t => {
  const { sessions } = setting(t)
  const live = await sessions.create(recordOf())
  await sessions.create(recordOf({ route: '/other' }))
  const ids: string[] = []
  for await (const { id } of sessions.list('/mcp')) ids.push(id)
  t.same(ids, [live.record.id])
  t.equal(await sessions.count(), 2)
})
