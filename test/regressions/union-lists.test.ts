/** Lists of several backends while backends, sessions and the config do what they like. */
import t from 'tap'
import { configOf } from '../helpers/gateway.ts'
import type { RawClient } from '../helpers/raw-client.ts'
import type { Turn } from '../helpers/scripted.ts'
import { namesIn, said, together } from '../helpers/union.ts'
import { until } from '../helpers/until.ts'

const changes = ({ messages }: { messages: any[] }): number =>
  messages.filter(({ method }) => method === 'notifications/tools/list_changed').length

t.test('sessions that are deleted while they read a list are no failures of the backend', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { b } = all.servers
  const held: Turn[] = []
  b!.on('tools/list', turn => void held.push(turn))
  // More than open the breaker.
  for (let i = 1; i <= 6; i++) {
    const client = await all.open()
    const listing = client.request('tools/list').catch(() => {})
    await until('the list is asked for', () => held.length >= i)
    await client.delete()
    await listing
  }
  b!.on('tools/list', turn => turn.answer('{"tools":[{"name":"y","inputSchema":{"type":"object"}}]}'))
  const stay = await all.open()
  const { json } = await stay.request('tools/list')
  t.same(namesIn({ json }), ['x', 'y'])
  t.equal(json.result._meta, undefined)
  t.equal(said(await stay.call('y')), 'b:y {}')
})

t.test('sessions that are deleted while their link opens for a list are no failures of the backend', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { b } = all.servers
  await all.open()
  const { initializeResult } = b!
  let held = 0
  b!.on('initialize', () => void held++)
  for (let i = 1; i <= 6; i++) {
    const client = await all.open()
    const listing = client.request('tools/list').catch(() => {})
    // Its own: no other session reads the list, though one has a link that is open.
    await until('its link opens', () => held === i)
    await client.delete()
    await listing
  }
  b!.on('initialize', turn => turn.answer(initializeResult))
  const stay = await all.open()
  const { json } = await stay.request('tools/list')
  t.same(namesIn({ json }), ['x', 'y'])
  t.equal(json.result._meta, undefined)
  t.equal(said(await stay.call('y')), 'b:y {}')
})

t.test('news of one backend is no reason to read the lists of others', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } }, { route: { listTtl: '1ms' } })
  const { a, b } = all.servers
  const client = await all.open()
  const { events } = await client.get()
  await until('a is listened to', () => all.upstreams.a!.listening)
  const listed = (): number => b!.heardOf('tools/list').length
  await client.request('tools/list')
  await until('news of both was looked at', () => listed() === 2)
  a!.tools.push('z')
  a!.announce('notifications/tools/list_changed')
  await until('list_changed came', () => changes(events) === 1)
  t.equal(listed(), 2)
})

t.test('a backend that never stops saying that its list changed holds up no list', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { b } = all.servers
  const client = await all.open()
  await client.get()
  await until('b is listened to', () => all.upstreams.b!.listening)
  // Once more whenever it is read.
  b!.on('tools/list', turn => {
    b!.announce('notifications/tools/list_changed')
    setTimeout(() => turn.answer('{"tools":[{"name":"y","inputSchema":{"type":"object"}}]}'), 20)
  })
  // JSON however long it takes.
  const ask = (method: string, params?: object) => client.request(method, params, { accept: 'application/json' })
  const began = performance.now()
  t.same(namesIn(await ask('tools/list')), ['x', 'y'])
  t.same(namesIn(await ask('tools/list')), ['x', 'y'])
  t.match((await ask('tools/call', { name: 'nobody' })).json.error, { code: -32602 })
  t.ok(performance.now() - began < 2_000, `took ${Math.round(performance.now() - began)} ms`)
})

t.test('whoever was given a list that is no more is told, though the list is again what it was before', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { b } = all.servers
  const client = await all.open()
  const { events } = await client.get()
  await until('b is listened to', () => all.upstreams.b!.listening)
  const list = async (...tools: string[]): Promise<void> => {
    b!.tools = tools
    b!.announce('notifications/tools/list_changed')
    await until(`${tools} are listed`, async () => {
      return namesIn(await client.request('tools/list')).join() === ['x', ...tools].join()
    })
  }
  await client.request('tools/list')
  await list('y', 'z')
  await until('list_changed came', () => changes(events) === 1)
  // Both within the second in which nothing is told.
  await list('y')
  b!.tools = ['y', 'z']
  b!.announce('notifications/tools/list_changed')
  await until('list_changed came again', () => changes(events) === 2)
})

t.test('what a backend said before it left the route opens no link to it', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] }, c: { tools: ['z'] } })
  const { b } = all.servers
  const client = await all.open()
  const { events } = await client.get()
  await until('b is listened to', () => all.upstreams.b!.listening)
  await client.request('tools/list')
  b!.tools.push('more')
  b!.announce('notifications/tools/list_changed')
  await until('list_changed came', () => changes(events) === 1)
  await client.request('tools/list')
  b!.tools.push('still more')
  b!.announce('notifications/tools/list_changed')
  const listed = b!.heardOf('tools/list').length
  const met = b!.heardOf('initialize').length
  const entry = (name: string) => ({ kind: 'http', url: all.upstreams[name]!.url })
  // It is served elsewhere all the same.
  const routes = { '/mcp': { backends: ['a', 'c'] }, '/b': { backends: ['b'] } }
  await all.gateway.reload(configOf({ backends: { a: entry('a'), b: entry('b'), c: entry('c') }, routes }))
  await until('its session is over', () => all.upstreams.b!.sessions.size === 0)
  t.same(namesIn(await client.request('tools/list')), ['x', 'z'])
  // News is told once a second.
  await new Promise(resolve => setTimeout(resolve, 1_300))
  t.equal(b!.heardOf('initialize').length, met)
  t.equal(b!.heardOf('tools/list').length, listed)
})

t.test('a backend that is busy is not away: its list stays', async t => {
  const all = await together(
    t,
    { a: { tools: ['x'] }, b: { tools: ['y'] } },
    { route: { listTtl: '1ms' }, backends: { b: { calls: 1, queue: 0 } } }
  )
  const client = await all.open()
  t.same(namesIn(await client.request('tools/list')), ['x', 'y'])
  const { promise: called, resolve } = Promise.withResolvers<Turn>()
  all.servers.b!.on('tools/call', resolve)
  // Its one place may be taken by a look at its list.
  const calling = async (): Promise<Awaited<ReturnType<RawClient['call']>>> => {
    const answer = await client.call('y')
    return answer.json?.error?.data?.reason === 'overloaded' ? calling() : answer
  }
  const call = calling()
  const turn = await called
  const { json } = await client.request('tools/list')
  t.same(namesIn({ json }), ['x', 'y'])
  t.equal(json.result._meta, undefined)
  turn.answer('{"content":[{"type":"text","text":"late"}]}')
  t.equal(said(await call), 'late')
  all.servers.b!.tools.push('z')
  await until('it is read again', async () => namesIn(await client.request('tools/list')).includes('z'), 3_000)
})
