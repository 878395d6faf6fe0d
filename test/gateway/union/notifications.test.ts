/** What backends of one route say by themselves, and who hears of it (NTF-01, NTF-03, NTF-05). */
import t, { type Test } from 'tap'
import { stringParam } from '../../../src/protocol/message.ts'
import type { RawClient } from '../../helpers/raw-client.ts'
import { namesIn, type Stocked, together } from '../../helpers/union.ts'
import { until } from '../../helpers/until.ts'

const changes = (events: { messages: any[] }, kind = 'tools') =>
  events.messages.filter(({ method }) => method === `notifications/${kind}/list_changed`).length

/** A session whose stream is open, with a link to every backend that listens. */
async function listening(all: Awaited<ReturnType<typeof together>>) {
  const before = Object.fromEntries(Object.entries(all.servers).map(([name, server]) => [name, server.heard.length]))
  const client = await all.open()
  const { events } = await client.get()
  for (const [name, upstream] of Object.entries(all.upstreams)) {
    await until(`${name} is listened to`, () => upstream.listening && all.servers[name]!.heard.length > before[name]!)
  }
  return { client, events }
}

t.test('a list that changed is read again, that of its backend alone; the session hears of it once', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { client, events } = await listening(all)
  t.same(namesIn(await client.request('tools/list')), ['x', 'y'])
  all.servers.a!.tools.push('z')
  for (let i = 0; i < 20; i++) all.servers.a!.announce('notifications/tools/list_changed')
  await until('list_changed came', () => changes(events) > 0)
  t.same(namesIn(await client.request('tools/list')), ['x', 'z', 'y'])
  t.equal(all.servers.b!.heardOf('tools/list').length, 1, 'the other list was not read again')
  t.ok(all.servers.a!.heardOf('tools/list').length <= 3)
  t.equal(changes(events), 1)
})

t.test('nobody hears of a list that is the same as before', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { client, events } = await listening(all)
  await client.request('tools/list')
  all.servers.a!.announce('notifications/tools/list_changed')
  await until('the list was read again', () => all.servers.a!.heardOf('tools/list').length === 2)
  all.servers.b!.tools.push('z')
  all.servers.b!.announce('notifications/tools/list_changed')
  await until('list_changed came', () => changes(events) > 0)
  t.ok(namesIn(await client.request('tools/list')).includes('z'))
  await new Promise(resolve => setTimeout(resolve, 1_200))
  t.equal(changes(events), 1, 'for the change of b alone')
})

t.test('at most one a second and session, and the last change is told', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { client, events } = await listening(all)
  await client.request('tools/list')
  const began = performance.now()
  for (let i = 0; i < 40; i++) {
    all.servers.a!.tools = ['x', `x${i}`]
    all.servers.a!.announce('notifications/tools/list_changed')
    await new Promise(resolve => setTimeout(resolve, 30))
  }
  await until('the last change is listed', async () => {
    const names = namesIn(await client.request('tools/list'))
    return names.includes('x39')
  })
  await until('two came', () => changes(events) >= 2)
  const seconds = (performance.now() - began) / 1_000
  t.ok(changes(events) <= Math.ceil(seconds) + 1, `${changes(events)} in ${seconds.toFixed(1)} s`)
})

t.test('a change that a call brings counts like one that comes by itself', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { client, events } = await listening(all)
  await client.request('tools/list')
  all.servers.b!.on('tools/call', turn => {
    all.servers.b!.tools.push('new')
    turn.notify('notifications/tools/list_changed')
    turn.answer('{"content":[]}')
  })
  await client.call('y')
  await until('list_changed came', () => changes(events) === 1)
  t.same(namesIn(await client.request('tools/list')), ['x', 'y', 'new'])
})

const subscriptionsOf = (server: Stocked): Stocked => {
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) server.on(method, turn => turn.answer('{}'))
  return server
}

/** `+` subscribed, `-` unsubscribed, in order. */
const subscribed = (server: Stocked): string[] =>
  server.heard.flatMap(message => {
    const sign = { 'resources/subscribe': '+', 'resources/unsubscribe': '-' }[message.method ?? '']
    return sign === undefined ? [] : [`${sign}${stringParam(message, 'uri')}`]
  })

const withResources = (t: Test) =>
  together(t, { a: { resources: ['x://1', 'x://2'] }, b: { resources: ['y://1'] } }).then(all => {
    for (const server of Object.values(all.servers)) subscriptionsOf(server)
    return all
  })

const updates = (events: { messages: any[] }) =>
  events.messages.filter(({ method }) => method === 'notifications/resources/updated').map(({ params }) => params.uri)

t.test('a subscription goes to the backend of the URI, and its updates to subscribers alone (NTF-03)', async t => {
  const all = await withResources(t)
  const { client, events } = await listening(all)
  const subscribe = (uri: string) => client.request('resources/subscribe', { uri })
  t.ok((await subscribe('x://1')).json.result)
  t.ok((await subscribe('y://1')).json.result)
  t.same(subscribed(all.servers.a!), ['+x://1'])
  t.same(subscribed(all.servers.b!), ['+y://1'])
  all.servers.a!.announce('notifications/resources/updated', { uri: 'x://2' })
  all.servers.b!.announce('notifications/resources/updated', { uri: 'x://1' })
  all.servers.a!.announce('notifications/resources/updated', { uri: 'x://1/part' })
  all.servers.b!.announce('notifications/resources/updated', { uri: 'y://1' })
  await until('both came', () => updates(events).length >= 2)
  t.same(updates(events).sort(), ['x://1/part', 'y://1'], 'of what was subscribed to, at the backend it was')
  all.servers.a!.resources = []
  all.servers.a!.announce('notifications/resources/list_changed')
  await until('it is listed no more', async () => {
    const { json } = await client.request('resources/list')
    return json.result.resources.length === 1
  })
  t.ok((await client.request('resources/unsubscribe', { uri: 'x://1' })).json.result)
  t.same(subscribed(all.servers.a!), ['+x://1', '-x://1'], 'ended where it was made')
})

