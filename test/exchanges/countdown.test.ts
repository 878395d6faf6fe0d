import t, { type Test } from 'tap'
import { Countdown, Countdowns, Waiting } from '../../src/exchanges/countdown.ts'
import { Timers } from '../helpers/timers.ts'

class Bell extends Waiting {
  readonly #rung: () => void
  constructor(rung: () => void) {
    super()
    this.#rung = rung
  }
  override ring(): void {
    this.#rung()
  }
}

function setting(t: Test) {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const rung: string[] = []
  const countdown = new Countdown(100)
  const start = (name: string): Bell => {
    const bell = new Bell(() => void rung.push(name))
    countdown.start(bell)
    return bell
  }
  return { timers, rung, countdown, start }
}

t.test('each rings once, when its time is over, in the order in which they began', async t => {
  const { timers, rung, start } = setting(t)
  start('a')
  timers.advance(30)
  start('b')
  start('c')
  timers.advance(69)
  t.same(rung, [])
  timers.advance(1)
  t.same(rung, ['a'])
  timers.advance(29)
  t.same(rung, ['a'])
  timers.advance(1)
  t.same(rung, ['a', 'b', 'c'])
  timers.advance(1_000)
  t.same(rung, ['a', 'b', 'c'])
  t.equal(timers.count, 0)
})

t.test('who is stopped does not ring, wherever it stands; the others do', async t => {
  const { timers, rung, start, countdown } = setting(t)
  const [first, middle, last] = ['first', 'middle', 'last'].map(start)
  start('rest')
  for (const bell of [middle, first, first]) countdown.stop(bell!)
  t.equal(timers.count, 1)
  timers.advance(50)
  countdown.stop(last!)
  start('later')
  timers.advance(50)
  t.same(rung, ['rest'])
  timers.advance(50)
  t.same(rung, ['rest', 'later'])
})

t.test('with nobody waiting there is no timer; what was stopped can wait again', async t => {
  const { timers, rung, start, countdown } = setting(t)
  const bell = start('a')
  t.equal(timers.count, 1)
  countdown.stop(bell)
  t.equal(timers.count, 0)
  timers.advance(60)
  countdown.start(bell)
  timers.advance(99)
  t.same(rung, [])
  timers.advance(1)
  t.same(rung, ['a'])
})

t.test('who begins again, or begins another, while the bell rings waits its whole time', async t => {
  const { timers, countdown } = setting(t)
  const times: number[] = []
  const bell: Bell = new Bell(() => {
    times.push(timers.now())
    if (times.length < 3) countdown.start(bell)
  })
  const before = timers.now()
  countdown.start(bell)
  timers.advance(500)
  t.same(
    times.map(time => time - before),
    [100, 200, 300]
  )
})

t.test('there is one countdown of each length', async t => {
  const countdowns = new Countdowns()
  t.equal(countdowns.of(5), countdowns.of(5))
  t.not(countdowns.of(5), countdowns.of(6))
})
