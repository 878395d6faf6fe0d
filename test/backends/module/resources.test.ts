import t from 'tap'
import type { HandlerDefinition, ResourceDefinition } from '../../../src/handlers/define.ts'
import { clientOf, connect, notices, serve } from '../../helpers/module-link.ts'
import { until } from '../../helpers/until.ts'

const resource = (more: Partial<ResourceDefinition> = {}): ResourceDefinition => ({
  uri: 'x://a',
  name: 'a',
  read: () => 'text',
  ...more
})

const listed = async (t: Parameters<typeof clientOf>[0], more: Partial<ResourceDefinition>) =>
  (await (await clientOf(t, { resources: [resource(more)] })).ask('resources/list')).result.resources[0]

t.test('R70-R72, R75, R94: resources/list shows what the author set, as set', async t => {
  const more = {
    title: 'A',
    description: 'One',
    icons: [{ src: 'https://x.example/i.png' }],
    mimeType: 'text/plain',
    annotations: { audience: ['user' as const, 'assistant' as const], priority: 0, lastModified: '2025-01-12' },
    size: 5e9,
    _meta: { 'x/y': 1 }
  }
  t.strictSame(await listed(t, more), { uri: 'x://a', name: 'a', ...more })
})

t.test('R70-R72, R75, R94: what is unset is absent', async t => {
  t.strictSame(await listed(t, {}), { uri: 'x://a', name: 'a' })
  t.strictSame(await listed(t, { title: '', icons: [], annotations: {}, mimeType: '', _meta: {} }), {
    uri: 'x://a',
    name: 'a'
  })
})

t.test('R71: size 0 is a size; a negative one is told to the author and left out', async t => {
  const told = notices(t)
  t.equal((await listed(t, { size: 0 })).size, 0)
  t.notOk('size' in (await listed(t, { size: null as never })))
  t.equal(told.filter(notice => notice.level === 'warn').length, 0)
  t.notOk('size' in (await listed(t, { size: -1 })))
  t.equal(told.filter(notice => /size/.test(notice.text)).length, 1)
})

t.test('R73-R75: resources/templates/list shows what the author set, and nothing else', async t => {
  const whole = {
    uriTemplate: 'x://{id}',
    name: 'w',
    title: 'W',
    description: 'All',
    icons: [{ src: 'data:,' }],
    mimeType: 'a/b',
    annotations: { priority: 1 },
    _meta: { 'x/y': 1 }
  }
  const client = await clientOf(t, {
    resourceTemplates: [
      { ...whole, read: () => '' },
      { uriTemplate: 'y://{id}', name: 'b', complete: { id: () => [] }, read: () => '' }
    ]
  })
  t.strictSame((await client.ask('resources/templates/list')).result.resourceTemplates, [
    whole,
    { uriTemplate: 'y://{id}', name: 'b' }
  ])
  t.strictSame((await client.ask('resources/list')).result, { resources: [] })
})

t.test('R76, R174: contents keep annotations of their own and unknown members', async t => {
  const contents = [
    { uri: 'x://a#1', mimeType: 'a/b', text: '', annotations: { priority: 0.2 }, extra: null },
    { uri: 'x://a#2', blob: 'AAAA', _meta: { 'x/y': 1 } }
  ]
  const client = await clientOf(t, { resources: [resource({ annotations: { priority: 0.8 }, read: () => contents })] })
  t.strictSame((await client.ask('resources/read', { uri: 'x://a' })).result, { contents })
  t.strictSame((await client.ask('resources/list')).result.resources[0].annotations, { priority: 0.8 })
})

t.test('what reading may give: text, bytes, contents, several of them', async t => {
  const uri = 'x://a'
  const given: [ReturnType<ResourceDefinition['read']>, unknown[]][] = [
    ['text', [{ uri, mimeType: 'a/b', text: 'text' }]],
    ['', [{ uri, mimeType: 'a/b', text: '' }]],
    [new Uint8Array([1, 2, 3]), [{ uri, mimeType: 'a/b', blob: 'AQID' }]],
    [{ text: 'x', mimeType: 'c/d' }, [{ uri, mimeType: 'c/d', text: 'x' }]],
    [{ blob: Buffer.from([1]) }, [{ uri, mimeType: 'a/b', blob: 'AQ==' }]],
    [Promise.resolve('later'), [{ uri, mimeType: 'a/b', text: 'later' }]],
    [
      [{ text: '1' }, { uri: 'x://b', text: '2' }],
      [
        { uri, mimeType: 'a/b', text: '1' },
        { uri: 'x://b', mimeType: 'a/b', text: '2' }
      ]
    ]
  ]
  for (const [value, contents] of given) {
    const client = await clientOf(t, { resources: [resource({ mimeType: 'a/b', read: () => value })] })
    t.strictSame((await client.ask('resources/read', { uri })).result, { contents })
  }
})

