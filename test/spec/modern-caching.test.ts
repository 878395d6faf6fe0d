/** How long lists may be kept (2026-07-28 server/utilities/caching; decisions: "`ttlMs`, `cacheScope`"). */
import t from 'tap'
import type { Catalog } from '../helpers/catalog.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { ask, startSeveral } from '../helpers/several.ts'

const hinted = (catalog: Catalog, ttlMs: number, cacheScope: string): unknown =>
  catalog.server.on('tools/list', turn =>
    turn.answer(JSON.stringify({ tools: catalog.lists.tools, ttlMs, cacheScope }))
  )

t.test('merged: the shortest time that is left, private when one is, the same for all pages', async t => {
  const { url, catalogs } = await startSeveral(
    t,
    { a: { tools: ['one', 'two'] }, b: { tools: ['three'] }, c: { prompts: ['p'] } },
    { route: { backends: ['a', 'b'], page: 2 } }
  )
  hinted(catalogs.a, 60_000, 'public')
  hinted(catalogs.b, 30_000, 'public')
  const client = new ModernClient(url)
  const first = (await lastOf(await client.request('tools/list'))).result
  const second = (await lastOf(await client.request('tools/list', { cursor: first.nextCursor }))).result
  for (const { ttlMs, cacheScope } of [first, second]) {
    t.equal(cacheScope, 'public')
    t.ok(ttlMs > 20_000 && ttlMs <= 30_000, `${ttlMs}`)
  }
  t.ok(second.ttlMs <= first.ttlMs)
  const legacy = await ask(await RawClient.open(url), 'tools/list')
  t.equal(legacy.result.ttlMs, undefined, 'nothing that older clients do not know')
  t.match((await lastOf(await client.request('prompts/list'))).result, { ttlMs: 0, cacheScope: 'private' })
})

t.test('a time that is over makes the gateway read the list again', async t => {
  const { url, catalogs } = await startSeveral(t, { a: { tools: ['one'] }, b: { tools: ['two'] } })
  hinted(catalogs.a, 40, 'private')
  const client = new ModernClient(url)
  await client.request('tools/list')
  const since = performance.now()
  const list = async () => (await lastOf(await client.request('tools/list'))).result
  while (catalogs.a.heard('tools/list') < 2) t.match(await list(), { ttlMs: 0, cacheScope: 'private' })
  t.ok(performance.now() - since >= 20)
  t.equal(catalogs.b.heard('tools/list'), 1, 'what says nothing holds until it says that it changed')
})
