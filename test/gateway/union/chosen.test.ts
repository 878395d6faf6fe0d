/** What of backends is served, and under which names, over the wire: choices of the config, odd names, shadowing (S13). */
import t from 'tap'
import { stringParam } from '../../../src/protocol/message.ts'
import { notices } from '../../helpers/module-link.ts'
import { namesIn, said, together } from '../../helpers/union.ts'

const unknown = (name: string) => ({ error: { code: -32602, message: `unknown tool: ${name}` } })

t.test('what is not allowed is as unknown as what does not exist, in lists and calls (R196)', async t => {
  const { open, servers } = await together(
    t,
    { a: { tools: ['read_a', 'read_secret', 'write'] }, b: { tools: ['write'] } },
    { backends: { a: { tools: { allow: ['read_*'], deny: ['*secret'] } } } }
  )
  const client = await open()
  t.same(namesIn(await client.request('tools/list')), ['read_a', 'write'], 'a clash of what is not served is none')
  t.equal(said(await client.call('write')), 'b:write {}')
  t.equal(said(await client.call('read_a')), 'a:read_a {}')
  for (const name of ['read_secret', 'a_read_secret', 'a_write', 'nowhere']) {
    t.match((await client.call(name)).json, unknown(name))
  }
  t.same(
    servers.a!.heardOf('tools/call').map(message => stringParam(message, 'name')),
    ['read_a']
  )
})

t.test('a backend alone is chosen from in the same way, and keeps its names', async t => {
  const { open } = await together(
    t,
    { a: { tools: ['get', 'put', 'c'] } },
    { backends: { a: { tools: { rename: { get: 'fetch' }, describe: { get: 'Gets "it"' }, deny: ['c'] } } } }
  )
  const client = await open()
  const { json } = await client.request('tools/list')
  t.same(json.result.tools, [
    { name: 'fetch', inputSchema: { type: 'object' }, description: 'Gets "it"' },
    { name: 'put', inputSchema: { type: 'object' } }
  ])
  t.equal(said(await client.call('fetch')), 'a:get {}', 'its own name goes upstream')
  t.match((await client.call('get')).json, unknown('get'))
  t.match((await client.call('c')).json, unknown('c'))
})

t.test('a prefix of its own, always and with another separator', async t => {
  const { open } = await together(
    t,
    { a: { tools: ['x'], prompts: ['p'] }, b: { tools: ['y'] } },
    { route: { prefix: 'always', separator: '.' }, backends: { a: { prefix: 'first' } } }
  )
  const client = await open()
  t.same(namesIn(await client.request('tools/list')), ['first.x', 'b.y'])
  t.same(namesIn(await client.request('prompts/list'), 'prompts'), ['first.p'])
  t.equal(said(await client.call('first.x')), 'a:x {}')
  t.match((await client.call('x')).json, unknown('x'))
})

t.test('a backend alone has prefixes with `always`', async t => {
  const { open } = await together(t, { a: { tools: ['x'] } }, { route: { prefix: 'always' } })
  const client = await open()
  t.same(namesIn(await client.request('tools/list')), ['a_x'])
  t.equal(said(await client.call('a_x')), 'a:x {}')
})

t.test(
  'never: the first in config order has the name, which is logged; the other is called by its full name',
  async t => {
    const told = notices(t)
    const { open } = await together(
      t,
      { b: { tools: ['x'] }, a: { tools: ['x', 'y'] } },
      { route: { prefix: 'never' } }
    )
    const client = await open()
    t.same(namesIn(await client.request('tools/list')), ['x', 'y'])
    t.equal(said(await client.call('x')), 'b:x {}')
    t.equal(said(await client.call('a_x')), 'a:x {}')
    t.match(
      told.filter(({ data }) => data?.clashes !== undefined),
      [{ level: 'warn', data: { clashes: [{ name: 'x', backends: ['b', 'a'] }] } }]
    )
  }
)

t.test('a backend that names its tools like those of another gets none of its calls (S13)', async t => {
  const { open, servers } = await together(t, {
    good: { tools: ['search'] },
    bad: { tools: ['search', 'good_search', 'other'] }
  })
  const client = await open()
  const names = namesIn(await client.request('tools/list'))
  t.equal(new Set(names).size, 4)
  const [first] = names
  t.match(first, /^good_search_[0-9a-f]{10}$/, 'what bad took is nobody’s')
  t.equal(said(await client.call(first!)), 'good:search {}')
  t.match((await client.call('search')).json, unknown('search'))
  t.match((await client.call('good_search')).json, unknown('good_search'))
  t.equal(said(await client.call('bad_good_search')), 'bad:good_search {}')
  t.equal(servers.bad!.heardOf('tools/call').length, 1)
})

