/** Resources, templates and completions of several backends behind one route, from outside (MUX-03, MUX-08, R60-R75, R98). */
import t, { type Test } from 'tap'
import { stringParam, textParam } from '../../src/protocol/message.ts'
import { facts } from '../../src/telemetry/events.ts'
import type { RawClient } from '../helpers/raw-client.ts'
import type { Scripted } from '../helpers/scripted.ts'
import { type ServerScript, type TogetherOptions, together } from '../helpers/union.ts'

/** Every server says who it is in what it reads and completes. */
async function scene(t: Test, scripts: Readonly<Record<string, ServerScript>>, options: TogetherOptions = {}) {
  const all = await together(t, scripts, options)
  for (const server of Object.values(all.servers)) {
    server.on('resources/read', turn => {
      const uri = stringParam(turn.message, 'uri')
      turn.answer(JSON.stringify({ contents: [{ uri, text: server.name }] }))
    })
    server.on('resources/subscribe', turn => turn.answer('{}'))
    server.on('completion/complete', turn =>
      turn.answer(JSON.stringify({ completion: { values: [server.name, textParam(turn.message, 'ref')] } }))
    )
  }
  const { a, b } = all.servers
  return { ...all, a: a!, b: b!, client: await all.open() }
}

const listed = ({ json }: { readonly json: any }, key: string): string[] =>
  json.result[key].map((item: any) => item.uri ?? item.uriTemplate ?? item.name)

/** Who read it, or the error. */
async function reader(client: RawClient, uri: string): Promise<any> {
  const { json } = await client.request('resources/read', { uri })
  return json.error ?? json.result.contents[0].text
}

const reads = (server: Scripted): string[] => server.heardOf('resources/read').map(read => stringParam(read, 'uri')!)

t.test('a URI is compared as it is written, and reaches its backend as it is written', async t => {
  const odd = [
    'file:///Za%C5%82/ä b.pdf?x=1&y=%2F#part',
    'urn:isbn:0451450523',
    'x://A',
    'git://r/é/🚲',
    `x://${'l'.repeat(3_000)}`
  ]
  const { client, b } = await scene(t, { a: { resources: ['x://a'] }, b: { resources: odd } })
  for (const uri of odd) t.equal(await reader(client, uri), 'b', uri.slice(0, 40))
  t.same(reads(b), odd)
  t.equal(await reader(client, 'x://a'), 'a')
})

t.test('what is on a later page of its backend is found as well', async t => {
  const { client, b } = await scene(t, {
    a: { resources: [], capabilities: { resources: {} } },
    b: { resources: [], capabilities: { resources: {} } }
  })
  b.on('resources/list', turn => {
    const page = Number(stringParam(turn.message, 'cursor') ?? 0)
    const next = page < 4 ? { nextCursor: String(page + 1) } : {}
    turn.answer(JSON.stringify({ resources: [{ uri: `x://${page}`, name: 'x' }], ...next }))
  })
  t.equal(await reader(client, 'x://4'), 'b')
  t.equal(listed(await client.request('resources/list'), 'resources').length, 5)
})

t.test('contents pass as bytes: blobs, annotations, meta, numbers as they are written', async t => {
  const { client, b } = await scene(t, { a: { resources: ['x://1'] }, b: { resources: ['y://1'] } })
  const blob = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => i % 256)).toString('base64')
  const result =
    `{"contents":[{"uri":"y://1","mimeType":"image/png","blob":"${blob}","_meta":{"x/size":1.0}},` +
    '{"uri":"y:\\/\\/1","text":"","zz":null,"annotations":{"priority":0.10}}],"_meta":{"n":9007199254740993}}'
  b.on('resources/read', turn => turn.answer(result))
  const { text } = await client.request('resources/read', { uri: 'y://1' })
  t.ok(text.includes(result))
})

