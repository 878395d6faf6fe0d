/** One upstream for all sessions: nobody is asked, the log level is the lowest wanted, subscriptions are counted (R7, R37-R41, R101b, NTF-03). */
import t, { type Test } from 'tap'
import { stringParam, textParam } from '../../src/protocol/message.ts'
import { type Behind, behind, proxied } from '../helpers/behind.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { Scripted } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

function serverOf(capabilities: object = { logging: {}, resources: { subscribe: true }, tools: {} }): Scripted {
  const server = new Scripted()
  server.initializeResult = JSON.stringify({
    protocolVersion: '2025-11-25',
    capabilities,
    serverInfo: { name: 's', version: '1' }
  })
  for (const method of ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']) {
    server.on(method, turn => turn.answer('{}'))
  }
  server.on('tools/call:ask', async turn => {
    const { error } = await turn.ask('elicitation/create', { message: '?', requestedSchema: {} })
    turn.answer(JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(error) }] }))
  })
  return server
}

const levelsSet = (server: Scripted): (string | undefined)[] =>
  server.heardOf('logging/setLevel').map(message => stringParam(message, 'level'))

/** `+` subscribed, `-` unsubscribed, in order. */
const subscriptions = (server: Scripted): string[] =>
  server.heard.flatMap(message => {
    const sign = { 'resources/subscribe': '+', 'resources/unsubscribe': '-' }[message.method ?? '']
    return sign === undefined ? [] : [`${sign}${stringParam(message, 'uri')}`]
  })

const setLevel = (client: RawClient, level: string) => client.request('logging/setLevel', { level })
const subscribe = (client: RawClient, uri: string) => client.request('resources/subscribe', { uri })
const unsubscribe = (client: RawClient, uri: string) => client.request('resources/unsubscribe', { uri })

const open = (t: Test, server = serverOf()): Promise<Behind> => behind(t, 'stdio shared', { server })

/** Says something last, waits until each has it, and returns what of `method` each got before. */
async function gotBy(server: Scripted, channels: readonly { events: RawEvents }[], method: string): Promise<any[][]> {
  server.announce('notifications/tools/list_changed')
  return Promise.all(
    channels.map(async ({ events }) => {
      await events.message(message => message.method === 'notifications/tools/list_changed')
      return events.messages.filter(message => message.method === method).map(({ params }) => params)
    })
  )
}
type RawEvents = Awaited<ReturnType<RawClient['get']>>['events']

t.test('a shared upstream is told of no client capability, and asks nobody', async t => {
  const { url, server } = await open(t)
  const client = await RawClient.open(url, { capabilities: { elicitation: {}, roots: {}, sampling: {} } })
  t.equal(textParam(server.heardOf('initialize')[0]!, 'capabilities'), '{}')
  const { json } = await client.call('ask')
  t.match(JSON.parse(json.result.content[0].text), { code: -32601, message: /shared/ })
  server.outside('{"jsonrpc":"2.0","id":"outside","method":"roots/list"}')
  await until('the refusal', () => server.heard.some(({ id }) => id === '"outside"'))
  await client.post({ method: 'notifications/roots/list_changed' })
  await RawClient.open(url)
  t.equal(server.heardOf('initialize').length, 1, 'one for all')
  t.equal(server.heardOf('notifications/roots/list_changed').length, 0, 'it was told of no roots')
})

t.test('logs pass from the level of each session up, from warning where none was set (R101b, R101d)', async t => {
  const { url, server } = await open(t)
  const clients = await Promise.all([1, 2, 3].map(() => RawClient.open(url)))
  t.same((await setLevel(clients[0]!, 'debug')).json, { jsonrpc: '2.0', id: 1, result: {} })
  await setLevel(clients[1]!, 'error')
  t.same(levelsSet(server), ['debug', 'debug'])
  const channels = await Promise.all(clients.map(client => client.get()))
  for (const level of [...levels, 'vendor']) server.announce('notifications/message', { level, data: level })
  const got = await gotBy(server, channels, 'notifications/message')
  t.same(
    got.map(params => params.map(({ level }) => level)),
    [
      [...levels, 'vendor'],
      [...levels.slice(4), 'vendor'],
      [...levels.slice(3), 'vendor']
    ]
  )
})

t.test('the upstream gets the lowest level that any session needs', async t => {
  const { url, server } = await open(t)
  const [a, b] = await Promise.all([RawClient.open(url), RawClient.open(url)])
  await setLevel(a, 'error')
  t.same(levelsSet(server), ['warning'], 'the other has set none')
  await setLevel(b, 'critical')
  t.same(levelsSet(server).slice(1), ['error'])
  await setLevel(a, 'info')
  await setLevel(b, 'alert')
  t.same(levelsSet(server).slice(2), ['info', 'info'])
  await setLevel(a, 'emergency')
  t.same(levelsSet(server).slice(4), ['alert'])
})

