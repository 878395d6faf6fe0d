/** `subscriptions/listen`: changes as modern clients hear of them (2026-07-28 basic/patterns/subscriptions; R42, LSN-02). */
import t, { type Test } from 'tap'
import { Catalog, type CatalogOptions } from '../helpers/catalog.ts'
import { configOf, startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient, type Saying } from '../helpers/modern.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { Scripted } from '../helpers/scripted.ts'
import { names, startSeveral } from '../helpers/several.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const tag = 'io.modelcontextprotocol/subscriptionId'
const everything = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
const acknowledged = (id: unknown, notifications: object) => ({
  jsonrpc: '2.0',
  method: 'notifications/subscriptions/acknowledged',
  params: { _meta: { [tag]: id }, notifications }
})

const listen = (client: ModernClient, notifications: unknown, saying?: Saying): Promise<RawResponse> =>
  client.request('subscriptions/listen', { notifications }, saying)

const said = (stream: RawResponse, method: string): any[] =>
  stream.events.messages.filter(message => message.method === method)

const first = (stream: RawResponse): Promise<any> => stream.events.until(({ messages }) => messages[0])

async function startOne(t: Test, options: CatalogOptions, backend: object = {}) {
  const docs = await Catalog.start(t, 'docs', options)
  const file = { backends: { docs: { ...docs.config, ...backend } } }
  const running = await startGateway(t, file)
  const quiet = (): Promise<void> => until('no session upstream', () => docs.upstream.sessions.size === 0)
  return { docs, quiet, ...running, client: new ModernClient(running.url) }
}

const lists = { tools: ['tool'], resources: ['file:///a', 'file:///b'] }

t.test('acknowledged first, with what is honoured, tagged with the id in its type', async t => {
  const { client, docs, quiet } = await startOne(t, lists)
  const filter = { ...everything, somethingElse: true, resourceSubscriptions: ['file:///a', 'file:///a'] }
  const honoured = { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ['file:///a'] }
  for (const id of ['seven', 7]) {
    const stream = await listen(client, filter, { id })
    t.match(stream.headers, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    t.same(await first(stream), acknowledged(id, honoured))
    await until('it listens upstream', () => docs.channels.size === 1)
    docs.change('tools', ['other'])
    docs.tell('notifications/prompts/list_changed')
    docs.update('file:///a')
    docs.tell('notifications/resources/updated', { uri: 'file:///b' })
    docs.tell('notifications/resources/updated', { uri: 'file:///a/part', _meta: { own: 1 }, more: 1.0 })
    await stream.events.message(({ params }) => params?.uri === 'file:///a/part')
    t.same(stream.events.messages.slice(1), [
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: { [tag]: id } } },
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'file:///a', _meta: { [tag]: id } } },
      {
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri: 'file:///a/part', _meta: { [tag]: id, own: 1 }, more: 1 }
      }
    ])
    t.ok(stream.events.all.every(event => event.id === undefined))
    const left = performance.now()
    stream.destroy()
    await quiet()
    t.ok(performance.now() - left < 1_000)
  }
})

t.test('a filter that is missing or malformed is refused; without events there is nothing to listen to', async t => {
  const { client, docs } = await startOne(t, lists)
  const bad = [
    undefined,
    1,
    [],
    { toolsListChanged: 1 },
    { resourceSubscriptions: 'a' },
    { resourceSubscriptions: [1] }
  ]
  for (const notifications of bad) {
    const { status, json } = await listen(client, notifications)
    t.match([status, json.error.code], [400, -32602], JSON.stringify(notifications))
  }
  const many = Array.from({ length: 1_001 }, (_, i) => `file:///${i}`)
  t.match((await listen(client, { resourceSubscriptions: many })).json.error, { code: -32602, message: /1000/ })
  const plain = await listen(client, everything, { headers: { accept: 'application/json' } })
  t.equal(plain.status, 406)
  t.equal(docs.heard('initialize'), 0)
})

