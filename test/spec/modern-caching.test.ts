/** How long lists may be kept (2026-07-28 server/utilities/caching; decisions: "`ttlMs`, `cacheScope`"). */
import t from 'tap'
import { type Authenticator, anonymous } from '../../src/auth/principal.ts'
import { type Asked, modern, result, type Said, startAnswering } from '../helpers/answering.ts'
import type { Catalog } from '../helpers/catalog.ts'
import { configOf, startGateway } from '../helpers/gateway.ts'
import { startLegacy } from '../helpers/legacy.ts'
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

const cacheable = [
  ['server/discover', {}],
  ['tools/list', {}],
  ['prompts/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'a:b' }]
] as const

/** The members of the result that say how long it may be kept. */
async function told(client: ModernClient, method: string, params: object = {}, saying?: object): Promise<object> {
  const { result, error } = await lastOf(await client.request(method, { ...params }, saying))
  if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  return { ttlMs: result.ttlMs, cacheScope: result.cacheScope }
}

const nothing = { ttlMs: 0, cacheScope: 'private' }

t.test('of a backend that says nothing the config does, else it is nothing; a reload tells at once', async t => {
  const file = (url: string, hints: object): Record<string, unknown> => ({
    backends: { docs: { kind: 'http', url, ...hints } }
  })
  const { url, gateway, server, upstream } = await startLegacy(t)
  server.initializeResult = JSON.stringify({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: 's', version: '1' }
  })
  server.on('tools/list', turn => turn.answer('{"tools":[]}'))
  server.on('prompts/list', turn => turn.answer('{"prompts":[]}'))
  server.on('resources/list', turn => turn.answer('{"resources":[]}'))
  server.on('resources/templates/list', turn => turn.answer('{"resourceTemplates":[]}'))
  server.on('resources/read', turn => turn.answer('{"contents":[]}'))
  const client = new ModernClient(url)
  for (const [method, params] of cacheable) t.same(await told(client, method, params), nothing, method)
  const hints = { lists: { ttl: '5m', scope: 'public' }, reads: { ttl: '30s' } }
  await gateway.reload(configOf(file(upstream.url, { hints })))
  for (const [method, params] of cacheable) {
    const expected =
      method === 'resources/read' ? { ttlMs: 30_000, cacheScope: 'private' } : { ttlMs: 300_000, cacheScope: 'public' }
    t.same(await told(client, method, params), expected, method)
  }
  const called = (await lastOf(await client.call('echo'))).result
  t.equal(called.ttlMs, undefined, 'calls are not kept')
})

t.test('a modern backend is believed; where it says half, the other half is the careful one', async t => {
  let said: object = { ttlMs: 60_000, cacheScope: 'public' }
  const upstream = await startAnswering(
    t,
    modern(asked => result(asked, { resultType: 'complete', contents: [], tools: [], ...said }), {
      capabilities: { tools: {}, resources: {} },
      ttlMs: 40_000,
      cacheScope: 'public'
    })
  )
  const { url } = await startGateway(t, {
    backends: { docs: { kind: 'http', url: upstream.url, hints: { lists: { ttl: '5m', scope: 'public' } } } }
  })
  const client = new ModernClient(url)
  t.same(await told(client, 'tools/list'), { ttlMs: 60_000, cacheScope: 'public' })
  t.same(await told(client, 'resources/read', { uri: 'a:b' }), { ttlMs: 60_000, cacheScope: 'public' })
  said = { cacheScope: 'public' }
  t.same(await told(client, 'tools/list'), { ttlMs: 0, cacheScope: 'public' })
  said = { ttlMs: 7 }
  t.same(await told(client, 'tools/list'), { ttlMs: 7, cacheScope: 'private' })
  said = {}
  t.same(await told(client, 'tools/list'), { ttlMs: 300_000, cacheScope: 'public' }, 'as configured')
  t.same(await told(client, 'resources/read', { uri: 'a:b' }), nothing)
  const retry = { uri: 'a:b', inputResponses: {}, requestState: 's' }
  t.same(await told(client, 'resources/read', retry), nothing, 'what a retry brings has them too (MRT-03)')
  const discovered = (await lastOf(await client.request('server/discover'))).result
  t.equal(discovered.cacheScope, 'public')
  t.ok(discovered.ttlMs > 20_000 && discovered.ttlMs < 40_000, `what is left of it: ${discovered.ttlMs}`)
})