t.test('levels that are set at once do not miss each other', async t => {
  const server = serverOf()
  const held: (() => void)[] = []
  server.on('logging/setLevel', turn => void held.push(() => turn.answer('{}')))
  const { url } = await open(t, server)
  const [a, b] = await Promise.all([RawClient.open(url), RawClient.open(url)])
  const first = setLevel(a, 'debug')
  await until('the first is upstream', () => held.length === 1)
  const second = setLevel(b, 'error')
  await a.request('ping')
  t.equal(held.length, 1, 'the second waits for its turn')
  held[0]!()
  await until('the second is upstream', () => held.length === 2)
  held[1]!()
  await Promise.all([first, second])
  t.same(levelsSet(server), ['debug', 'debug'])
})

t.test('a level that the upstream refuses is not kept', async t => {
  const server = serverOf()
  server.on('logging/setLevel', turn => turn.refuse(-32602, 'no', { n: 1 }))
  const { url } = await open(t, server)
  const client = await RawClient.open(url)
  t.match((await setLevel(client, 'debug')).json, { error: { code: -32602, message: 'no', data: { n: 1 } } })
  const channel = await client.get()
  server.announce('notifications/message', { level: 'info', data: 1 })
  t.same(await gotBy(server, [channel], 'notifications/message'), [[]])
})

for (const kind of proxied) {
  void t.test(`${kind}: what is no level is refused here; without logging there is no setLevel (R101a)`, async t => {
    const server = serverOf()
    const { url } = await behind(t, kind, { server })
    const client = await RawClient.open(url)
    for (const level of ['loud', '', 'ERROR', undefined, 3, null]) {
      t.match((await client.request('logging/setLevel', { level })).json, { error: { code: -32602 } })
    }
    t.match((await client.post({ id: 1, method: 'logging/setLevel' })).json, { error: { code: -32602 } })
    t.same(levelsSet(server), [])
    const silent = serverOf({ tools: {} })
    const other = await behind(t, kind, { server: silent })
    const { json } = await setLevel(await RawClient.open(other.url), 'info')
    t.match(json, { error: { code: -32601 } })
    t.same(levelsSet(silent), [])
  })
}

for (const kind of ['http', 'sse', 'stdio'] as const) {
  void t.test(`${kind}: two sessions have a level each (R101b)`, async t => {
    const server = serverOf()
    server.on('tools/call:log', turn => {
      for (const level of levels) turn.notify('notifications/message', { level, data: level })
      turn.answer('{"content":[]}')
    })
    const { url } = await behind(t, kind, { server })
    const [a, b, c] = await Promise.all([RawClient.open(url), RawClient.open(url), RawClient.open(url)])
    await setLevel(a!, 'error')
    await setLevel(b!, 'debug')
    t.same(levelsSet(server), ['error', 'debug'], 'as each said it')
    const logged = async (client: RawClient): Promise<string[]> => {
      const { events } = await client.call('log')
      await events.whole()
      return events.messages.flatMap(({ params }) => (params === undefined ? [] : [params.level]))
    }
    t.same(await logged(a!), levels.slice(4))
    t.same(await logged(b!), levels)
    t.same(await logged(c!), levels, 'whatever the upstream says, as long as none was set')
  })
}

t.test('the upstream hears of the first and of the last subscriber (NTF-03)', async t => {
  const { url, server } = await open(t)
  const [a, b] = await Promise.all([RawClient.open(url), RawClient.open(url)])
  t.same((await subscribe(a!, 'x:1')).json.result, {})
  t.same((await subscribe(a!, 'x:1')).json.result, {}, 'twice is once')
  t.same((await subscribe(b!, 'x:1')).json.result, {})
  await subscribe(b!, 'x:2')
  t.same(subscriptions(server), ['+x:1', '+x:2'])
  t.same((await unsubscribe(a!, 'x:1')).json.result, {})
  t.same((await unsubscribe(a!, 'x:1')).json.result, {}, 'the other still has it')
  await unsubscribe(b!, 'x:2')
  t.same(subscriptions(server).slice(2), ['-x:2'])
  await unsubscribe(b!, 'x:1')
  t.same(subscriptions(server).slice(3), ['-x:1'])
})

t.test('updates go to those who subscribed, to the resource or to what it is a part of (R40, F14)', async t => {
  const { url, server } = await open(t)
  const clients = await Promise.all([1, 2, 3].map(() => RawClient.open(url)))
  await subscribe(clients[0]!, 'file:///a')
  await subscribe(clients[1]!, 'file:///b')
  const channels = await Promise.all(clients.map(client => client.get()))
  for (const uri of ['file:///a', 'file:///a/part', 'file:///b', 'file:///c', '']) {
    server.announce('notifications/resources/updated', { uri })
  }
  server.announce('notifications/resources/updated')
  t.same(await gotBy(server, channels, 'notifications/resources/updated'), [
    [{ uri: 'file:///a' }, { uri: 'file:///a/part' }],
    [{ uri: 'file:///b' }],
    []
  ])
})

