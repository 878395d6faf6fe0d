import t, { type Test } from 'tap'
import type { Backend } from '../../src/backends/backend.ts'
import { type Caller, maxSeats, Seats, type SeatsOptions } from '../../src/gateway/seats.ts'
import { self } from '../../src/gateway/self.ts'
import { type Live, Sessions } from '../../src/sessions/lifecycle.ts'
import { MemorySessionStore } from '../../src/sessions/memory.ts'

const backend = (scope: Backend['scope'] = 'session') => ({ scope }) as Backend

function seatsOf(t: Test, options: Partial<SeatsOptions> = {}) {
  const released: Live[] = []
  let now = 0
  const store = new MemorySessionStore()
  const sessions = new Sessions({ store, idleMs: 1_000, caps: { total: 10, perGroup: 10 } })
  const seats = new Seats({
    sessions,
    self,
    release: async live => void released.push(live),
    pool: () => undefined,
    idleMs: 1_000,
    now: () => now,
    ...options
  })
  t.teardown(async () => {
    seats.close()
    sessions.stop()
    await store.close()
  })
  const tick = (ms: number): void => {
    now += ms
  }
  return { seats, released, tick }
}

const alice: Caller = {
  route: '/mcp',
  principal: { key: 'i alice', issuer: 'i', subject: 'alice' },
  address: '::1',
  capabilities: '{}'
}
const bob: Caller = { ...alice, principal: { key: 'i bob', issuer: 'i', subject: 'bob' } }
const nobody: Caller = { ...alice, principal: { key: 'anonymous' } }

t.test('a caller has one seat on a route, and nobody has that of another', async t => {
  const { seats } = seatsOf(t)
  const seat = seats.seat(alice)
  t.equal(seats.seat(alice), seat)
  t.not(seats.seat(bob), seat)
  t.not(seats.seat({ ...alice, route: '/other' }), seat)
  t.match(seat, { modern: true, ephemeral: true, record: { principal: 'i alice', route: '/mcp', client: self } })
  t.not(seats.stand(alice), seats.stand(alice))
})

t.test('a caller has one home among its seats, the first; when that is given up another takes its place', async t => {
  const { seats, tick } = seatsOf(t)
  const first = { ...alice, capabilities: '{"roots":{}}' }
  const seat = seats.seat(first)
  t.equal(seats.home(first), seat)
  t.equal(seats.home(alice), seat)
  t.not(seats.seat(alice), seat)
  t.not(seats.home(bob), seat)
  tick(600)
  t.equal(seats.home(alice), seat)
  tick(600)
  seats.sweep()
  t.equal(seats.home(alice), seat, 'it is used by that')
  tick(1_200)
  seats.sweep()
  const next = seats.home(alice)
  t.not(next, seat)
  t.equal(next, seats.seat(alice))
})

t.test('anonymous callers share nothing but what all share; the config says otherwise', async t => {
  const { seats } = seatsOf(t)
  t.ok(seats.pools(backend(), alice))
  t.notOk(seats.pools(backend(), nobody))
  t.ok(seats.pools(backend('shared'), nobody))
  t.ok(seatsOf(t, { pool: () => 'principal' }).seats.pools(backend(), nobody))
  t.notOk(seatsOf(t, { pool: () => 'call' }).seats.pools(backend(), alice))
})

t.test('a seat that nobody uses for a while is given up, one with a call is not', async t => {
  const { seats, released, tick } = seatsOf(t)
  const seat = seats.seat(alice)
  const used = seats.seat(bob)
  used.busy++
  tick(999)
  seats.sweep()
  t.same(released, [])
  tick(2)
  seats.sweep()
  t.same(released, [seat])
  t.ok(seat.closed)
  t.equal(seats.size, 1)
  t.not(seats.seat(alice), seat)
  used.busy--
  seats.close()
  t.equal(released.length, 3)
})

t.test('a stand is given up once, with its call', async t => {
  const { seats, released } = seatsOf(t)
  const stand = seats.stand(alice)
  seats.release(stand)
  seats.release(stand)
  t.same(released, [stand])
})

t.test('of too many seats the one used least recently goes, unless a call is in flight', async t => {
  const { seats, released } = seatsOf(t)
  const caller = (i: number): Caller => ({ ...alice, route: `/${i}` })
  const first = seats.seat(caller(0))
  first.busy++
  const second = seats.seat(caller(1))
  for (let i = 2; i <= maxSeats; i++) seats.seat(caller(i))
  t.equal(seats.size, maxSeats)
  t.same(released, [second])
})