t.test('nothing to honour: acknowledged, completed, over', async t => {
  const { client, docs, quiet } = await startOne(t, { ...lists, capabilities: { tools: {}, resources: {} } })
  for (const notifications of [{}, everything, { resourceSubscriptions: ['file:///a'] }]) {
    const stream = await listen(client, notifications, { id: 'x' })
    const { messages } = await stream.events.whole()
    t.same(messages[0], acknowledged('x', {}))
    t.match(messages[1], { id: 'x', result: { resultType: 'complete', _meta: { [tag]: 'x' } } })
    t.equal(messages.length, 2)
  }
  t.equal(docs.heard('resources/subscribe'), 0)
  await quiet()
})

t.test('no program is started to hear of nothing, once it is known that it tells of nothing', async t => {
  const server = new Scripted()
  server.initializeResult = server.initializeResult.replace('{"listChanged":true}', '{}')
  const { command, args, close } = await stdioUpstream(server)
  t.teardown(close)
  const { url } = await startGateway(t, { backends: { program: { kind: 'stdio', command, args } } })
  const client = new ModernClient(url)
  for (const started of [1, 1, 2]) {
    const uris = started === 2 ? { resourceSubscriptions: ['file:///a'] } : {}
    const { messages } = await (await listen(client, { ...everything, ...uris }, { id: 'x' })).events.whole()
    t.same(messages[0], acknowledged('x', {}))
    t.equal(server.heardOf('initialize').length, started)
  }
})

t.test('what the upstream refuses, or does not confirm in time, is not honoured', async t => {
  const { client, docs } = await startOne(t, lists)
  docs.server.on('resources/subscribe', turn => {
    const { uri } = JSON.parse(turn.message.source.toString()).params
    if (uri === 'file:///no') turn.refuse(-32002, 'no such resource')
    else if (uri !== 'file:///never') turn.answer('{}')
  })
  const stream = await listen(client, { resourceSubscriptions: ['file:///no', 'file:///never', 'file:///b'] })
  t.same((await first(stream)).params.notifications, { resourceSubscriptions: ['file:///b'] })
  stream.destroy()
})

t.test('what changes before the acknowledgement is told after it', async t => {
  const { client, docs } = await startOne(t, lists)
  docs.server.on('resources/subscribe', async turn => {
    await until('it listens', () => docs.channels.size === 1)
    docs.change('tools', ['new'])
    docs.tell('notifications/tools/list_changed')
    setTimeout(() => turn.answer('{}'), 50)
  })
  const stream = await listen(client, { toolsListChanged: true, resourceSubscriptions: ['file:///a'] })
  await stream.events.until(({ messages }) => messages.length === 2)
  t.same(
    stream.events.messages.map(({ method }) => method),
    ['notifications/subscriptions/acknowledged', 'notifications/tools/list_changed']
  )
  stream.destroy()
})

t.test('subscriptions of a caller share one session upstream, and each resource is subscribed to once', async t => {
  const { client, docs, quiet } = await startOne(t, lists)
  const filter = { resourceSubscriptions: ['file:///a'] }
  const one = await listen(client, { ...filter, toolsListChanged: true })
  const two = await listen(client, { resourceSubscriptions: ['file:///a', 'file:///b'] })
  const three = await listen(client, filter)
  await Promise.all([one, two, three].map(first))
  t.equal(docs.heard('initialize'), 1)
  t.equal(docs.heard('resources/subscribe'), 2)
  await until('it listens', () => docs.channels.size === 1)
  docs.update('file:///a')
  docs.update('file:///b')
  await Promise.all([one, two, three].map(stream => stream.events.message(({ params }) => params?.uri === 'file:///a')))
  await two.events.message(({ params }) => params?.uri === 'file:///b')
  t.equal(said(one, 'notifications/resources/updated').length, 1)
  two.destroy()
  await until('the last one that was about it left', () => docs.heard('resources/unsubscribe') === 1)
  t.same(
    [...docs.subscriptions.values()].flatMap(uris => [...uris]),
    ['file:///a']
  )
  one.destroy()
  three.destroy()
  await quiet()
  t.equal(docs.heard('resources/unsubscribe'), 1, 'the session took the rest with it')
})

