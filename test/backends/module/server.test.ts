import t from 'tap'
import { createModuleBackend } from '../../../src/backends/module/backend.ts'
import type { HandlerDefinition } from '../../../src/handlers/define.ts'
import { type BackendFact, facts } from '../../../src/telemetry/events.ts'
import { clientOf, connect, notices, serve } from '../../helpers/module-link.ts'
import { until } from '../../helpers/until.ts'

const tool = (name: string, text = name) => ({ name, handler: () => text })
const prompt = (name: string) => ({ name, get: () => '' })
const resource = (uri: string, text = uri) => ({ uri, name: uri, read: () => text })

const resultOf = async (
  t: Parameters<typeof clientOf>[0],
  definition: Omit<HandlerDefinition, 'name'>,
  version?: string
) => JSON.parse((await clientOf(t, definition, version === undefined ? {} : { version })).link.server.result)

t.test('R30: capabilities are declared for what exists, and for nothing else', async t => {
  const template = { uriTemplate: 'x://{a}', name: 't', read: () => '' }
  const table: [Omit<HandlerDefinition, 'name'>, object][] = [
    [{}, { logging: {} }],
    [{ logging: false }, {}],
    [{ tools: [tool('a')] }, { logging: {}, tools: { listChanged: true } }],
    [{ prompts: [prompt('a')] }, { logging: {}, prompts: { listChanged: true } }],
    [{ resources: [resource('x://a')] }, { logging: {}, resources: { subscribe: true, listChanged: true } }],
    [{ resourceTemplates: [template] }, { logging: {}, resources: { subscribe: true, listChanged: true } }],
    [{ complete: () => [] }, { logging: {}, completions: {} }],
    [
      { prompts: [{ ...prompt('a'), complete: { x: () => [] } }] },
      { logging: {}, completions: {}, prompts: { listChanged: true } }
    ]
  ]
  for (const [definition, capabilities] of table) {
    t.strictSame((await resultOf(t, definition)).capabilities, capabilities)
  }
})

t.test('a module backend is up once it is used (docs/observability.md)', async t => {
  const told: BackendFact[] = []
  t.teardown(facts.backend.subscribe(fact => told.push(fact)))
  await clientOf(t, { tools: [tool('a')] })
  await clientOf(t, { tools: [tool('a')] })
  t.ok(told.length > 0)
  for (const { up } of told) t.equal(up, true)
})

t.test('R160: the server says of itself what the author set, and nothing else', async t => {
  const icons = [{ src: 'https://x.example/i.png', mimeType: 'image/png', sizes: ['any'], theme: 'dark' as const }]
  const whole = await resultOf(t, {
    version: '3.0.0',
    title: 'T',
    description: 'D',
    websiteUrl: 'https://x.example',
    icons,
    instructions: 'Use it.'
  })
  t.strictSame(whole.serverInfo, {
    name: 'test',
    title: 'T',
    version: '3.0.0',
    description: 'D',
    icons,
    websiteUrl: 'https://x.example'
  })
  t.equal(whole.instructions, 'Use it.')
  const bare = await resultOf(t, {})
  t.strictSame(bare.serverInfo, { name: 'test', version: '1.0.0' })
  t.notOk('instructions' in bare)
})

t.test('R160: an icon of another scheme is told to the author, and shown', async t => {
  const told = notices(t)
  const icons = [{ src: 'javascript:alert(1)' }]
  const client = await clientOf(t, { icons, tools: [{ ...tool('a'), icons }] })
  t.strictSame((await client.ask('tools/list')).result.tools[0].icons, icons)
  t.equal(told.filter(notice => /icon/.test(notice.text)).length, 2)
})

t.test('the server speaks the version of its client', async t => {
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    t.equal((await resultOf(t, {}, version)).protocolVersion, version)
  }
})

t.test('R60: long lists come in pages, in the order of the author, by opaque cursors', async t => {
  const names = Array.from({ length: 7 }, (_, i) => `n${i}`)
  const client = await clientOf(t, {
    pageSize: 3,
    tools: names.map(name => tool(name)),
    prompts: names.map(prompt),
    resources: names.map(name => resource(`x://${name}`)),
    resourceTemplates: names.map(name => ({ uriTemplate: `${name}://{a}`, name, read: () => '' }))
  })
  for (const [method, key] of [
    ['tools/list', 'tools'],
    ['prompts/list', 'prompts'],
    ['resources/list', 'resources'],
    ['resources/templates/list', 'resourceTemplates']
  ] as const) {
    const seen: string[] = []
    let cursor: string | undefined
    let pages = 0
    do {
      const { result } = await client.ask(method, cursor === undefined ? undefined : { cursor })
      seen.push(...result[key].map((entry: { name: string }) => entry.name.replace('x://', '')))
      cursor = result.nextCursor
      pages++
    } while (cursor !== undefined && pages < 10)
    t.same(seen, names, method)
    t.equal(pages, 3)
  }
})

