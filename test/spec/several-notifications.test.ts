/** Notifications and subscriptions over several backends (NTF-01, NTF-03, NTF-05). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { upstreamOf } from '../helpers/behind.ts'
import { Catalog } from '../helpers/catalog.ts'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { Scripted } from '../helpers/scripted.ts'
import { names, startSeveral, wholeList } from '../helpers/several.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const listChanged = ({ events }: RawResponse): any[] =>
  events.messages.filter(({ method }) => /list_changed$/.test(method))

t.test('backends without a GET stream, or that end it all the time, cause no storm (NTF-01)', async t => {
  const gets: Record<string, number> = { none: 0, missing: 0, closing: 0, denied: 0 }
  const answering = (name: string, status: number) => ({
    tools: [`tool-${name}`],
    http: {
      intercept: (request: IncomingMessage, response: ServerResponse) => {
        if (request.method !== 'GET') return false
        gets[name]!++
        if (status === 200) {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
          setTimeout(() => response.end(), 20)
        } else response.writeHead(status).end()
        return true
      }
    }
  })
  const { open } = await startSeveral(t, {
    none: answering('none', 405),
    missing: answering('missing', 404),
    closing: answering('closing', 200),
    denied: answering('denied', 401),
    good: { tools: ['good'] }
  })
  const clients = await Promise.all([open(), open(), open()])
  const channels = await Promise.all(clients.map(client => client.get()))
  for (const client of clients) t.equal((await wholeList(client, 'tools/list')).length, 5)
  await sleep(1_500)
  t.ok(gets.none! <= 3, `405: ${gets.none} times`)
  t.ok(gets.missing! <= 6, `404: ${gets.missing} times`)
  t.ok(gets.denied! <= 3, `401: ${gets.denied} times`)
  t.ok(gets.closing! <= 3 * 4, `ended at once: ${gets.closing} times`)
  t.same(channels.flatMap(listChanged), [], 'clients are told of no change')
})

t.test('subscriptions go to the backend of the URI, updates to those who subscribed (NTF-03)', async t => {
  const { open, catalogs } = await startSeveral(t, {
    a: { resources: ['a://1', 'same://1'] },
    b: { resources: ['b://1', 'same://1'], templates: ['b://{id}'] }
  })
  const { a, b } = catalogs
  const [one, two] = [await open(), await open()]
  const [first, second] = [await one.get(), await two.get()]
  for (const [client, uri] of [
    [one, 'a://1'],
    [one, 'a://1'],
    [two, 'a://1'],
    [one, 'b://7'],
    [two, 'same://1']
  ] as const)
    t.match((await client.request('resources/subscribe', { uri })).json, { result: {} })
  const subscribed = (catalog: Catalog, uri: string): number =>
    [...catalog.subscriptions.values()].filter(uris => uris.has(uri)).length
  t.same(
    [subscribed(a, 'a://1'), subscribed(b, 'b://7'), subscribed(a, 'same://1'), subscribed(b, 'same://1')],
    [2, 1, 1, 0]
  )
  t.equal(b.server.heardOf('resources/subscribe').length, 1)
  await until('all are listened to', () => a.channels.size === 2 && b.channels.size >= 1)
  const updates = ({ events }: RawResponse): string[] =>
    events.messages.filter(({ method }) => method === 'notifications/resources/updated').map(({ params }) => params.uri)

  a.update('a://1')
  b.update('b://7')
  a.update('same://1')
  await until('they arrive', () => updates(first).length === 2 && updates(second).length === 2)
  t.same(updates(first).sort(), ['a://1', 'b://7'])
  t.same(updates(second).sort(), ['a://1', 'same://1'])

  t.match((await one.request('resources/unsubscribe', { uri: 'a://1' })).json, { result: {} })
  t.equal(subscribed(a, 'a://1'), 1, 'the other client keeps its own')
  a.update('a://1')
  await until('it arrives', () => updates(second).length === 3)
  t.equal(updates(first).length, 2)

  // Both are lost at once: each comes back with what its clients want.
  for (const catalog of [a, b]) catalog.crash()
  await until(
    'subscribed again',
    async () => {
      await one.request('resources/read', { uri: 'b://1' })
      await two.request('resources/read', { uri: 'a://1' })
      return subscribed(a, 'a://1') === 1 && subscribed(b, 'b://7') === 1 && subscribed(a, 'same://1') === 1
    },
    10_000
  )
  await two.delete()
  await until('what is of a session that is over goes', () => subscribed(a, 'a://1') === 0)
  t.match((await one.request('resources/subscribe', { uri: 'nobody://1' })).json, { error: { code: Number } })
})

t.test('a shared backend beside another hears of the first and the last subscriber of each URI (NTF-03)', async t => {
  const server = new Scripted()
  server.initializeResult = JSON.stringify({
    protocolVersion: '2025-11-25',
    capabilities: { resources: { subscribe: true, listChanged: true } },
    serverInfo: { name: 'shared', version: '1' }
  })
  server.on('resources/list', turn =>
    turn.answer('{"resources":[{"uri":"s://1","name":"s"},{"uri":"s://2","name":"t"}]}')
  )
  server.on('resources/templates/list', turn => turn.answer('{"resourceTemplates":[]}'))
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) server.on(method, turn => turn.answer('{}'))
  const { config } = await upstreamOf(t, 'stdio shared', server)
  const other = await Catalog.start(t, 'other', { resources: ['o://1'] })
  const { url } = await startGateway(t, {
    backends: { shared: config, other: other.config },
    routes: { '/mcp': { backends: ['shared', 'other'] } }
  })
  const [one, two, three] = [await RawClient.open(url), await RawClient.open(url), await RawClient.open(url)]
  const channels = [await one.get(), await two.get(), await three.get()] as const
  const heard = (): [number, number] => [
    server.heardOf('resources/subscribe').length,
    server.heardOf('resources/unsubscribe').length
  ]
  for (const client of [one, one, two]) await client.request('resources/subscribe', { uri: 's://1' })
  t.same(heard(), [1, 0])
  server.announce('notifications/resources/updated', { uri: 's://1' })
  await until('both are told', () =>
    channels.slice(0, 2).every(({ events }) => events.messages.some(({ method }) => /updated/.test(method)))
  )
  t.notOk(
    channels[2].events.messages.some(({ method }) => /updated/.test(method)),
    'who did not subscribe is not'
  )
  await one.request('resources/unsubscribe', { uri: 's://1' })
  t.same(heard(), [1, 0], 'somebody wants it still')
  await two.delete()
  await until('nobody does', () => heard()[1] === 1)
})

t.test('a change is told to idle clients within a second or so, once, in the right form (NTF-05)', async t => {
  const { open, catalogs } = await startSeveral(t, {
    a: { tools: ['a1'], prompts: ['p'], resources: ['a://1'] },
    b: { tools: ['b1'] }
  })
  const client = await open()
  t.match(client.server.capabilities, {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true }
  })
  const channel = await client.get()
  for (const method of ['tools/list', 'prompts/list', 'resources/list']) await client.request(method)
  await until('both are listened to', () => catalogs.a.channels.size === 1 && catalogs.b.channels.size === 1)
  catalogs.a.change('tools', ['a1', 'a2'])
  catalogs.b.change('tools', ['b1', 'b2'])
  catalogs.a.change('prompts', ['p', 'q'])
  catalogs.a.change('resources', ['a://1', 'a://2'])
  await channel.events.until(() => new Set(listChanged(channel).map(({ method }) => method)).size === 3)
  for (const message of listChanged(channel)) {
    t.equal(message.jsonrpc, '2.0')
    t.notOk('id' in message)
    t.ok(message.params === undefined || (typeof message.params === 'object' && !Array.isArray(message.params)))
  }
  await sleep(1_300)
  const told = (kind: string): number =>
    listChanged(channel).filter(({ method }) => method === `notifications/${kind}/list_changed`).length
  t.ok(told('tools') <= 2, `${told('tools')} times within a second`)
  t.same([told('prompts'), told('resources')], [1, 1])
  t.same(names(await wholeList(client, 'tools/list')), ['a1', 'a2', 'b1', 'b2'])
})

t.test(
  'a backend that says it changed, and did not, is not passed on; nor is a storm of changes (NTF-01, NTF-05)',
  async t => {
    const { open, catalogs } = await startSeveral(t, { a: { tools: ['a1'] }, b: { tools: ['b1'] } })
    const client = await open()
    const channel = await client.get()
    await client.request('tools/list')
    await until('both are listened to', () => catalogs.a.channels.size === 1 && catalogs.b.channels.size === 1)
    const { b } = catalogs
    const before = b.heard('tools/list')
    for (let i = 0; i < 200; i++) catalogs.a.tell('notifications/tools/list_changed')
    await sleep(1_300)
    t.same(listChanged(channel), [], 'the list is the same')
    t.ok(catalogs.a.heard('tools/list') < 20, `asked ${catalogs.a.heard('tools/list')} times`)
    t.equal(b.heard('tools/list'), before, "the other's list is left alone")
    for (let i = 0; i < 100; i++) {
      catalogs.a.change('tools', ['a1', `v${i}`])
      await sleep(10)
    }
    await until('the last one is listed', async () => names(await wholeList(client, 'tools/list')).includes('v99'))
    await sleep(1_100)
    t.ok(listChanged(channel).length <= 5, `told ${listChanged(channel).length} times in 2 s`)
  }
)

t.test('a backend that changes its list whenever it is read holds up no list (NTF-01)', async t => {
  const { open, catalogs } = await startSeveral(t, { a: { tools: ['a1'] }, b: { tools: ['b1'] } })
  const { a } = catalogs
  const client = await open()
  await client.get()
  await wholeList(client, 'tools/list')
  await until('it is listened to', () => a.channels.size === 1)
  let n = 0
  a.server.on('tools/list', async turn => {
    a.tell('notifications/tools/list_changed')
    await sleep(20)
    turn.answer(JSON.stringify({ tools: [{ name: 'a1', title: `${n++}`, inputSchema: { type: 'object' } }] }))
  })
  for (let i = 0; i < 3; i++) {
    const before = n
    a.tell('notifications/tools/list_changed')
    await until('it is read again', () => n > before)
    const began = performance.now()
    t.same(names(await wholeList(client, 'tools/list')), ['a1', 'b1'])
    t.ok(performance.now() - began < 2_000, `it took ${Math.round(performance.now() - began)} ms`)
  }
})

t.test(
  'a change that came while the stream of a backend was broken is seen when it is there again (NTF-05)',
  async t => {
    const { open, catalogs } = await startSeveral(t, { a: { tools: ['a1'] }, b: { tools: ['b1'] } })
    const { a } = catalogs
    const client = await open()
    const channel = await client.get()
    t.same(names(await wholeList(client, 'tools/list')), ['a1', 'b1'])
    await until('it is listened to', () => a.channels.size === 1)
    a.upstream.cut()
    await until('the stream is broken', () => a.channels.size === 0)
    a.change('tools', ['a1', 'a2'])
    await channel.events.message(({ method }) => method === 'notifications/tools/list_changed', 10_000)
    t.same(names(await wholeList(client, 'tools/list')), ['a1', 'a2', 'b1'])
  }
)

async function withCall(t: Test) {
  const several = await startSeveral(
    t,
    { a: { tools: ['slow'] }, b: { tools: ['b1'] } },
    { file: { streams: { sseAfter: '20ms' } } }
  )
  const { a } = several.catalogs
  let go = (): void => {}
  a.server.on('tools/call:slow', async turn => {
    turn.progress(1)
    await new Promise<void>(resolve => {
      go = resolve
    })
    turn.answer('{"content":[]}')
  })
  const client = await several.open()
  const channel = await client.get()
  await client.call('b1')
  await until('both are listened to', () => a.channels.size === 1 && several.catalogs.b.channels.size === 1)
  return { ...several, client, channel, go: () => go() }
}

t.test('progress, cancels and responses of a backend are not taken for those of a call at another (S15)', async t => {
  const { client, channel, catalogs, go } = await withCall(t)
  const call = await client.call('slow', {}, { progressToken: 1 })
  await call.events.message(({ method }) => method === 'notifications/progress')
  const { b } = catalogs
  // What b says of token and ids that a's call has.
  b.tell('notifications/progress', { progressToken: 1, progress: 99 })
  b.tell('notifications/cancelled', { requestId: client.lastId })
  for (const id of [client.lastId, 1, 2, 3])
    for (const stream of b.channels.values())
      stream.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"from":"b"}}\n\n`)
  await sleep(100)
  const stray = [...call.events.messages, ...channel.events.messages].filter(
    ({ params, result }) => params?.progress === 99 || result?.from === 'b'
  )
  t.same(stray, [])
  go()
  await call.events.whole()
  t.match(call.events.messages.at(-1), { id: client.lastId, result: { content: [] } })
})