t.test('several backends: one list_changed for what changed in any, updates from where the resource is', async t => {
  const { url, catalogs } = await startSeveral(t, {
    a: { tools: ['one'], resources: ['a://1'] },
    b: { tools: ['two'], resources: ['b://1'] }
  })
  const { a, b } = catalogs
  const client = new ModernClient(url)
  t.match((await lastOf(await client.request('server/discover'))).result.capabilities, {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true }
  })
  await client.request('tools/list')
  const stream = await listen(client, { ...everything, resourceSubscriptions: ['a://1', 'b://1', 'c://1'] })
  t.same((await first(stream)).params.notifications, {
    toolsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['a://1', 'b://1']
  })
  await until('it listens to both', () => a.channels.size === 1 && b.channels.size === 1)
  a.change('tools', ['one', 'three'])
  b.change('tools', ['two', 'four'])
  b.update('b://1')
  await stream.events.message(({ method }) => method === 'notifications/tools/list_changed')
  await stream.events.message(({ params }) => params?.uri === 'b://1')
  t.equal(said(stream, 'notifications/tools/list_changed').length, 1)
  const { result } = await lastOf(await client.request('tools/list'))
  t.same(names(result.tools), ['one', 'three', 'two', 'four'])
  stream.destroy()
  await until('nobody listens', () => a.channels.size + b.channels.size === 0)
})

t.test('legacy sessions and modern subscriptions hear of the same change', async t => {
  const { client, docs, url } = await startOne(t, lists)
  const legacy = await (await RawClient.open(url)).get()
  const stream = await listen(client, everything)
  await first(stream)
  await until('both listen', () => docs.channels.size === 2)
  docs.change('tools', ['other'])
  for (const { events } of [legacy, stream]) {
    await events.message(({ method }) => method === 'notifications/tools/list_changed')
  }
  stream.destroy()
  legacy.destroy()
})

t.test('in-process handlers', async t => {
  const { gateway, url } = await startGateway(t, {
    backends: { local: { kind: 'module', path: '../fixtures/conformance/module.ts' } }
  })
  const handler = gateway.handler('local')
  handler.addResource({ uri: 'note://1', name: 'note', read: () => 'text' })
  const client = new ModernClient(url)
  const stream = await listen(client, { toolsListChanged: true, resourceSubscriptions: ['note://1'] })
  t.same((await first(stream)).params.notifications, { toolsListChanged: true, resourceSubscriptions: ['note://1'] })
  handler.addTool({ name: 'later', handler: () => 'text' })
  handler.notifyResourceUpdated('note://1')
  await stream.events.message(({ method }) => method === 'notifications/tools/list_changed')
  await stream.events.message(({ params }) => params?.uri === 'note://1')
  stream.destroy()
})

t.test('an upstream that forgets the session is listened to again, and clients look again', async t => {
  const { client, docs } = await startOne(t, lists)
  const stream = await listen(client, { toolsListChanged: true, resourceSubscriptions: ['file:///a'] })
  await first(stream)
  await until('it listens', () => docs.channels.size === 1)
  docs.crash()
  await stream.events.message(({ method }) => method === 'notifications/tools/list_changed', 10_000)
  await until('it listens again', () => docs.channels.size === 1)
  docs.update('file:///a')
  await stream.events.message(({ params }) => params?.uri === 'file:///a')
  stream.destroy()
})

t.test('a drain ends them with their result', async t => {
  const { client, gateway } = await startOne(t, lists)
  const stream = await listen(client, { toolsListChanged: true }, { id: 3 })
  await first(stream)
  await gateway.close()
  const { messages } = await stream.events.whole()
  t.match(messages, [
    { method: 'notifications/subscriptions/acknowledged' },
    { id: 3, result: { resultType: 'complete', _meta: { [tag]: 3 } } }
  ])
})

