/** Who is down is looked for, further and further apart, and comes back by itself (issue: "Failure"; B1, B4). */
import t, { type Test } from 'tap'
import { Probes } from '../../src/gateway/probes.ts'
import { facts } from '../../src/telemetry/events.ts'
import { FakeBackend, settled } from '../helpers/fake-backend.ts'
import { StillClock } from '../helpers/http-clock.ts'

const scene = (t: Test) => {
  const clock = new StillClock()
  clock.chance = 0
  const backend = new FakeBackend()
  const back: string[] = []
  const away: string[] = []
  const probes = new Probes({
    clock,
    away: ({ name }) => void away.push(name),
    back: ({ name }) => void back.push(name)
  })
  t.teardown(() => probes.close())
  const tell = (up: boolean, name = backend.name): void => facts.backend.publish({ backend: name, up })
  return { clock, backend, away, back, probes, tell }
}

t.test('a backend that is down is asked after 1 s, 2 s, 4 s, ... 30 s until it is there', async t => {
  const { clock, backend, away, back, probes, tell } = scene(t)
  probes.watch([backend])
  tell(false)
  tell(false)
  t.equal(backend.openings.length, 0, 'not at once: it was asked a moment ago')
  for (const wait of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    const before = backend.openings.length
    clock.advance(wait - 1)
    t.equal(backend.openings.length, before)
    clock.advance(1)
    t.equal(backend.openings.length, before + 1, `after ${wait} ms`)
    clock.advance(5_000)
    t.equal(backend.openings.length, before + 1, 'one attempt at a time')
    t.same(away, wait === 1_000 ? [] : ['fake'], 'once, and not for a moment')
    backend.last.fail()
    await settled()
  }
  clock.advance(30_000)
  t.match(backend.last.options, { principal: { key: 'anonymous' }, client: { info: /"name":"causeway"/ } })
  const link = backend.last.succeed()
  await settled()
  t.equal(link.closed, 1, 'the link is not kept')
  t.same(back, ['fake'])
  t.equal(clock.pending, 0)
})

t.test('an attempt that gets no answer is given up', async t => {
  const { clock, backend, back, probes, tell } = scene(t)
  probes.watch([backend])
  tell(false)
  clock.advance(1_000)
  clock.advance(10_000)
  t.ok(backend.last.options.signal.aborted)
  await settled()
  clock.advance(2_000)
  t.equal(backend.openings.length, 2)
  t.same(back, [])
})

t.test('that others reach it is as good', async t => {
  const { clock, backend, back, probes, tell } = scene(t)
  probes.watch([backend])
  tell(false)
  tell(true)
  t.same(back, ['fake'])
  t.equal(clock.pending, 0)
  tell(true)
  t.same(back, ['fake'], 'once')
})

t.test('a backend that is reached, and refuses, is not back', async t => {
  const { clock, backend, away, back, probes, tell } = scene(t)
  probes.watch([backend])
  tell(false)
  clock.advance(1_000)
  tell(true)
  backend.last.fail()
  await settled()
  t.same(back, [])
  clock.advance(2_000)
  tell(false)
  backend.last.succeed()
  await settled()
  t.same(back, [], 'it was lost meanwhile')
  t.same(away, ['fake'])
  clock.advance(4_000)
  backend.last.succeed()
  await settled()
  t.same(back, ['fake'])
  tell(false)
  clock.advance(8_000)
  backend.last.fail()
  await settled()
  t.same(away, ['fake', 'fake'], 'of a new absence it is told anew')
})

t.test('a backend under suspicion is asked too; who goes on failing is left alone for longer', async t => {
  const { clock, backend, back, probes } = scene(t)
  probes.suspect(backend)
  t.equal(clock.pending, 0, 'nobody waits for it')
  probes.watch([backend])
  for (const wait of [1_000, 2_000, 4_000]) {
    probes.suspect(backend)
    probes.suspect(new FakeBackend())
    t.equal(clock.waits.at(-1), wait)
    clock.advance(wait)
    backend.last.succeed()
    await settled()
  }
  t.equal(back.length, 3)
})

t.test('what is not served any more is left alone; what was down before is looked for', async t => {
  const { clock, backend, back, probes, tell } = scene(t)
  tell(false)
  t.equal(clock.pending, 0)
  probes.watch([backend], () => true)
  clock.advance(1_000)
  probes.watch([backend])
  t.notOk(backend.last.options.signal.aborted, 'it is served still')
  const other = new FakeBackend('session', 'other')
  probes.watch([other])
  t.ok(backend.last.options.signal.aborted)
  await settled()
  t.equal(clock.pending, 0)
  tell(false)
  clock.advance(1_000)
  t.equal(other.openings.length, 1, 'of the same name')
  await probes.close()
  t.ok(other.last.options.signal.aborted)
  t.equal(clock.pending, 0)
  tell(false)
  t.equal(clock.pending, 0)
  t.same(back, [])
})
