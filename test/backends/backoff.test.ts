import t from 'tap'
import { Backoff } from '../../src/backends/backoff.ts'
import { Clock } from '../helpers/clock.ts'

const make = (random = 0) => {
  const clock = new Clock()
  return { clock, backoff: new Backoff(clock.now, () => random) }
}

t.test('BKD-03 the wait doubles from 1 s to 30 s', t => {
  const { clock, backoff } = make()
  t.equal(backoff.remaining, 0)
  for (const expected of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    backoff.failed()
    t.equal(backoff.remaining, expected)
    clock.advance(expected)
    t.equal(backoff.remaining, 0)
  }
  t.end()
})

t.test('the wait is spread by a quarter', t => {
  const { backoff } = make(1)
  backoff.failed()
  t.equal(backoff.remaining, 750)
  t.end()
})

t.test('failures during the wait count as one', t => {
  const { clock, backoff } = make()
  for (let i = 0; i < 30; i++) backoff.failed()
  clock.advance(1_000)
  backoff.failed()
  t.equal(backoff.remaining, 2_000)
  t.end()
})

t.test('after a quiet minute the wait is short again', t => {
  const { clock, backoff } = make()
  for (let i = 0; i < 4; i++) {
    backoff.failed()
    clock.advance(backoff.remaining + 1)
  }
  clock.advance(60_000)
  backoff.failed()
  t.equal(backoff.remaining, 1_000)
  t.end()
})
