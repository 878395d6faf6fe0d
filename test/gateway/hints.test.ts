import t from 'tap'
import { hintOf, noHint, together, withHint } from '../../src/gateway/hints.ts'
import { makeResult } from '../../src/protocol/make.ts'
import { value } from '../../src/protocol/write.ts'

t.test('what an upstream says of keeping a result; what it does not say, or badly, is none', async t => {
  t.same(hintOf('60000', '"public"'), { ttlMs: 60_000, shared: true })
  t.same(hintOf('5', '"private"'), { ttlMs: 5, shared: false })
  for (const ttl of [undefined, '-1', '1.5', '"5"', 'null', '1e3']) t.same(hintOf(ttl, '"everybody"'), noHint, `${ttl}`)
})

t.test('of several the shortest, and private when one is', async t => {
  const [long, short] = [hintOf('60000', '"public"'), hintOf('1000', '"public"')]
  t.same(together([long, short]), { ttlMs: 1_000, shared: true })
  t.same(together([long, hintOf('70000', undefined)]), { ttlMs: 60_000, shared: false })
  t.same(together([long, noHint]), noHint)
  t.same(together([]), noHint)
  const response = withHint(makeResult('1', { tools: [] }), together([{ ttlMs: 0.7, shared: true }]))
  t.same((value(response) as any).result, { ttlMs: 0, cacheScope: 'public', tools: [] })
})