t.test('of two that list one URI the first of the config has it, and the log says so', async t => {
  const told: string[] = []
  t.teardown(facts.notice.subscribe(({ text }) => void told.push(text)))
  const { client } = await scene(t, {
    second: { resources: ['x://both', 'x://2'] },
    first: { resources: ['x://1', 'x://both'] }
  })
  t.same(listed(await client.request('resources/list'), 'resources'), ['x://both', 'x://2', 'x://1'])
  t.equal(await reader(client, 'x://both'), 'second')
  t.equal(told.filter(text => text.includes('x://both')).length, 1)
})

t.test('a listed URI wins over a template, a template over a prefix, whatever their order', async t => {
  const { client } = await scene(
    t,
    {
      prefix: { resources: [], capabilities: { resources: {} } },
      template: { resources: [], templates: ['x://{id}'] },
      list: { resources: ['x://listed'] }
    },
    { backends: { prefix: { uriPrefix: 'x://' } } }
  )
  t.equal(await reader(client, 'x://listed'), 'list')
  t.equal(await reader(client, 'x://made'), 'template')
  t.equal(await reader(client, 'x://deeper/still'), 'prefix')
})

t.test('a URI of nobody is -32002 with the URI, and nobody is asked', async t => {
  const { client, a, b } = await scene(t, { a: { resources: ['x://1'] }, b: { templates: ['y://{id}'] } })
  for (const uri of ['x://2', 'y://', '', 'X://1', 'x://1/']) {
    t.match(await reader(client, uri), { code: -32002, data: { uri } }, uri)
  }
  for (const uri of [undefined, 1, null]) {
    t.match((await client.request('resources/read', { uri })).json.error, { code: -32602 }, String(uri))
  }
  t.same([a, b].flatMap(reads), [])
})

t.test('what its backend says of a resource that is gone passes as it is', async t => {
  const { client, b } = await scene(t, { a: { resources: ['x://1'] }, b: { resources: ['y://1'] } })
  b.on('resources/read', turn => turn.refuse(-32002, 'gone since', { uri: 'y://1', when: 'now' }))
  t.same(await reader(client, 'y://1'), { code: -32002, message: 'gone since', data: { uri: 'y://1', when: 'now' } })
})

t.test('a denied resource is neither listed, nor read, nor completed, nor subscribed to', async t => {
  const capabilities = { resources: { subscribe: true }, completions: {} }
  const { client, a } = await scene(
    t,
    {
      a: { resources: ['x://open', 'x://secret/1'], templates: ['x://secret/{id}', 'x://open/{id}'], capabilities },
      b: { resources: ['y://1'] }
    },
    { backends: { a: { resources: { deny: ['x://secret/*'] } } } }
  )
  t.same(listed(await client.request('resources/list'), 'resources'), ['x://open', 'y://1'])
  t.same(listed(await client.request('resources/templates/list'), 'resourceTemplates'), ['x://open/{id}'])
  for (const uri of ['x://secret/1', 'x://secret/2']) {
    t.match(await reader(client, uri), { code: -32002, data: { uri } })
    t.match((await client.request('resources/subscribe', { uri })).json.error, { code: -32002 })
  }
  const ref = { type: 'ref/resource', uri: 'x://secret/{id}' }
  const completed = await client.request('completion/complete', { ref, argument: { name: 'id', value: '' } })
  t.ok(completed.json.error)
  t.equal(await reader(client, 'x://open/1'), 'a')
  t.same(reads(a), ['x://open/1'])
  t.equal(a.heardOf('completion/complete').length, 0)
})

