import t from 'tap'
import { later } from '../../src/exchanges/acting.ts'
import { InFlight } from '../../src/exchanges/in-flight.ts'
import type { Running } from '../../src/exchanges/running.ts'
import { type MessageSource, single } from '../../src/exchanges/source.ts'
import { makeRequest } from '../../src/protocol/make.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import { liveOf } from '../helpers/live.ts'

/** As much of a call as the list looks at. */
const callOf = (live: Live, id: string, backend = 'docs'): Running =>
  ({ live, request: makeRequest(id, 'tools/call'), backend: { name: backend } }) as unknown as Running

t.test('a call is found by its session and its id, type and value (CAN-01, RPC-01)', async t => {
  const inFlight = new InFlight()
  const [one, other] = [liveOf(), liveOf()]
  const calls = ['1', '"1"', '9007199254740993', '9007199254740994', '"a\\u0062"'].map(id => callOf(one, id))
  for (const call of calls) inFlight.add(call)
  t.equal(inFlight.find(one, '1'), calls[0])
  t.equal(inFlight.find(one, '"1"'), calls[1])
  t.equal(inFlight.find(one, '9007199254740993'), calls[2])
  t.equal(inFlight.find(one, '9007199254740994'), calls[3])
  t.equal(inFlight.find(one, '"ab"'), calls[4], 'however the string is escaped')
  t.equal(inFlight.find(other, '1'), undefined)
  t.equal(inFlight.find(one, '2'), undefined)
  t.same([...inFlight.of(one)], calls, 'oldest first')
})

t.test('an id that several calls share names none of them (decisions: "notifications/cancelled")', async t => {
  const inFlight = new InFlight()
  const live = liveOf()
  const [first, second] = [callOf(live, '1'), callOf(live, '1')]
  inFlight.add(first)
  inFlight.add(second)
  t.equal(inFlight.find(live, '1'), undefined)
  inFlight.delete(first)
  t.equal(inFlight.find(live, '1'), second)
})

t.test('a call whose backend is still to be found is found by its id, until it is at its backend (CAN-01)', async t => {
  const inFlight = new InFlight()
  const live = liveOf()
  const { promise, resolve } = Promise.withResolvers<MessageSource>()
  const source = later('1', () => promise)
  inFlight.awaiting(live, makeRequest('1', 'tools/call'), source)
  t.equal(inFlight.find(liveOf(), '1'), undefined)
  t.equal(inFlight.size, 1)
  t.equal(live.busy, 1)
  inFlight.find(live, '1')!.cancel()
  t.equal(await source.next(), undefined)
  const call = callOf(live, '1')
  inFlight.add(call)
  t.equal(inFlight.find(live, '1'), call, 'the call that came of it')
  inFlight.delete(call)
  resolve(single(undefined))
  await inFlight.idle()
  t.same([...inFlight.awaited(live)], [])
  t.equal(inFlight.find(live, '1'), undefined)
  t.equal(live.busy, 0)
})

t.test('calls keep their session busy and are counted; idle resolves when the last is over', async t => {
  const inFlight = new InFlight()
  await inFlight.idle()
  const live = liveOf()
  const [a, b] = [callOf(live, '1'), callOf(live, '2', 'files')]
  inFlight.add(a)
  inFlight.add(b)
  t.same([inFlight.size, live.busy, inFlight.at('docs'), inFlight.at('files')], [2, 2, 1, 1])
  let idle = false
  const waiting = inFlight.idle().then(() => {
    idle = true
  })
  inFlight.delete(a)
  inFlight.delete(a)
  t.same([inFlight.size, live.busy], [1, 1], 'twice is once')
  await Promise.resolve()
  t.equal(idle, false)
  inFlight.delete(b)
  await waiting
  t.same([inFlight.size, live.busy, [...inFlight.all()]], [0, 0, []])
})