t.test('R78: what is not there is -32002 with its URI, never empty contents', async t => {
  const client = await clientOf(t, {
    resources: [resource({ uri: 'x://gone', read: () => undefined }), resource({ uri: 'x://empty', read: () => [] })],
    resourceTemplates: [{ uriTemplate: 't://{id}', name: 't', read: ({ id }) => (id === '1' ? 'one' : null) }]
  })
  for (const uri of ['x://never', 'x://gone', 'x://empty', 't://2', 't://1/2', '', 'toString']) {
    t.strictSame(
      (await client.ask('resources/read', { uri })).error,
      { code: -32002, message: 'Resource not found', data: { uri } },
      uri
    )
  }
  t.ok((await client.ask('resources/read', { uri: 't://1' })).result)
  for (const params of [undefined, {}, { uri: 1 }]) {
    t.match((await client.ask('resources/read', params)).error, { code: -32602 })
  }
})

t.test('a resource comes before a template, and a template reads its variables, decoded', async t => {
  const client = await clientOf(t, {
    resources: [resource({ uri: 'x://1', read: () => 'resource' })],
    resourceTemplates: [
      { uriTemplate: 'x://{id}', name: 't', read: (variables, { uri }) => JSON.stringify([variables, uri]) },
      { uriTemplate: 'x://{other}', name: 'late', read: () => 'late' }
    ]
  })
  const read = async (uri: string): Promise<string> =>
    (await client.ask('resources/read', { uri })).result.contents[0].text
  t.equal(await read('x://1'), 'resource')
  t.equal(await read('x://a%20b%2Fc'), '[{"id":"a b/c"},"x://a%20b%2Fc"]')
})

t.test('a template that is none is told to the author and left out', async t => {
  const told = notices(t)
  const client = await clientOf(t, {
    resources: [resource()],
    resourceTemplates: [{ uriTemplate: 'x://{a*}', name: 't', read: () => '' }]
  })
  t.strictSame((await client.ask('resources/templates/list')).result, { resourceTemplates: [] })
  t.ok(told.some(notice => /level 4/.test(notice.text)))
})

t.test('reading that fails is an error of the protocol, without a stack', async t => {
  const client = await clientOf(t, {
    resources: [
      resource({
        read() {
          throw new Error('the disk is gone')
        }
      })
    ]
  })
  t.strictSame((await client.ask('resources/read', { uri: 'x://a' })).error, {
    code: -32603,
    message: 'the disk is gone'
  })
})

t.test('R38: subscribing and unsubscribing are idempotent; a missing URI is -32602', async t => {
  const client = await clientOf(t, { resources: [resource()] })
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
    for (let i = 0; i < 2; i++) t.strictSame((await client.ask(method, { uri: 'x://a' })).result, {})
    t.strictSame((await client.ask(method, { uri: 'x://unknown' })).result, {})
    for (const params of [undefined, {}, { uri: 3 }])
      t.match((await client.ask(method, params)).error, { code: -32602 })
  }
})

const touching: Omit<HandlerDefinition, 'name'> = {
  resources: [resource()],
  tools: [
    {
      name: 'touch',
      handler({ uri }, { notifyResourceUpdated }) {
        notifyResourceUpdated(uri)
        return 'done'
      }
    }
  ]
}

t.test('R37-R40: those who subscribed are told, once, with no id; the others are not', async t => {
  const backend = await serve(t, touching)
  const [a, b, c] = [await connect(t, backend), await connect(t, backend), await connect(t, backend)]
  await a.ask('resources/subscribe', { uri: 'x://a' })
  await a.ask('resources/subscribe', { uri: 'x://' })
  await b.ask('resources/subscribe', { uri: 'x://b' })
  await c.result('touch', { uri: 'x://a' })
  const updated = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x://a' } }
  t.strictSame(a.received, [updated])
  t.same([b.received, c.received], [[], []])
  backend.handler.notifyResourceUpdated('x://b')
  t.match(b.received, [{ params: { uri: 'x://b' } }])
})

t.test('R37: a part of what was subscribed to counts, what only begins alike does not', async t => {
  const backend = await serve(t, touching)
  const client = await connect(t, backend)
  await client.ask('resources/subscribe', { uri: 'x://a' })
  await client.result('touch', { uri: 'x://a/b' })
  await client.result('touch', { uri: 'x://ab' })
  t.strictSame(
    client.received.map(one => one.params.uri),
    ['x://a/b']
  )
})

t.test('R38, R39: nothing is told after unsubscribe, or without anybody', async t => {
  const backend = await serve(t, touching)
  const client = await connect(t, backend)
  await client.ask('resources/subscribe', { uri: 'x://a' })
  await client.ask('resources/unsubscribe', { uri: 'x://a' })
  await client.result('touch', { uri: 'x://a' })
  t.same(client.received, [])
})

t.test('a session may not subscribe without end', async t => {
  const client = await clientOf(t, { resources: [resource()] })
  for (let i = 0; i < 1_000; i++) await client.ask('resources/subscribe', { uri: `x://${i}` })
  t.ok((await client.ask('resources/subscribe', { uri: 'x://more' })).error)
  t.ok((await client.ask('resources/subscribe', { uri: 'x://1' })).result)
})

t.test('R34: what a handler broadcasts reaches every session', async t => {
  const backend = await serve(t, {
    tools: [{ name: 'shout', handler: (_args, { broadcast }) => broadcast('notifications/x', { a: 1 }) as undefined }]
  })
  const [a, b] = [await connect(t, backend), await connect(t, backend)]
  await a.result('shout')
  await until('both', () => a.received.length + b.received.length === 2)
  t.strictSame(b.received, [{ jsonrpc: '2.0', method: 'notifications/x', params: { a: 1 } }])
})
