/** Floods that nobody reads go on slowly, all together. */
import t from 'tap'
import { Trickle } from '../../src/streams/trickle.ts'
import { Timers } from '../helpers/timers.ts'

const timers = new Timers()
t.teardown(() => timers.restore())
const settle = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Takes turns for as long as it need not wait. */
async function run(trickle: Trickle, bytes: number, most: number, count: { n: number }): Promise<void> {
  while (count.n < most) {
    count.n++
    await trickle.turn(bytes)
  }
}

t.test('50 messages in 10 ms, whoever says them, then the others; no timer is left', async t => {
  const trickle = new Trickle()
  const [a, b] = [{ n: 0 }, { n: 0 }]
  void run(trickle, 100, 100, a)
  void run(trickle, 100, 20, b)
  await settle()
  t.ok(a.n + b.n >= 50 && a.n + b.n <= 52, `${a.n} and ${b.n} at once`)
  const before = a.n + b.n
  timers.advance(10)
  await settle()
  t.ok(a.n + b.n - before <= 52, `${a.n} and ${b.n} after 10 ms`)
  for (let i = 0; i < 10; i++) {
    timers.advance(10)
    await settle()
  }
  t.same([a.n, b.n], [100, 20])
  t.equal(timers.count, 0)
})

t.test('large messages cost more', async t => {
  const trickle = new Trickle()
  const count = { n: 0 }
  void run(trickle, 16_384 * 9, 1_000, count)
  await settle()
  t.equal(count.n, 5)
  timers.advance(10)
  await settle()
  t.equal(count.n, 10)
})