t.test('a reload ends those of routes that changed, others go on', async t => {
  const one = await Catalog.start(t, 'one', lists)
  const two = await Catalog.start(t, 'two', lists)
  const routes = { '/one': { backends: ['one'] }, '/two': { backends: ['two'] } }
  const file = { backends: { one: one.config, two: two.config }, routes }
  const { gateway } = await startGateway(t, file)
  const streams = [gateway.url('/one'), gateway.url('/two')].map(url =>
    listen(new ModernClient(url), { toolsListChanged: true })
  )
  const [changed, kept] = (await Promise.all(streams)) as [RawResponse, RawResponse]
  await Promise.all([changed, kept].map(first))
  await until('both are listened to', () => one.channels.size === 1 && two.channels.size === 1)
  await gateway.reload(configOf({ ...file, routes: { ...routes, '/one': { backends: ['one', 'two'] } } }))
  t.match((await changed.events.whole()).messages.at(-1), { result: { resultType: 'complete' } })
  await until('given back', () => one.channels.size === 0)
  two.change('tools', ['new'])
  await kept.events.message(({ method }) => method === 'notifications/tools/list_changed')
  t.equal(kept.events.ended, false)
  kept.destroy()
})

t.test('a client that leaves at any moment leaves nothing behind (LSN-02)', async t => {
  const { client, docs, quiet } = await startOne(t, lists)
  let answer = () => {}
  docs.server.on('resources/subscribe', turn => {
    answer = () => turn.answer('{}')
  })
  const during = new AbortController()
  const gone = listen(client, { resourceSubscriptions: ['file:///a'] }, { signal: during.signal })
  await until('it is asked', () => docs.heard('resources/subscribe') === 1)
  during.abort()
  await t.rejects(gone)
  await quiet()
  answer()
  docs.server.on('resources/subscribe', turn => turn.answer('{}'))
  for (let round = 0; round < 50; round++) {
    const stopped = new AbortController()
    const streams = listen(client, { ...everything, resourceSubscriptions: ['file:///a'] }, { signal: stopped.signal })
    setTimeout(() => stopped.abort(), round / 4)
    const stream = await streams.catch(() => undefined)
    stream?.destroy()
  }
  await quiet()
  t.equal(docs.channels.size, 0)
})

t.test('bounds: by address, as for sessions', async t => {
  const docs = await Catalog.start(t, 'docs', lists)
  const { url } = await startGateway(t, { backends: { docs: docs.config }, sessions: { perAddress: 2 } })
  const client = new ModernClient(url)
  const streams = [await listen(client, everything), await listen(client, everything)]
  const refused = await listen(client, everything, { id: 9 })
  t.match([refused.status, refused.json.id, refused.json.error.code], [503, 9, -32603])
  t.ok(refused.headers['retry-after'])
  streams[0]!.destroy()
  await until('there is room again', async () => {
    const again = await listen(client, everything)
    again.destroy()
    return again.status === 200
  })
  streams[1]!.destroy()
})

t.test('a backend that cannot be reached: one error', async t => {
  const { client, docs } = await startOne(t, lists)
  await docs.goDown()
  const { status, json } = await listen(client, everything, { id: 4 })
  t.match([status, json.id, json.error.data.reason], [200, 4, 'backend_unavailable'])
})

t.test('what operators broadcast reaches those who want to hear it', async t => {
  const { client, gateway } = await startOne(t, lists)
  const stream = await listen(client, { toolsListChanged: true })
  await first(stream)
  t.equal(await gateway.broadcast('/mcp', { method: 'notifications/tools/list_changed' }), 1)
  t.equal(await gateway.broadcast('/mcp', { method: 'notifications/prompts/list_changed' }), 0)
  await stream.events.message(({ method }) => method === 'notifications/tools/list_changed')
  stream.destroy()
})
