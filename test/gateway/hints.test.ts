import t from 'tap'
import type { Server } from '../../src/backends/backend.ts'
import { hintOf, noHint, ofDiscovery, together, withHint } from '../../src/gateway/hints.ts'
import { makeResult } from '../../src/protocol/make.ts'
import { value } from '../../src/protocol/write.ts'

const shared = (ttlMs: number) => ({ ttlMs, shared: true })

t.test('what an upstream says of keeping a result; what it says badly is none', async t => {
  t.same(hintOf('60000', '"public"'), shared(60_000))
  t.same(hintOf('5', '"private"'), { ttlMs: 5, shared: false })
  t.same(hintOf(undefined, '"public"'), shared(0))
  for (const ttl of ['-1', '1.5', '"5"', 'null', '1e3']) t.same(hintOf(ttl, '"everybody"'), noHint, `${ttl}`)
  t.equal(hintOf(undefined, undefined), undefined, 'it says nothing')
})

t.test('of several the shortest, and private when one is', async t => {
  t.same(together([shared(60_000), shared(1_000)]), shared(1_000))
  t.same(together([shared(60_000), { ttlMs: 70_000, shared: false }]), { ttlMs: 60_000, shared: false })
  t.same(together([shared(60_000), noHint]), noHint)
  t.same(together([]), noHint)
  const response = withHint(makeResult('1', { tools: [] }), together([shared(0.7)]))
  t.same((value(response) as any).result, { ttlMs: 0, cacheScope: 'public', tools: [] })
})

t.test('what a server says of itself holds from when it said so', async t => {
  const server = (result: object): Server => ({
    version: '2026-07-28',
    capabilities: {},
    result: '{}',
    discovered: JSON.stringify(result),
    discoveredAt: 1_000
  })
  t.same(ofDiscovery(server({ ttlMs: 500, cacheScope: 'public' }), 1_200), shared(300))
  t.same(ofDiscovery(server({ ttlMs: 500, cacheScope: 'public' }), 2_000), shared(0))
  t.same(ofDiscovery(server({ ttlMs: 500 }), 1_000), { ttlMs: 500, shared: false })
  t.equal(ofDiscovery(server({}), 1_000), undefined)
  t.equal(ofDiscovery({ version: '2025-11-25', capabilities: {}, result: '{"ttlMs":5}' }, 0), undefined)
})
