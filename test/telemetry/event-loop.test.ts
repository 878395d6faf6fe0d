import { createHistogram } from 'node:perf_hooks'
import t, { type Test } from 'tap'
import { EventLoop } from '../../src/telemetry/event-loop.ts'

/** A loop, and what makes it late: Node tells the time between two looks, 20 ms of which are no delay. */
function setting(t: Test) {
  const histogram = createHistogram()
  const enabled: boolean[] = []
  const delays = Object.assign(histogram, {
    enable: () => enabled.push(true) > 0,
    disable: () => enabled.push(false) > 0,
    [Symbol.dispose]() {}
  })
  const loop = new EventLoop(delays)
  t.teardown(() => loop.close())
  const late = (...milliseconds: number[]): void => {
    for (const one of milliseconds) histogram.record(Math.round((20 + one) * 1e6))
  }
  return { loop, late, enabled }
}

const about = (t: Test, found: number, expected: number): void => {
  t.ok(Math.abs(found - expected) <= 0.002 * (20 + expected), `${found} is about ${expected}`)
}

t.test('how late the loop was is told once to whoever looks often, and in all until the restart', async t => {
  const { loop, late } = setting(t)
  t.equal(loop.recent(), 0)
  late(10, 30)
  about(t, loop.recent(), 20)
  t.equal(loop.recent(), 0)
  late(400)
  about(t, loop.recent(), 400)
  about(t, loop.mean, 440 / 3)
  about(t, loop.max, 400)
  about(t, loop.percentile(50), 30)
})

t.test('a restart takes nothing from whoever looks at what is recent', async t => {
  const { loop, late } = setting(t)
  late(1_000)
  loop.recent()
  late(100)
  loop.restart()
  t.equal(loop.mean, 0)
  t.equal(loop.max, 0)
  t.equal(loop.percentile(99), 0)
  late(300)
  loop.restart()
  late(500)
  about(t, loop.recent(), 300)
  about(t, loop.mean, 500)
  t.equal(loop.recent(), 0)
})

t.test('a loop that is watched no more is not measured', async t => {
  const { loop, enabled } = setting(t)
  t.same(enabled, [true])
  loop.close()
  t.same(enabled, [true, false])
})