t.test('a session that ends gives its subscriptions back, and not those of others (R41)', async t => {
  const { url, server } = await open(t)
  const [a, b] = await Promise.all([RawClient.open(url), RawClient.open(url)])
  for (const uri of ['x:mine', 'x:ours']) await subscribe(a!, uri)
  await subscribe(b!, 'x:ours')
  t.equal((await a!.delete()).status, 204)
  await until('the upstream knows', () => subscriptions(server).includes('-x:mine'))
  await b!.request('ping')
  t.same(subscriptions(server), ['+x:mine', '+x:ours', '-x:mine'])
})

t.test('one who comes while the last one leaves is subscribed', async t => {
  const server = serverOf()
  const held: (() => void)[] = []
  server.on('resources/unsubscribe', turn => void held.push(() => turn.answer('{}')))
  const { url } = await open(t, server)
  const [a, b] = await Promise.all([RawClient.open(url), RawClient.open(url)])
  await subscribe(a!, 'x:1')
  const leaving = unsubscribe(a!, 'x:1')
  await until('it is upstream', () => held.length === 1)
  const coming = subscribe(b!, 'x:1')
  await b!.request('ping')
  held[0]!()
  await Promise.all([leaving, coming])
  t.same(subscriptions(server), ['+x:1', '-x:1', '+x:1'])
})

t.test('a subscription that the upstream refuses is none', async t => {
  const server = serverOf()
  server.on('resources/subscribe', turn => turn.refuse(-32002, 'no such resource', { uri: 'x:1' }))
  const { url } = await open(t, server)
  const [a, b] = await Promise.all([RawClient.open(url), RawClient.open(url)])
  for (const client of [a!, b!]) {
    t.match((await subscribe(client, 'x:1')).json, { error: { code: -32002, data: { uri: 'x:1' } } })
  }
  t.same(subscriptions(server), ['+x:1', '+x:1'], 'each was asked upstream')
  const channel = await a!.get()
  server.announce('notifications/resources/updated', { uri: 'x:1' })
  t.same(await gotBy(server, [channel], 'notifications/resources/updated'), [[]])
})

for (const kind of proxied) {
  void t.test(
    `${kind}: what has no uri is the upstream's to judge; a session has 1,000 subscriptions at most`,
    async t => {
      const server = serverOf()
      const { url } = await behind(t, kind, { server })
      const client = await RawClient.open(url, { version: '2025-03-26' })
      for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
        await client.request(method, { uri: 1 })
        t.equal(server.heardOf(method).length, 1)
      }
      const uris = Array.from({ length: 1_001 }, (_, i) => `x:${i}`)
      for (let i = 0; i < 1_000; i += 50) {
        await client.post(
          uris.slice(i, i + 50).map((uri, n) => ({ id: n, method: 'resources/subscribe', params: { uri } }))
        )
      }
      t.equal(server.heardOf('resources/subscribe').length, 1_001)
      t.match((await subscribe(client, 'x:1000')).json, { error: { code: -32602, message: /1000/ } })
      t.same((await subscribe(client, 'x:999')).json.result, {}, 'it has that one')
      await unsubscribe(client, 'x:0')
      t.same((await subscribe(client, 'x:1000')).json.result, {})
    }
  )
}

for (const kind of ['http', 'sse', 'stdio'] as const) {
  void t.test(`${kind}: a session has subscriptions of its own, and updates pass as they come (R37-R40)`, async t => {
    const server = serverOf()
    const { url } = await behind(t, kind, { server })
    const client = await RawClient.open(url)
    await subscribe(client, 'x:1')
    await subscribe(client, 'x:1')
    await unsubscribe(client, 'x:1')
    t.same(subscriptions(server), ['+x:1', '+x:1', '-x:1'])
    const channel = await client.get()
    await until('somebody listens', () => server.announce('notifications/resources/updated', { uri: 'x:whatever' }))
    await channel.events.message(({ params }) => params?.uri === 'x:whatever')
  })
}

t.test(
  'R120, R126: whose a task is cannot be told: no list of them is declared, none is given, and no status is told',
  async t => {
    const server = serverOf({ tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } })
    server.on('tasks/list', turn => turn.answer('{"tasks":[]}'))
    server.on('tasks/get', turn => turn.answer('{"taskId":"1"}'))
    const { url } = await open(t, server)
    const client = await RawClient.open(url)
    t.same(client.server.capabilities.tasks, { cancel: {}, requests: { tools: { call: {} } } })
    t.match((await client.request('tasks/list')).json.error, { code: -32601 })
    t.match((await client.request('tasks/get', { taskId: '1' })).json.result, { taskId: '1' }, 'by its id')
    const channel = await client.get()
    server.announce('notifications/tasks/status', { taskId: '1', status: 'working' })
    t.same(await gotBy(server, [channel], 'notifications/tasks/status'), [[]])
    channel.destroy()
  }
)