t.test('after a restart of one backend its subscriptions are made again, those of others are not touched', async t => {
  const all = await withResources(t)
  const { client } = await listening(all)
  for (const uri of ['x://1', 'y://1']) await client.request('resources/subscribe', { uri })
  all.upstreams.a!.sessions.clear()
  t.ok((await client.request('resources/subscribe', { uri: 'x://2' })).json.result)
  await until('subscribed again', () => subscribed(all.servers.a!).filter(one => one === '+x://1').length === 2)
  t.same(subscribed(all.servers.b!), ['+y://1'])
})

t.test('a backend without subscriptions is not asked for one', async t => {
  const all = await together(t, {
    a: { resources: ['x://1'], capabilities: { resources: {} } },
    b: { resources: ['y://1'] }
  })
  const client = await all.open()
  t.ok(client.server.capabilities.resources.subscribe)
  const { json } = await client.request('resources/subscribe', { uri: 'x://1' })
  t.equal(json.error.code, -32601)
  t.same(subscribed(all.servers.a!), [])
})

const levels = (server: Stocked) => server.heardOf('logging/setLevel').map(message => stringParam(message, 'level'))

t.test('a log level goes to every backend that logs, also to those that are used later (R101)', async t => {
  const capabilities = { tools: {}, logging: {} }
  const all = await together(t, {
    a: { tools: ['x'], capabilities },
    b: { tools: ['y'] },
    c: { tools: ['z'], capabilities }
  })
  for (const server of Object.values(all.servers)) server.on('logging/setLevel', turn => turn.answer('{}'))
  const first = await all.open()
  await first.request('tools/list')
  t.ok((await first.request('logging/setLevel', { level: 'error' })).json.result)
  t.same(Object.values(all.servers).map(levels), [['error'], [], ['error']])
  const second: RawClient = await all.open()
  t.ok((await second.request('logging/setLevel', { level: 'debug' })).json.result)
  t.same(Object.values(all.servers).map(levels), [['error'], [], ['error']], 'no link of it is open yet')
  await second.call('z')
  await until('the level is set', () => levels(all.servers.c!).length === 2)
  t.same(Object.values(all.servers).map(levels), [['error'], [], ['error', 'debug']])
  t.equal((await second.request('logging/setLevel', { level: 'loud' })).json.error.code, -32602)
})

t.test('no backend logs: the level cannot be set', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const client = await all.open()
  t.notOk(client.server.capabilities.logging)
  t.equal((await client.request('logging/setLevel', { level: 'error' })).json.error.code, -32601)
})

t.test('a notification of the client goes to every backend of its session', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { client } = await listening(all)
  await client.post({ method: 'notifications/roots/list_changed' })
  for (const server of Object.values(all.servers)) {
    await until('it came', () => server.heardOf('notifications/roots/list_changed').length === 1)
  }
})

t.test(
  'a method of an extension goes to the backend that advertises it, else to the configured one, else nowhere',
  async t => {
    const all = await together(
      t,
      {
        a: { tools: ['x'] },
        b: { tools: ['y'], capabilities: { tools: {}, extensions: { 'com.example/things': {} } } },
        c: { tools: ['z'] }
      },
      { backends: { c: { extensions: ['vendor/'] } } }
    )
    for (const [name, server] of Object.entries(all.servers)) {
      for (const method of ['com.example/things/list', 'vendor/do', 'other/do']) {
        server.on(method, turn => turn.answer(`{"by":"${name}","n":1.0}`))
      }
    }
    const client = await all.open()
    t.equal((await client.request('com.example/things/list')).json.result.by, 'b')
    t.match((await client.request('vendor/do')).text, /"by":"c","n":1\.0/)
    t.equal((await client.request('other/do')).json.error.code, -32601)
    const meta = { 'com.example/things': {} }
    t.equal((await client.request('other/do', { _meta: meta })).json.result.by, 'b', 'also by a member of _meta')
  }
)

t.test('what changed before the backend could be heard is found when it can (NTF-05)', async t => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let asked = 0
  const all = await together(
    t,
    { a: { tools: ['x'] }, b: { tools: ['y'] } },
    {
      upstreams: {
        b: {
          async intercept({ method }) {
            if (method !== 'GET') return false
            asked++
            await held
            return false
          }
        }
      }
    }
  )
  const { b } = all.servers
  const client = await all.open()
  const { events } = await client.get()
  await until('b is asked for its stream', () => asked === 1)
  t.same(namesIn(await client.request('tools/list')), ['x', 'y'])
  b!.tools.push('z')
  t.equal(b!.announce('notifications/tools/list_changed'), false, 'nobody hears it')
  release()
  await until('list_changed came', () => changes(events) === 1)
  t.same(namesIn(await client.request('tools/list')), ['x', 'y', 'z'])
  // Another one who listens finds everything as it was.
  const listed = b!.heardOf('tools/list').length
  const other = await all.open()
  await other.get()
  await until('b is listened to twice', () => all.upstreams.b!.seenOf('GET').length === 2)
  t.same(namesIn(await other.request('tools/list')), ['x', 'y', 'z'])
  t.equal(b!.heardOf('tools/list').length, listed)
})
