/** Prompts, resources, templates and completions of several backends (MUX-03): each request goes to whose the name or URI is. */
import t from 'tap'
import { stringParam, textParam } from '../../../src/protocol/message.ts'
import { namesIn, type Stocked, together } from '../../helpers/union.ts'

const reads = (server: Stocked): Stocked => {
  server.on('resources/read', turn => {
    const uri = stringParam(turn.message, 'uri')
    turn.answer(JSON.stringify({ contents: [{ uri, text: server.name }] }))
  })
  server.on('completion/complete', turn =>
    turn.answer(JSON.stringify({ completion: { values: [server.name, textParam(turn.message, 'ref')] } }))
  )
  return server
}

const readBy = async (client: Awaited<ReturnType<typeof open>>['client'], uri: string) => {
  const { json } = await client.request('resources/read', { uri })
  return json.error ?? json.result.contents[0].text
}

async function open(t: Parameters<typeof together>[0], scripts: Parameters<typeof together>[1], options = {}) {
  const all = await together(t, scripts, options)
  for (const server of Object.values(all.servers)) reads(server)
  return { ...all, client: await all.open() }
}

t.test('prompts have names like tools: one list, and each is got from its backend under its own name', async t => {
  const { client } = await open(t, { a: { prompts: ['p', 'both'] }, b: { prompts: ['both'] } })
  t.same(namesIn(await client.request('prompts/list'), 'prompts'), ['p', 'a_both', 'b_both'])
  const { json } = await client.request('prompts/get', { name: 'b_both' })
  t.equal(json.result.messages[0].content.text, 'b:both')
  const unknown = await client.request('prompts/get', { name: 'nobody' })
  t.match(unknown.json.error, { code: -32602, message: /unknown prompt: nobody/ })
})

t.test('a URI goes to the backend that lists it, of several to the first in config order', async t => {
  const { client } = await open(t, { a: { resources: ['x://1', 'x://2'] }, b: { resources: ['x://2', 'x://3'] } })
  t.same(namesIn(await client.request('resources/list'), 'resources'), ['x://1', 'x://2', 'x://3'])
  t.equal(await readBy(client, 'x://1'), 'a')
  t.equal(await readBy(client, 'x://2'), 'a')
  t.equal(await readBy(client, 'x://3'), 'b')
})

t.test(
  'one that nobody lists goes where a template makes it, else where it is configured to, else nowhere',
  async t => {
    const { client, servers } = await open(
      t,
      {
        a: { resources: ['x://1'], templates: ['x://{id}/part', 'odd://{list*}'] },
        b: { resources: [], templates: ['y://{+path}'] },
        c: { resources: [] }
      },
      { backends: { c: { uriPrefix: 'z://' } } }
    )
    const { json } = await client.request('resources/templates/list')
    t.same(
      json.result.resourceTemplates.map(({ uriTemplate }: any) => uriTemplate),
      ['x://{id}/part', 'odd://{list*}', 'y://{+path}']
    )
    t.equal(await readBy(client, 'x://7/part'), 'a')
    t.equal(await readBy(client, 'odd://1,2'), 'a', 'a template that is not understood is known by its beginning')
    t.equal(await readBy(client, 'y://deep/in/it'), 'b')
    t.equal(await readBy(client, 'z://anything'), 'c')
    const before = Object.values(servers).map(({ heard }) => heard.length)
    t.match(await readBy(client, 'w://1'), { code: -32002, data: { uri: 'w://1' } })
    t.same(
      Object.values(servers).map(({ heard }) => heard.length),
      before,
      'nobody is asked'
    )
  }
)

t.test('the only backend with resources gets every URI: it knows best', async t => {
  const { client } = await open(t, { a: { tools: ['x'] }, b: { resources: [] } })
  t.equal(await readBy(client, 'w://1'), 'b')
})

t.test('a completion follows its reference; the name of a prompt becomes the own one', async t => {
  const capabilities = { prompts: {}, resources: {}, completions: {} }
  const { client, servers } = await open(t, {
    a: { prompts: ['both'], resources: ['x://1'], templates: ['x://{id}/part'], capabilities },
    b: { prompts: ['both'], resources: [], templates: ['y://{id}'], capabilities },
    c: { prompts: ['none'] }
  })
  t.ok(client.server.capabilities.completions)
  const complete = async (ref: object) => {
    const { json } = await client.request('completion/complete', { ref, argument: { name: 'n', value: 'v' } })
    return json.error ?? json.result.completion.values
  }
  t.same(await complete({ type: 'ref/prompt', name: 'b_both', title: 1.5 }), [
    'b',
    '{"type":"ref/prompt","name":"both","title":1.5}'
  ])
  t.match(await complete({ type: 'ref/resource', uri: 'y://{id}' }), ['b'])
  t.match(await complete({ type: 'ref/resource', uri: 'x://7/part' }), ['a'])
  t.same(await complete({ type: 'ref/prompt', name: 'none' }), [], 'nothing is asked of a backend without completions')
  t.equal(servers.c!.heardOf('completion/complete').length, 0)
  t.match(await complete({ type: 'ref/prompt', name: 'both' }), { code: -32602 })
  t.match(await complete({ type: 'other' }), { code: -32602 })
})

t.test('a method that a backend lacks is never sent to it (MUX-03)', async t => {
  const { client, servers } = await open(t, { a: { tools: ['x'] }, b: { prompts: ['p'] }, c: { resources: ['x://1'] } })
  for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
    t.ok((await client.request(method)).json.result)
  }
  const heard = (server: Stocked) =>
    server.heard.map(({ method }) => method).filter(method => method?.endsWith('/list'))
  t.same(heard(servers.a!), ['tools/list'])
  t.same(heard(servers.b!), ['prompts/list'])
  t.same(heard(servers.c!).sort(), ['resources/list', 'resources/templates/list'])
})

t.test('a kind that nobody serves is an empty list', async t => {
  const { client } = await open(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  t.same((await client.request('prompts/list')).json.result, { prompts: [] })
  t.same((await client.request('resources/templates/list')).json.result, { resourceTemplates: [] })
})
