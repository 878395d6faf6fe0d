/** Every target of `npm run fuzz` for a moment: that it runs, and that it would tell. */
import fc from 'fast-check'
import t from 'tap'
import { run } from './run.ts'
import { targets } from './targets.ts'

for (const [name, target] of Object.entries(targets)) {
  for (const property of Object.keys(target.properties)) {
    t.test(`${name}: ${property}`, async t => {
      const seed = Math.floor(Math.random() * 2 ** 31)
      const { inputs, failure } = await run(name, target, { seed, property, runs: 100, rounds: 1 })
      t.equal(failure, undefined)
      t.equal(inputs, 100)
    })
  }
}

t.test('a property that does not hold is told with what it takes to see it again', async t => {
  let closed = 0
  const target = {
    properties: { 'no number is large': fc.property(fc.nat(), number => number < 1_000) },
    open: async () => async () => void closed++
  }
  const { failure } = await run('x', target, { seed: 7, seconds: 5 })
  const [, property, seed, path] =
    /again: npm run fuzz -- --target x --property "(.+)" --seed (-?\d+) --path "(.+)"/.exec(failure ?? '') ?? []
  t.match(failure, /Counterexample: \[1000\]/)
  const again = await run('x', target, { seed: Number(seed), property, path, rounds: 1 })
  t.match(again.failure, /Counterexample: \[1000\]/)
  t.equal(again.inputs, 1, 'at once')
  t.equal(closed, 2)
})