t.test(
  'several: discovery is as good as that of the one that says least; who lacks a kind has no say in it',
  async t => {
    const discovered = (ttlMs: number) => ({ capabilities: { tools: {} }, ttlMs, cacheScope: 'public' })
    const listing = (ttlMs: number) => (asked: Asked) =>
      result(asked, { resultType: 'complete', tools: [], ttlMs, cacheScope: 'public' })
    const one = await startAnswering(t, modern(listing(50_000), discovered(60_000)))
    const two = await startAnswering(t, modern(listing(90_000), discovered(30_000)))
    const promptsOnly = await startAnswering(
      t,
      modern(asked => result(asked, { resultType: 'complete', prompts: [] }), {
        ...discovered(90_000),
        capabilities: { prompts: {}, resources: {} }
      })
    )
    const { url } = await startGateway(t, {
      backends: {
        one: { kind: 'http', url: one.url },
        two: { kind: 'http', url: two.url },
        three: {
          kind: 'http',
          url: promptsOnly.url,
          hints: { lists: { ttl: '20s', scope: 'public' }, reads: { ttl: '9s' } }
        }
      },
      routes: { '/mcp': { backends: ['one', 'two', 'three'] }, '/two': { backends: ['one', 'two'] } }
    })
    const client = new ModernClient(url)
    const whole = (await lastOf(await client.request('server/discover'))).result
    t.equal(whole.cacheScope, 'public')
    t.ok(whole.ttlMs > 15_000 && whole.ttlMs <= 30_000, `${whole.ttlMs}`)
    const tools = (await lastOf(await client.request('tools/list'))).result
    t.equal(tools.cacheScope, 'public')
    t.ok(tools.ttlMs > 40_000 && tools.ttlMs <= 50_000, `${tools.ttlMs}`)
    const prompts = (await lastOf(await client.request('prompts/list'))).result
    t.equal(prompts.cacheScope, 'public')
    t.ok(prompts.ttlMs > 10_000 && prompts.ttlMs <= 20_000, `${prompts.ttlMs}`)
    const nobody = (await lastOf(await new ModernClient(new URL('/two', url).href).request('prompts/list'))).result
    t.match(nobody, { ...nothing, prompts: [] })
  }
)

t.test('what is configured for a backend holds for its part of a merged list, and for what is read there', async t => {
  const { url } = await startSeveral(
    t,
    { a: { tools: ['one'], resources: ['a://x'] }, b: { tools: ['two'], resources: ['b://x'] } },
    {
      backends: {
        a: { hints: { lists: { ttl: '40s', scope: 'public' }, reads: { ttl: '3s', scope: 'public' } } },
        b: { hints: { lists: { ttl: '60s', scope: 'public' } } }
      }
    }
  )
  const client = new ModernClient(url)
  const { ttlMs, cacheScope } = (await lastOf(await client.request('tools/list'))).result
  t.equal(cacheScope, 'public')
  t.ok(ttlMs > 30_000 && ttlMs <= 40_000, `${ttlMs}`)
  t.same(await told(client, 'resources/read', { uri: 'a://x' }), { ttlMs: 3_000, cacheScope: 'public' })
  t.same(await told(client, 'resources/read', { uri: 'b://x' }), nothing)
  t.match(await told(client, 'server/discover'), { ttlMs: 40_000, cacheScope: 'public' })
})

t.test('a list is kept for who asked for it, whatever it says of itself (S12)', async t => {
  const authenticator: Authenticator = {
    authenticate: ({ authorization: user }) =>
      user === undefined ? anonymous : { key: `issuer ${user}`, issuer: 'issuer', subject: user }
  }
  let lists = 0
  const listing = (asked: Asked): Said => {
    const tools = [{ name: `tool-${++lists}`, inputSchema: {} }]
    return result(asked, { resultType: 'complete', tools, ttlMs: 3_600_000, cacheScope: 'public' })
  }
  const upstream = await startAnswering(t, modern(listing))
  const other = await startAnswering(
    t,
    modern(asked => result(asked, { resultType: 'complete', tools: [] }))
  )
  const { url } = await startGateway(
    t,
    { backends: { one: { kind: 'http', url: upstream.url }, two: { kind: 'http', url: other.url } } },
    import.meta.dirname,
    { authenticator }
  )
  const client = new ModernClient(new URL('/mcp', url).href)
  const namesFor = async (user: string | undefined) => {
    const saying = user === undefined ? {} : { headers: { authorization: user } }
    return (await lastOf(await client.request('tools/list', {}, saying))).result.tools[0].name
  }
  for (const _ of [1, 2]) {
    t.equal(await namesFor('ada'), 'tool-1')
    t.equal(await namesFor('bob'), 'tool-2')
    t.equal(await namesFor(undefined), 'tool-3')
  }
})