t.test('R60: a bad cursor, and one of another list, are -32602', async t => {
  const client = await clientOf(t, { pageSize: 1, tools: [tool('a'), tool('b')], prompts: [prompt('a'), prompt('b')] })
  const { nextCursor } = (await client.ask('tools/list')).result
  t.match((await client.ask('prompts/list', { cursor: nextCursor })).error, { code: -32602 })
  const forged = (text: string) => Buffer.from(text).toString('base64url')
  for (const cursor of ['', 'x', 3, {}, `${nextCursor}=`, forged('tools:-1'), forged('tools:1.5'), forged('tools:x')]) {
    t.match((await client.ask('tools/list', { cursor })).error, { code: -32602 }, String(cursor))
  }
  t.match((await client.ask('tools/list', { cursor: nextCursor })).result, { tools: [{ name: 'b' }] })
})

t.test('R31-R33, R154, NTF-05: what changes after the start is served, and told once for each kind', async t => {
  const backend = await serve(t, { tools: [tool('a')], prompts: [prompt('a')], resources: [resource('x://a')] })
  const client = await connect(t, backend)
  for (let i = 0; i < 10; i++) backend.handler.addTool(tool(`t${i}`))
  backend.handler.addPrompt(prompt('p'))
  backend.handler.addResource(resource('x://r'))
  backend.handler.addResourceTemplate({ uriTemplate: 'y://{a}', name: 'y', read: () => 'y' })
  await until('the changes', () => client.received.length >= 3)
  t.strictSame(
    client.received.map(said => said),
    ['tools', 'prompts', 'resources'].map(kind => ({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed` }))
  )
  t.equal((await client.ask('tools/list')).result.tools.length, 11)
  t.match((await client.result('t9')).content, [{ text: 't9' }])
  client.received.length = 0
  t.equal(backend.handler.removeTool('t9'), true)
  t.equal(backend.handler.removeTool('t9'), false)
  t.equal(backend.handler.removePrompt('p'), true)
  t.equal(backend.handler.removeResource('x://r'), true)
  t.equal(backend.handler.removeResourceTemplate('y://{a}'), true)
  await until('the changes', () => client.received.length >= 3)
  t.match((await client.ask('tools/call', { name: 't9' })).error, { code: -32602 })
})

t.test('R30: a client that was told of no tools is not told that they changed', async t => {
  const backend = await serve(t, {})
  const before = await connect(t, backend)
  backend.handler.addTool(tool('a'))
  const after = await connect(t, backend)
  backend.handler.addTool(tool('b'))
  await until('the change', () => after.received.length === 1)
  t.same(before.received, [])
  t.match((await before.ask('tools/list')).error, { code: -32601 })
})

t.test(
  'R152, R153, R156: what is added by code, as an object, an instance or a class, wins over what was found',
  async t => {
    const told = notices(t)
    const backend = await serve(t, {
      tools: [tool('a', 'found')],
      resources: [resource('x://a', 'found')],
      prompts: [prompt('a')]
    })
    class A {
      name = 'a'
      #text = 'class'
      handler() {
        return this.#text
      }
    }
    class R {
      uri = 'x://a'
      name = 'r'
      read() {
        return 'instance'
      }
    }
    class P {
      name = 'a'
      get() {
        return 'class'
      }
    }
    backend.handler.addTool(A).addResource(new R()).addPrompt(P)
    const client = await connect(t, backend)
    t.match(await client.result('a'), { content: [{ text: 'class' }] })
    t.match((await client.ask('resources/read', { uri: 'x://a' })).result, { contents: [{ text: 'instance' }] })
    t.match((await client.ask('prompts/get', { name: 'a' })).result, { messages: [{ content: { text: 'class' } }] })
    t.equal((await client.ask('tools/list')).result.tools.length, 1)
    await client.ask('tools/list')
    t.equal(told.filter(notice => /another one of this name/.test(notice.text)).length, 3, 'told once each')
  }
)

t.test('R153: of two things with one name in one handler the later is served, and the author told', async t => {
  const told = notices(t)
  const client = await clientOf(t, { tools: [tool('a', 'first'), tool('a', 'second')] })
  t.match(await client.result('a'), { content: [{ text: 'second' }] })
  t.match(told[0], { level: 'warn', text: '"a": left out: it is there twice' })
})

t.test('what has no name is refused where it is added', async t => {
  const backend = await serve(t, {})
  t.throws(() => backend.handler.addTool({ handler: () => '' } as never), /name/)
})

t.test('the identity is that of the path; a backend keeps no link that was closed', async t => {
  const a = await createModuleBackend({ name: 'a', path: 'test/fixtures/conformance/module.ts' })
  const b = await createModuleBackend({ name: 'b', path: 'test/fixtures/conformance/module.ts' })
  t.equal(a.identity, b.identity)
  t.equal(a.scope, 'session')
  const client = await connect(t, a)
  a.tune({})
  await a.close()
  await b.close()
  await t.rejects(client.link.send({ kind: 'notification' } as never))
  t.throws(() => client.link.resume('1', '', {} as never), /resumed/)
  client.link.listen(true)
  t.equal(client.link.state, undefined)
})