t.test('a completion names the prompt as its backend does, whatever clients call it', async t => {
  const capabilities = { prompts: {}, completions: {} }
  const { client } = await scene(
    t,
    { a: { prompts: ['greet', 'plain'], capabilities }, b: { prompts: ['greet'], capabilities } },
    { backends: { b: { prompts: { rename: { greet: 'welcome' } } } } }
  )
  t.same(listed(await client.request('prompts/list'), 'prompts'), ['greet', 'plain', 'welcome'])
  const complete = async (name: string): Promise<any> => {
    const params = { ref: { type: 'ref/prompt', name }, argument: { name: 'n', value: 'v' } }
    const { json } = await client.request('completion/complete', params)
    return json.error ?? json.result.completion.values
  }
  t.same(await complete('welcome'), ['b', '{"type":"ref/prompt","name":"greet"}'])
  t.same(await complete('b_welcome'), ['b', '{"type":"ref/prompt","name":"greet"}'])
  t.same(await complete('greet'), ['a', '{"type":"ref/prompt","name":"greet"}'])
  t.same(await complete('a_plain'), ['a', '{"type":"ref/prompt","name":"plain"}'])
  t.match(await complete('nobody'), { code: -32602 })
})

t.test('a completion of a template goes to its backend, of two with the same one to the first', async t => {
  const capabilities = { resources: {}, completions: {} }
  const { client } = await scene(t, {
    a: { templates: ['x://{id}'], capabilities },
    b: { templates: ['y://{id}', 'x://{id}'], capabilities }
  })
  const complete = async (uri: string): Promise<any> => {
    const params = { ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: '' } }
    const { json } = await client.request('completion/complete', params)
    return json.error ?? json.result.completion.values[0]
  }
  t.equal(await complete('y://{id}'), 'b')
  t.equal(await complete('x://{id}'), 'a')
  t.ok((await complete('z://{id}')).code)
})

const linking = (uri: string): string =>
  JSON.stringify({
    content: [
      { type: 'text', text: 'see' },
      { type: 'resource_link', uri, name: 'x' }
    ]
  })

t.test('a link in the result of a tool is read where it came from: listed, or of a template', async t => {
  const { client, b } = await scene(t, {
    a: { tools: ['a'], resources: ['x://1'], templates: ['x://{id}'] },
    b: { tools: ['link'], resources: ['y://1'], templates: ['y://r/{id}'] }
  })
  for (const uri of ['y://1', 'y://r/7']) {
    b.on('tools/call', turn => turn.answer(linking(uri)))
    const { json } = await client.call('link')
    t.equal(await reader(client, json.result.content[1].uri), 'b')
  }
})

t.test('R91: a linked resource that nobody lists is read where the link came from', async t => {
  const { client, b, open } = await scene(t, {
    a: { tools: ['a'], resources: ['x://1'] },
    b: { tools: ['link'], prompts: ['ask'], resources: ['y://1'] }
  })
  t.match(await reader(client, 'w://made'), { code: -32002 })
  b.on('tools/call', turn => turn.answer(linking('w://made')))
  await client.call('link')
  t.equal(await reader(client, 'w://made'), 'b')
  t.equal((await client.request('resources/subscribe', { uri: 'w://made' })).json.error, undefined)
  t.match(await reader(await open(), 'w://made'), { code: -32002 }, 'for the session that was given it')
  const link = { type: 'resource_link', uri: 'w://other', name: 'x' }
  b.on('prompts/get', turn => turn.answer(JSON.stringify({ messages: [{ role: 'user', content: link }] })))
  await client.request('prompts/get', { name: 'ask' })
  t.equal(await reader(client, 'w://other'), 'b')
})

t.test('what was read in parts, or updated below what was subscribed to, is read at the same backend', async t => {
  const { client, b } = await scene(t, { a: { resources: ['x://1'] }, b: { tools: ['link'], resources: ['y://dir'] } })
  b.on('resources/read', turn => turn.answer('{"contents":[{"uri":"w://part","text":"b"}]}'))
  await client.request('resources/read', { uri: 'y://dir' })
  t.equal(await reader(client, 'w://part'), 'b')
  await client.request('resources/subscribe', { uri: 'y://dir' })
  b.on('tools/call', turn => {
    turn.notify('notifications/resources/updated', { uri: 'y://dir/new' })
    turn.answer('{"content":[]}')
  })
  const { events } = await client.call('link')
  await events.whole()
  t.equal(await reader(client, 'y://dir/new'), 'b')
})
