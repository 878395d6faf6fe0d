/** Upstreams that flood share the event loop with everybody else: one flood must not hold up the rest. */
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { Flow } from '../../src/backends/flow.ts'
import { LoopShare } from '../../src/backends/loop-share.ts'
import { Clock } from '../helpers/clock.ts'

const flood = 65_536

/** A share whose clock stands still, and a flow that notes what is done to its valve. */
function setting() {
  const clock = new Clock()
  const share = new LoopShare(() => clock.now())
  const log: string[] = []
  const flow = (name: string, onResume: () => unknown = () => {}): Flow =>
    new Flow(
      {
        pause: () => void log.push(`${name} rests`),
        resume: () => {
          log.push(`${name} goes on`)
          onResume()
        }
      },
      share
    )
  return { clock, log, flow }
}

t.test('for 2 ms a flood is read on, then it waits for a later turn of the event loop', async t => {
  const { clock, log, flow } = setting()
  const [a, b] = [flow('a'), flow('b')]
  a.took(flood)
  clock.advance(1)
  a.took(flood)
  t.same(log, [])
  clock.advance(1)
  a.took(flood)
  b.took(flood)
  t.same(log.splice(0), ['a rests', 'b rests'])
  await turn()
  t.same(log.splice(0), ['a goes on'], 'one in a turn')
  await turn()
  t.same(log.splice(0), ['b goes on'])
  await turn()
  a.took(flood)
  t.same(log, [], 'a new turn')
})

t.test('small pieces add up; what sends less than 4 KiB in a turn never waits', async t => {
  const { clock, log, flow } = setting()
  const [small, large] = [flow('small'), flow('large')]
  for (let i = 0; i < 20; i++) {
    clock.advance(1)
    small.took(200)
    large.took(1_000)
  }
  t.same(log, ['large rests'])
  await turn()
})

t.test('while others wait whoever had its share goes behind them', async t => {
  const { clock, log, flow } = setting()
  let left = 9
  for (const name of ['a', 'b', 'c']) {
    const one: Flow = flow(name, () => left-- > 0 && one.took(flood))
    // The first one begins the turn.
    one.took(0)
    clock.advance(2)
    one.took(flood)
  }
  for (let i = 0; i < 20; i++) await turn()
  const order = log.filter(line => line.endsWith('goes on')).map(line => line[0])
  t.equal(order.join(''), 'abcabcabcabc')
})

t.test('an upstream is read while its reader keeps up and it is its turn, and only then', async t => {
  const log: string[] = []
  const again: (() => void)[] = []
  const share = { turn: () => 1, enough: (go: () => void) => again.push(go) > 0 } as unknown as LoopShare
  const flow = new Flow({ pause: () => void log.push('pause'), resume: () => void log.push('resume') }, share)
  flow.took(flood)
  t.same(log, ['pause'])
  flow.took(flood)
  t.equal(again.length, 1, 'it waits once')
  flow.hold()
  flow.release()
  t.same(log, ['pause', 'pause'], 'it is not its turn')
  flow.hold()
  again[0]!()
  t.notOk(log.includes('resume'), 'the reader is behind')
  flow.release()
  t.same(log.at(-1), 'resume')
  flow.took(flood)
  again[1]!()
  t.same(log.slice(-2), ['pause', 'resume'])
})
