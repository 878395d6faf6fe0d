/** What one backend behind a route can do, it can do beside a second one (MUX-03). */
import t from 'tap'
import type { CatalogOptions } from '../helpers/catalog.ts'
import type { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { called, startSeveral, wholeList } from '../helpers/several.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const everything: CatalogOptions = {
  tools: ['read', 'write'],
  prompts: ['greet'],
  resources: ['docs://one', 'docs://two'],
  templates: ['docs://{name}'],
  instructions: 'read before you write',
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
    logging: {}
  }
}
/** No prompts, no resources, no completions, no logging. */
const toolsOnly: CatalogOptions = { tools: ['count'] }

const asked: readonly (readonly [method: string, params: object])[] = [
  ['tools/call', { name: 'read', arguments: {} }],
  ['prompts/get', { name: 'greet' }],
  ['resources/read', { uri: 'docs://one' }],
  ['resources/read', { uri: 'docs://by-template' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'x', value: 'y' } }],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'docs://{name}' }, argument: { name: 'name', value: 'o' } }
  ],
  ['logging/setLevel', { level: 'error' }],
  ['resources/subscribe', { uri: 'docs://one' }],
  ['resources/unsubscribe', { uri: 'docs://one' }]
]

async function results(client: RawClient): Promise<unknown[]> {
  const found: unknown[] = []
  for (const [method, params] of asked) {
    const { json } = await client.request(method, params)
    found.push([method, json.result ?? json.error])
  }
  return found
}

const lists = async (client: RawClient) => ({
  tools: await wholeList(client, 'tools/list'),
  prompts: await wholeList(client, 'prompts/list'),
  resources: await wholeList(client, 'resources/list'),
  templates: await wholeList(client, 'resources/templates/list')
})

t.test('everything that works with one backend works with a second one beside it (MUX-03)', async t => {
  const alone = await startSeveral(t, { docs: everything })
  const beside = await startSeveral(t, { docs: everything, counter: toolsOnly })
  for (const { catalogs } of [alone, beside]) {
    catalogs.docs.server.on('completion/complete', turn => turn.answer('{"completion":{"values":["one"]}}'))
  }
  const [one, two] = [await alone.open(), await beside.open()]
  t.match(two.server.capabilities, one.server.capabilities)
  t.match(two.server.instructions, everything.instructions)
  const [before, after] = [await lists(one), await lists(two)]
  t.same(after.tools.slice(0, 2), before.tools, 'names stay what they were')
  t.equal(after.tools[2].name, 'count')
  t.same({ ...after, tools: [] }, { ...before, tools: [] })
  t.same(await results(two), await results(one))
  for (const [method] of asked.slice(1))
    t.equal(beside.catalogs.counter.heard(method), 0, `${method} is not for a backend that lacks it`)
  for (const method of ['prompts/list', 'resources/list', 'resources/templates/list'])
    t.equal(beside.catalogs.counter.heard(method), 0, `${method} is not for a backend that lacks it`)
})

t.test('what nobody serves is an empty list, or an error that says so (MUX-03)', async t => {
  const { open } = await startSeveral(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const client = await open()
  for (const method of ['prompts/list', 'resources/list', 'resources/templates/list']) {
    const { json } = await client.request(method)
    if (json.error !== undefined) t.equal(json.error.code, -32601, method)
    else t.same(Object.values(json.result)[0], [], method)
  }
  t.match((await client.request('prompts/get', { name: 'x' })).json, { error: { code: Number } })
  t.match((await client.request('resources/read', { uri: 'x://y' })).json, {
    error: { code: -32002, data: { uri: 'x://y' } }
  })
})

t.test('a backend that comes late adds itself: nothing is ever missing of the others (MUX-03)', async t => {
  const { open, catalogs } = await startSeveral(
    t,
    { docs: everything, late: { tools: ['late'], prompts: ['late'] } },
    { route: { initTimeout: '100ms', listTimeout: '200ms' }, backends: { late: { breaker: { pause: '50ms' } } } }
  )
  await catalogs.late.goDown()
  const client = await open()
  const channel = await client.get()
  const listed = async (): Promise<string[]> => (await wholeList(client, 'tools/list')).map(({ name }) => name)
  t.same(await listed(), ['read', 'write'])
  await catalogs.late.comeBack()
  await channel.events.message(({ method }) => method === 'notifications/tools/list_changed', 15_000)
  await until('it is there', async () => {
    const found = await listed()
    t.same(found.slice(0, 2), ['read', 'write'], 'what was there stays')
    return found.includes('late')
  })
  t.match(await called(client, 'late'), { result: { from: 'late' } })
  t.match((await client.request('prompts/get', { name: 'late' })).json, { result: { from: 'late' } })
})