t.test(
  'odd names reach their tool with their own bytes; those with control characters are left out and logged (S13)',
  async t => {
    const told = notices(t)
    const odd = ['a b', 'a/b', 'é', '<img src=x onerror=alert(1)>', 'a\u202eb', '__proto__', 'x'.repeat(10_240)]
    const control = ['a\r\nInjected: 1', '\u001b[31mred', '', 'nul\u0000']
    const { open } = await together(t, { a: { tools: [...odd, ...control] }, b: { tools: ['y'] } })
    const client = await open()
    const names = namesIn(await client.request('tools/list'))
    t.equal(names.length, odd.length + 1)
    for (const [index, name] of names.entries()) {
      t.match(name, /^[A-Za-z0-9_.-]{1,64}$/)
      if (index < odd.length) t.equal(said(await client.call(name)), `a:${odd[index]} {}`)
    }
    for (const name of control) t.match((await client.call(name)).json, { error: { code: -32602 } })
    const [notice] = told.filter(({ data }) => data?.names !== undefined)
    t.match(notice, { level: 'warn', text: /^4 of tools at \/mcp are left out/, data: { names: [{ backend: 'a' }] } })
  }
)

t.test('one backend that is served as it is keeps its names, whatever they are', async t => {
  const names = ['a b', 'é', 'x'.repeat(200)]
  const { open } = await together(t, { a: { tools: names } })
  const client = await open()
  t.same(namesIn(await client.request('tools/list')), names)
  t.equal(said(await client.call('a b')), 'a:a b {}')
})

t.test('URIs that are denied, and those with control characters, are unknown and not listed (S13)', async t => {
  const told = notices(t)
  const { open, servers } = await together(
    t,
    {
      a: { resources: ['x://open/1', 'x://secret/1', 'x://a\nb'], templates: ['x://open/{id}', 'x://secret/{id}'] },
      b: { resources: ['y://1'] }
    },
    { backends: { a: { resources: { deny: ['x://secret/*'], describe: { 'x://open/1': 'The first' } } } } }
  )
  const client = await open()
  const { json } = await client.request('resources/list')
  t.same(json.result.resources, [
    { uri: 'x://open/1', name: 'x://open/1', description: 'The first' },
    { uri: 'y://1', name: 'y://1' }
  ])
  const templates = await client.request('resources/templates/list')
  t.same(
    templates.json.result.resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate),
    ['x://open/{id}']
  )
  for (const uri of ['x://secret/1', 'x://secret/2', 'x://open/../secret/1', 'x://open/%2e%2e/secret/1', 'x://a\nb']) {
    t.match((await client.request('resources/read', { uri })).json, { error: { code: -32002, data: { uri } } }, uri)
    t.match((await client.request('resources/subscribe', { uri })).json, { error: { code: -32002 } }, uri)
  }
  t.equal(servers.a!.heardOf('resources/read').length, 0)
  t.ok(told.some(({ text }) => /^1 of resources at \/mcp are left out/.test(text)))
})

t.test('of two backends whose `uriPrefix` fits, the longer one says most', async t => {
  const { open, servers } = await together(
    t,
    { a: { resources: ['x://1'] }, b: { resources: ['y://1'] } },
    { backends: { a: { uriPrefix: 'docs://' }, b: { uriPrefix: 'docs://b/' } } }
  )
  for (const server of Object.values(servers)) {
    server.on('resources/read', turn => turn.answer(JSON.stringify({ contents: [{ uri: 'u', text: server.name }] })))
  }
  const client = await open()
  const read = async (uri: string) => (await client.request('resources/read', { uri })).json.result.contents[0].text
  t.equal(await read('docs://b/1'), 'b')
  t.equal(await read('docs://c/1'), 'a')
})

t.test('what of the config fits no tool, and a clash, is logged once however often lists are read', async t => {
  const told = notices(t)
  const { open } = await together(
    t,
    { a: { tools: ['x', 'both'] }, b: { tools: ['both'] } },
    { route: { listTtl: '1ms' }, backends: { a: { tools: { deny: ['delete_*'] } } } }
  )
  const client = await open()
  for (let n = 0; n < 3; n++) await client.request('tools/list')
  const other = await open({ capabilities: { sampling: {} } })
  await other.request('tools/list')
  t.match(
    told.filter(({ data }) => data?.patterns !== undefined),
    [{ level: 'warn', backend: 'a', data: { patterns: ['delete_*'] } }]
  )
  t.equal(told.filter(({ data }) => data?.patterns !== undefined).length, 1)
  t.equal(told.filter(({ data }) => data?.clashes !== undefined).length, 1)
})
