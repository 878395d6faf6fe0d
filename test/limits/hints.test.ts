/** docs/limits.md: for how long clients may keep what a backend says nothing of. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { namesIn, together } from '../helpers/union.ts'

t.test('backends.<name>.hints.lists.ttl: while it lasts a list is not read again, after it it is', async t => {
  const { url, servers } = await together(
    t,
    { a: { tools: ['x'] }, b: { tools: ['y'] } },
    { backends: { a: { hints: { lists: { ttl: '500ms' } } } } }
  )
  const client = new ModernClient(url)
  const list = async () => ({ json: await lastOf(await client.request('tools/list')) })
  await list()
  const began = performance.now()
  servers.a!.tools = ['new']
  servers.b!.tools = ['newer']
  const again = namesIn(await list())
  if (performance.now() - began < 400) t.same(again, ['x', 'y'])
  await sleep(600)
  t.same(namesIn(await list()), ['new', 'y'], 'that of the other one holds')
})

t.test('backends.<name>.hints.reads.ttl: that is what clients are told, else that they may not keep it', async t => {
  const scripts = { a: { resources: ['x://1'] }, b: { resources: ['y://1'] } }
  const { url, servers } = await together(t, scripts, { backends: { a: { hints: { reads: { ttl: '1s' } } } } })
  for (const server of Object.values(servers)) server.on('resources/read', turn => turn.answer('{"contents":[]}'))
  const client = new ModernClient(url)
  const told = async (uri: string) => (await lastOf(await client.request('resources/read', { uri }))).result.ttlMs
  t.equal(await told('x://1'), 1_000)
  t.equal(await told('y://1'), 0)
})
