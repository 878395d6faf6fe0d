/** Backends of a route that come and go, and sessions that are none (NTF-03, SES-05). */
import t from 'tap'
import { stringParam } from '../../../src/protocol/message.ts'
import { configOf, startGateway } from '../../helpers/gateway.ts'
import { HttpUpstream } from '../../helpers/http-upstream.ts'
import { RawClient, send } from '../../helpers/raw-client.ts'
import { SseUpstream } from '../../helpers/sse-upstream.ts'
import { namesIn, Stocked, said, together } from '../../helpers/union.ts'
import { until } from '../../helpers/until.ts'

t.test('who subscribed at a backend that died is subscribed again when it is back, without a call', async t => {
  const [a, b] = [new Stocked('a', { tools: ['x'] }), new Stocked('b', { resources: ['b://1'] })]
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) b.on(method, turn => turn.answer('{}'))
  const http = await HttpUpstream.start(a)
  t.teardown(() => http.close())
  let sse = await SseUpstream.start(b)
  t.teardown(() => sse.close())
  const { url } = await startGateway(t, {
    backends: { a: { kind: 'http', url: http.url }, b: { kind: 'sse', url: sse.url } },
    routes: { '/mcp': { backends: ['a', 'b'] } }
  })
  const clients = [await RawClient.open(url), await RawClient.open(url), await RawClient.open(url)]
  const channels = await Promise.all(clients.map(client => client.get()))
  for (const client of clients) t.ok((await client.request('resources/subscribe', { uri: 'b://1' })).json.result)
  const [client] = clients as [RawClient]
  const port = Number(new URL(sse.url).port)
  await sse.close()
  // Long enough for the one try that the session makes by itself.
  await until('its resources are left out', async () => {
    const { json } = await client.request('resources/list')
    return json.result.resources.length === 0
  })
  b.heard.length = 0
  sse = await SseUpstream.start(b, { port })
  await until('all are subscribed again', () => b.heardOf('resources/subscribe').length >= clients.length, 10_000)
  t.equal(stringParam(b.heardOf('resources/subscribe')[0]!, 'uri'), 'b://1')
  b.announce('notifications/resources/updated', { uri: 'b://1' })
  for (const { events } of channels) {
    await events.message(({ method }) => method === 'notifications/resources/updated')
  }
})

t.test(
  'a backend that is added while the gateway runs never empties the list, not even one that hangs (MUX-03)',
  async t => {
    const [a, b] = [new Stocked('a', { tools: ['x'] }), new Stocked('b', { tools: ['y'] })]
    const upstreams = [await HttpUpstream.start(a), await HttpUpstream.start(b, { intercept: () => true })]
    for (const upstream of upstreams) t.teardown(() => upstream.close())
    const backends = Object.fromEntries(['a', 'b'].map((name, i) => [name, { kind: 'http', url: upstreams[i]!.url }]))
    const file = (names: string[]) => ({
      backends,
      routes: { '/mcp': { backends: names, prefix: 'always', listTimeout: '300ms' } }
    })
    const { gateway, url } = await startGateway(t, file(['a']))
    const client = await RawClient.open(url)
    t.same(namesIn(await client.request('tools/list')), ['a_x'])
    await gateway.reload(configOf(file(['a', 'b'])))
    t.same(namesIn(await client.request('tools/list')), ['a_x'])
    t.equal(said(await client.call('a_x')), 'a:x {}')
    t.equal(a.heardOf('tools/list').length, 1, 'what is known of the others is kept')
    upstreams[1]!.options.intercept = () => false
  }
)

t.test('requests without a session have every backend, and leave nothing open', async t => {
  const all = await together(
    t,
    { a: { tools: ['x'] }, b: { tools: ['y'] } },
    { file: { sessions: { mode: 'optional' } } }
  )
  const request = (method: string, params?: object) =>
    send(all.url, {
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    })
  t.same(namesIn(await request('tools/list')), ['x', 'y'])
  t.equal(said(await request('tools/call', { name: 'y' })), 'b:y {}')
  t.match((await request('tools/call', { name: 'z' })).json.error, { code: -32602 })
  for (const { sessions } of Object.values(all.upstreams)) {
    await until('its upstream sessions are closed', () => sessions.size === 0)
  }
})

t.test('who joins a shared backend later brings the log level along (R101b)', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'], capabilities: { tools: {}, logging: {} } } })
  all.servers.b!.on('logging/setLevel', turn => turn.answer('{}'))
  const client = await all.open()
  await client.request('logging/setLevel', { level: 'debug' })
  await client.call('y')
  await until('it is set', () => all.servers.b!.heardOf('logging/setLevel').length > 0)
  t.equal(stringParam(all.servers.b!.heardOf('logging/setLevel')[0]!, 'level'), 'debug')
})

t.test('the second of two backends changes nothing of the first but what clashes (MUX-03)', async t => {
  const scripts = {
    a: { tools: ['x', 'both'], prompts: ['p'], resources: ['a://1'], capabilities: everything },
    b: { tools: ['both'] }
  }
  const flow = async (all: Awaited<ReturnType<typeof together>>) => {
    const { a } = all.servers
    for (const method of ['resources/subscribe', 'logging/setLevel']) a!.on(method, turn => turn.answer('{}'))
    a!.on('resources/read', turn => turn.answer('{"contents":[]}'))
    a!.on('completion/complete', turn => turn.answer('{"completion":{"values":["v"]}}'))
    const client = await all.open()
    const results: unknown[] = [client.server.capabilities]
    for (const [method, params] of [
      ['tools/call', { name: 'x', arguments: {} }],
      ['prompts/list', {}],
      ['prompts/get', { name: 'p' }],
      ['resources/list', {}],
      ['resources/read', { uri: 'a://1' }],
      ['resources/subscribe', { uri: 'a://1' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'n', value: '' } }],
      ['logging/setLevel', { level: 'error' }],
      ['ping', {}]
    ] as const) {
      results.push((await client.request(method, params)).json.result)
    }
    return results
  }
  const alone = await flow(await together(t, { a: scripts.a }))
  const two = await together(t, scripts)
  t.same(await flow(two), alone)
  const client = await two.open()
  t.same(namesIn(await client.request('tools/list')), ['x', 'a_both', 'b_both'])
})

const everything = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {}
}
