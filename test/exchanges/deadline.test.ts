import t, { type Test } from 'tap'
import { Countdowns } from '../../src/exchanges/countdown.ts'
import { Deadline } from '../../src/exchanges/deadline.ts'
import { Timers } from '../helpers/timers.ts'

function setting(t: Test, silenceMs: number, wholeMs: number) {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const expired: string[] = []
  const deadline = new Deadline(new Countdowns(), silenceMs, wholeMs, what => void expired.push(what))
  return { timers, expired, deadline }
}

t.test('silence ends a call; what is said extends it (R103, CAN-06)', async t => {
  const { timers, expired, deadline } = setting(t, 100, 1_000)
  for (let i = 0; i < 5; i++) {
    timers.advance(90)
    deadline.touch()
  }
  t.same(expired, [])
  timers.advance(100)
  t.same(expired, ['timeout'])
})

t.test('however much is said, the whole has its limit (R103, CAN-06)', async t => {
  const { timers, expired, deadline } = setting(t, 100, 250)
  timers.advance(90)
  deadline.touch()
  timers.advance(90)
  deadline.touch()
  timers.advance(69)
  t.same(expired, [])
  timers.advance(1)
  t.same(expired, ['maxTime'])
})

t.test(
  'both stand still while the client is waited for, and go on from there (decisions: "Waiting for the client")',
  async t => {
    const { timers, expired, deadline } = setting(t, 100, 250)
    timers.advance(60)
    deadline.stop()
    deadline.stop()
    timers.advance(100_000)
    deadline.touch()
    timers.advance(100_000)
    t.same(expired, [])
    deadline.start()
    deadline.start()
    timers.advance(99)
    t.same(expired, [])
    deadline.touch()
    timers.advance(90)
    t.same(expired, [])
    timers.advance(1)
    t.same(expired, ['maxTime'], '60, 99 and 91 of the 250')
  }
)

t.test('one timer, none after the end', async t => {
  const { timers, expired, deadline } = setting(t, 100, 100)
  deadline.touch()
  t.equal(timers.count, 1)
  deadline.stop()
  t.equal(timers.count, 0)
  t.same(expired, [])
  deadline.start()
  timers.advance(100)
  t.same(expired, ['timeout'])
  t.equal(timers.count, 0)
})
