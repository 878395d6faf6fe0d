/** What the tools of several backends are called, and that each name is one tool of one backend (MUX-01, S13). */
import t from 'tap'
import type { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { names, startSeveral, wholeList } from '../helpers/several.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const tools = async (client: RawClient): Promise<string[]> => names(await wholeList(client, 'tools/list'))

/** Which backend answers to a name, and what it is called there; undefined: the name is unknown. */
async function meant(client: RawClient, name: string): Promise<[from: string, tool: string] | undefined> {
  const { json, text } = await client.call(name)
  if (json?.error?.code === -32602) return undefined
  if (json?.result === undefined) throw new Error(`${name}: ${text}`)
  return [json.result.from, json.result.tool]
}

const ambiguous = [
  {
    what: 'backends whose names hold the separator',
    backends: { a: ['b__c', 'x'], a__b: ['c', 'x'], 'a-b': ['c'] },
    route: { prefix: 'always', separator: '__' }
  },
  {
    what: 'the same where prefixes are only for clashes',
    backends: { a: ['b_c', 'c'], a_b: ['c', 'a_c'], 'a-b': ['c'] },
    route: {}
  },
  {
    what: 'own names that look like others with a prefix',
    backends: { a: ['x', 'b_x', 'a_x'], b: ['x', 'a_x'], c: ['b_x'] },
    route: {}
  },
  {
    what: 'backends whose names differ in the case alone',
    backends: { docs: ['search', 'Search'], Docs: ['search', 'SEARCH'] },
    route: {}
  },
  {
    what: 'names that objects have by themselves',
    backends: { a: ['__proto__', 'constructor', 'toString'], b: ['__proto__', 'hasOwnProperty'] },
    route: {}
  },
  {
    what: 'names with other characters, and long ones',
    backends: {
      a: ['a.b', 'a/b', 'a b', 'é', '_lead', 'x'.repeat(64), 'y'.repeat(200)],
      b: ['a-b', 'a:b', 'a b', 'ü', '_lead', 'x'.repeat(64), `${'y'.repeat(199)}z`]
    },
    route: { prefix: 'always' }
  },
  {
    what: 'markup and right-to-left text',
    backends: { a: ['<img src=x onerror=alert(1)>', '\u202eexe.txt'], b: ['<img src=x onerror=alert(1)>', 'search'] },
    route: {}
  }
]

for (const { what, backends, route } of ambiguous) {
  t.test(`${what}: each advertised name is one tool of one backend (MUX-01, S13)`, async t => {
    const of = Object.fromEntries(Object.entries(backends).map(([name, tools]) => [name, { tools }]))
    const { open } = await startSeveral(t, of, { route })
    const client = await open()
    const listed = await tools(client)
    t.equal(new Set(listed).size, listed.length, 'no name stands twice')
    for (const name of listed) t.match(name, /^[A-Za-z0-9_.-]{1,64}$/)
    const found = await Promise.all(listed.map(name => meant(client, name)))
    const expected = Object.entries(backends).flatMap(([from, tools]) => tools.map(tool => [from, tool]))
    t.same(found, expected, 'all of them, in the order of the config, by their own names upstream')
  })
}

t.test('a name that two backends have is neither of them, and both are to be had by their prefix (MUX-01)', async t => {
  const { open } = await startSeveral(t, { a: { tools: ['search', 'one'] }, b: { tools: ['search', 'two'] } })
  const client = await open()
  t.same(await tools(client), ['a_search', 'one', 'b_search', 'two'])
  t.equal(await meant(client, 'search'), undefined)
  t.same(await meant(client, 'b_two'), ['b', 'two'], 'a prefix is never wrong')
  for (const nobody of ['a_two', 'c_one', 'a_', '_one', 'a_a_search', 'toString', 'ONE'])
    t.equal(await meant(client, nobody), undefined, nobody)
})

t.test('an unknown tool is told as one, and no backend is asked (MUX-01)', async t => {
  const { open, catalogs } = await startSeveral(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const client = await open()
  const { status, json } = await client.call('nobody')
  t.equal(status, 200)
  t.match(json, { id: client.lastId, error: { code: -32602, message: /nobody/ } })
  t.equal(catalogs.a.heard('tools/call') + catalogs.b.heard('tools/call'), 0)
})

t.test('without prefixes the first of the config has the name, and the operator can see it (MUX-01, S13)', async t => {
  const { open } = await startSeveral(
    t,
    { b: { tools: ['search', 'x'] }, a: { tools: ['search', 'y'] } },
    { route: { prefix: 'never' } }
  )
  const client = await open()
  t.same(await tools(client), ['search', 'x', 'y'])
  t.same(await meant(client, 'search'), ['b', 'search'])
})

t.test('names do not depend on which backend is quicker, and stay while one is away (MUX-01)', async t => {
  for (const slow of ['a', 'b'] as const) {
    const { open, catalogs } = await startSeveral(
      t,
      { a: { tools: ['x', 'own'] }, b: { tools: ['x', 'other'] } },
      { route: { listTimeout: '300ms' } }
    )
    catalogs[slow].server.on('tools/list', async turn => {
      await new Promise(resolve => setTimeout(resolve, 50))
      turn.answer(JSON.stringify({ tools: catalogs[slow].lists.tools }))
    })
    const client = await open()
    t.same(await tools(client), ['a_x', 'own', 'b_x', 'other'])
    await catalogs[slow].goDown()
    const late = await open()
    for (const one of [client, late]) {
      const listed = await tools(one)
      t.notOk(listed.includes('x'), 'a clash stays one while its other side is dead')
      t.equal(await meant(one, 'x'), undefined)
    }
    const alive = slow === 'a' ? 'b' : 'a'
    t.same(await meant(late, `${alive}_x`), [alive, 'x'])
  }
})

t.test('a tool that another backend comes to have is no longer to be had by its name alone (S13)', async t => {
  const { open, catalogs } = await startSeveral(t, { a: { tools: ['pay'] }, b: { tools: ['x'] } })
  const client = await open()
  const channel = await client.get()
  t.same(await meant(client, 'pay'), ['a', 'pay'])
  await until('both are listened to', () => catalogs.a.channels.size + catalogs.b.channels.size === 2)
  catalogs.b.change('tools', ['x', 'pay'])
  await channel.events.message(({ method }) => method === 'notifications/tools/list_changed')
  t.same(await tools(client), ['a_pay', 'x', 'b_pay'])
  t.equal(await meant(client, 'pay'), undefined, 'the other one does not take its place')
  t.same(await meant(client, 'a_pay'), ['a', 'pay'])
})

t.test('what a backend says of its tool later is told: list_changed, then the new description (S13)', async t => {
  const described = (description: string) => [{ name: 'x', description, inputSchema: { type: 'object' } }]
  const { open, catalogs } = await startSeveral(t, { a: { tools: described('reads') }, b: { tools: ['y'] } })
  const client = await open()
  const channel = await client.get()
  t.match(await wholeList(client, 'tools/list'), [{ description: 'reads' }, { name: 'y' }])
  await until('both are listened to', () => catalogs.a.channels.size + catalogs.b.channels.size === 2)
  catalogs.a.change('tools', described('deletes'))
  await channel.events.message(({ method }) => method === 'notifications/tools/list_changed')
  t.match(await wholeList(client, 'tools/list'), [{ description: 'deletes' }, { name: 'y' }])
})

t.test('names with control characters, and empty ones, are not shown and not to be had (S13)', async t => {
  const bad = ['a\r\nb', '\u0000', 'tab\there', '', '\u001b[31mred']
  const { open, catalogs } = await startSeveral(t, { a: { tools: [...bad, 'good'] }, b: { tools: ['other'] } })
  const client = await open()
  t.same(await tools(client), ['good', 'other'])
  for (const name of bad) t.equal(await meant(client, name), undefined, JSON.stringify(name))
  t.equal(catalogs.a.heard('tools/call'), 0)
})

t.test('prompts are named like tools (MUX-01)', async t => {
  const { open } = await startSeveral(t, { a: { prompts: ['greet', 'one'] }, b: { prompts: ['greet'] } })
  const client = await open()
  t.same(names(await wholeList(client, 'prompts/list')), ['a_greet', 'one', 'b_greet'])
  for (const [name, from, prompt] of [
    ['a_greet', 'a', 'greet'],
    ['b_greet', 'b', 'greet'],
    ['one', 'a', 'one']
  ] as const) {
    const { json } = await client.request('prompts/get', { name })
    t.match(json.result, { from, prompt })
  }
  t.match((await client.request('prompts/get', { name: 'greet' })).json, { error: { code: -32602 } })
})
