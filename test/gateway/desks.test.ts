import t, { type Test } from 'tap'
import type { Backend } from '../../src/backends/backend.ts'
import { Desks, maxPerPrincipal } from '../../src/gateway/desks.ts'
import { type Caller, Seats } from '../../src/gateway/seats.ts'
import { self } from '../../src/gateway/self.ts'
import { type Live, Sessions } from '../../src/sessions/lifecycle.ts'
import { MemorySessionStore } from '../../src/sessions/memory.ts'

const backend = { name: 'b', scope: 'session' } as Backend

function desksOf(t: Test, desks: number, { queue = 10, queueTime = 5_000, pool = 'principal' } = {}) {
  const released: Live[] = []
  const store = new MemorySessionStore()
  const sessions = new Sessions({ store, idleMs: 1_000, caps: { total: 10, perGroup: 10 } })
  const seats = new Seats({
    sessions,
    self,
    release: async live => void released.push(live),
    pool: () => pool as 'principal',
    idleMs: 60_000
  })
  t.teardown(async () => {
    made.close()
    seats.close()
    sessions.stop()
    await store.close()
  })
  const made = new Desks({ seats, limits: () => ({ desks, queue, queueTime }) })
  return { seats, desks: made, released }
}

const anybody = { route: '/mcp', address: '::1', capabilities: '{}' }
const alice: Caller = { ...anybody, principal: { key: 'i alice', issuer: 'i', subject: 'alice' } }
const bob: Caller = { ...anybody, principal: { key: 'i bob', issuer: 'i', subject: 'bob' } }
const nobody: Caller = { ...anybody, principal: { key: 'anonymous' } }

t.test('one call at a time; the next of the same caller has the same desk, that of another a new one', async t => {
  const { desks, seats, released } = desksOf(t, 2)
  const first = desks.take(alice, backend)
  t.not(desks.take(alice, backend).live, first.live)
  const next = desks.take(alice, backend)
  t.equal(next.live, undefined)
  seats.drop(first.leave()!)
  t.equal(await next.ready, first.live)
  seats.drop(next.leave()!)
  t.not(desks.take({ ...alice, capabilities: '{"roots":{}}' }, backend).live, first.live)
  await new Promise(setImmediate)
  t.same(released, [first.live], 'the idle one made room')
})

t.test('of several that are free the one used last is taken', async t => {
  const { desks, seats } = desksOf(t, 2)
  const [first, second] = [desks.take(alice, backend), desks.take(alice, backend)]
  seats.drop(first.leave()!)
  seats.drop(second.leave()!)
  t.equal(desks.take(alice, backend).live, second.live)
  t.equal(desks.take(alice, backend).live, first.live)
})

t.test('what is held on stays; what was given up early is not used again', async t => {
  const { desks, seats, released } = desksOf(t, 2)
  const { live } = desks.take(alice, backend)
  seats.hold(live!)
  seats.drop(live!)
  t.not(desks.take(alice, backend).live, live)
  desks.spoil(live!)
  seats.drop(live!)
  await new Promise(setImmediate)
  t.same(released, [live])
})

t.test('callers who are not pooled have a new one each time', async t => {
  const { desks, seats, released } = desksOf(t, 1, { pool: 'call' })
  const first = desks.take(nobody, backend)
  const next = desks.take(nobody, backend)
  seats.drop(first.leave()!)
  t.not(await next.ready, first.live)
  t.same(released, [first.live])
})

t.test('who waits too long, or finds too many waiting, is told; who leaves the line is not waited for', async t => {
  const { desks, seats } = desksOf(t, 1, { queue: 1, queueTime: 30 })
  const first = desks.take(alice, backend)
  const late = desks.take(alice, backend)
  await t.rejects(desks.take(alice, backend).ready, { code: 'overloaded', backend: 'b' })
  await t.rejects(late.ready, { code: 'overloaded', backend: 'b' })
  const gone = desks.take(alice, backend)
  t.equal(gone.leave(), undefined)
  const next = desks.take(alice, backend)
  seats.drop(first.leave()!)
  t.equal(await next.ready, first.live)
})

t.test('one caller has but a share; idle ones are given up after a while', async t => {
  const { desks, seats, released } = desksOf(t, 32)
  const own = Array.from({ length: maxPerPrincipal }, () => desks.take(alice, backend))
  t.ok(own.every(({ live }) => live !== undefined))
  t.equal(desks.take(alice, backend).live, undefined)
  t.ok(desks.take(bob, backend).live)
  seats.drop(own[0]!.leave()!)
  seats.drop(own[1]!.leave()!)
  desks.sweep(Date.now() + 1_000)
  await new Promise(setImmediate)
  t.same(released, [own[1]!.live], 'the other went to who waited')
})

t.test('at the end nobody waits any more', async t => {
  const { desks } = desksOf(t, 1)
  desks.take(alice, backend)
  const next = desks.take(alice, backend)
  desks.close()
  await t.rejects(next.ready, { code: 'overloaded' })
})
