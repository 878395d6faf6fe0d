/** One backend that is slow, silent or away stalls none of the others (MUX-06). */
import net from 'node:net'
import t, { type Test } from 'tap'
import { startGateway } from '../../helpers/gateway.ts'
import { HttpUpstream } from '../../helpers/http-upstream.ts'
import { freePorts } from '../../helpers/ports.ts'
import { RawClient } from '../../helpers/raw-client.ts'
import { namesIn, Stocked, said, together } from '../../helpers/union.ts'
import { until } from '../../helpers/until.ts'

/** Takes connections and never says anything. */
async function silent(t: Test): Promise<string> {
  const sockets = new Set<net.Socket>()
  const server = net.createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/mcp`
}

const within = async <T>(t: Test, ms: number, what: string, act: () => Promise<T>): Promise<T> => {
  const began = performance.now()
  const result = await act()
  t.ok(performance.now() - began < ms, `${what} took ${Math.round(performance.now() - began)} ms`)
  return result
}

/** A healthy backend between one that is silent and one that refuses connections. */
async function mixed(t: Test, route: Record<string, unknown> = {}) {
  const server = new Stocked('ok', { tools: ['x', 'bad_y'], prompts: ['p'] })
  const upstream = await HttpUpstream.start(server)
  t.teardown(() => upstream.close())
  const [port] = await freePorts(1)
  const backends = {
    bad: { kind: 'http', url: await silent(t), timeout: '3s' },
    ok: { kind: 'http', url: upstream.url },
    gone: { kind: 'http', url: `http://127.0.0.1:${port}/mcp` }
  }
  const routes = { '/mcp': { backends: Object.keys(backends), initTimeout: '300ms', listTimeout: '400ms', ...route } }
  return { ...(await startGateway(t, { backends, routes })), server, port: port! }
}

t.test('initialize waits initTimeout once, then for nobody; what is not known yet is declared (MUX-06)', async t => {
  const { url } = await mixed(t)
  const client = await within(t, 1_200, 'the first', () => RawClient.open(url))
  t.same(Object.keys(client.server.capabilities).sort(), ['completions', 'logging', 'prompts', 'resources', 'tools'])
  await within(t, 250, 'the next', () => RawClient.open(url))
})

t.test('lists have what the healthy ones have, and name who is missing (MUX-06)', async t => {
  const { url } = await mixed(t)
  const client = await RawClient.open(url)
  const { json } = await within(t, 1_200, 'the first list', () => client.request('tools/list'))
  t.same(namesIn({ json }), ['x', 'bad_y'])
  t.same(json.result._meta, { 'dev.causeway/unavailable': ['bad', 'gone'] })
  await within(t, 250, 'the next list', () => client.request('tools/list'))
  await within(t, 1_200, 'prompts', () => client.request('prompts/list'))
  t.equal((await within(t, 250, 'ping', () => client.request('ping'))).json.result !== undefined, true)
})

t.test('a call of a healthy backend does not wait for a silent one longer than it must', async t => {
  const { url } = await mixed(t)
  const client = await RawClient.open(url)
  t.equal(said(await within(t, 350, 'by full name', () => client.call('ok_x'))), 'ok:x {}')
  t.equal(said(await within(t, 1_200, 'by own name', () => client.call('x'))), 'ok:x {}')
  t.equal(said(await within(t, 250, 'by own name again', () => client.call('x'))), 'ok:x {}')
  t.equal(said(await client.call('bad_y')), 'ok:bad_y {}')
  const lost = await within(t, 1_200, 'of the silent one', () => client.call('bad_z'))
  t.match(lost.json.error, { code: -32603, data: { backend: 'bad' } }, 'by its prefix it could be its own')
  t.match((await client.call('nobody')).json.error, { code: -32602 })
})

t.test('with onError fail a list is refused, and so is initialize while a backend was never met', async t => {
  const { url } = await mixed(t, { onError: 'fail' })
  await t.rejects(RawClient.open(url), /not initialized.*"reason":"(timeout|backend_unavailable)"/)
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } }, { route: { onError: 'fail' } })
  const client = await all.open()
  all.servers.b!.on('tools/list', turn => turn.refuse(-32603, 'no'))
  t.match((await client.request('tools/list')).json.error, { code: -32603, data: { backend: 'b' } })
  t.match((await client.call('x')).json.error, { code: -32603, data: { backend: 'b' } }, 'whose x is cannot be known')
  t.equal(said(await client.call('a_x')), 'a:x {}')
})

t.test('a backend that comes later adds itself: one list_changed of each kind that differs (MUX-06)', async t => {
  const { url, port } = await mixed(t, { backends: ['ok', 'gone'] })
  const client = await RawClient.open(url)
  const { events } = await client.get()
  t.same(namesIn(await client.request('tools/list')), ['x', 'bad_y'])
  t.same(namesIn(await client.request('prompts/list'), 'prompts'), ['p'])
  const late = new Stocked('gone', { tools: ['late'] })
  const upstream = await HttpUpstream.start(late, { port })
  t.teardown(() => upstream.close())
  await until('list_changed came', () => events.messages.length > 0, 10_000)
  t.same(namesIn(await client.request('tools/list')), ['x', 'bad_y', 'late'])
  t.equal(said(await client.call('late')), 'gone:late {}')
  await new Promise(resolve => setTimeout(resolve, 1_200))
  t.same(
    events.messages.map(({ method }) => method),
    ['notifications/tools/list_changed'],
    'prompts are the same'
  )
})

t.test('names stay what they were while a backend is away: its last known lists count', async t => {
  const all = await together(
    t,
    { a: { tools: ['both', 'x'] }, b: { tools: ['both', 'y'] } },
    { route: { listTtl: '1ms' } }
  )
  const client = await all.open()
  t.same(namesIn(await client.request('tools/list')), ['a_both', 'x', 'b_both', 'y'])
  await all.upstreams.b!.close()
  const { json } = await client.request('tools/list')
  t.same(namesIn({ json }), ['a_both', 'x'], 'it is left out')
  t.same(json.result._meta, { 'dev.causeway/unavailable': ['b'] })
  t.match((await client.call('both')).json.error, { code: -32602 }, 'not another backend of a sudden')
  t.match((await client.call('y')).json.error, { code: -32603, data: { backend: 'b' } }, 'the reason is told')
})

t.test('an empty list that a failure caused is not kept as truth (MUX-06)', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { b } = all.servers
  const client = await all.open()
  let fails = true
  b!.on('tools/list', turn =>
    fails ? turn.refuse(-32603, 'starting') : turn.answer('{"tools":[{"name":"y","inputSchema":{}}]}')
  )
  t.same(namesIn(await client.request('tools/list')), ['x'])
  fails = false
  await until('it is there', async () => namesIn(await client.request('tools/list')).includes('y'), 8_000)
})

t.test('operators are told which lists are left out, and why, until they are there (MUX-06)', async t => {
  const { open, servers, adminUrl } = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const leftOut = async (): Promise<unknown> => {
    const { backends } = (await (await fetch(`${adminUrl}/readyz?verbose`)).json()) as any
    return backends.map(({ name, state, leftOut }: any) => [name, state, leftOut])
  }
  const count = async (): Promise<string | undefined> =>
    /causeway_backend_lists_left_out\{backend="b"\} (\d)/.exec(await (await fetch(`${adminUrl}/metrics`)).text())?.[1]
  servers.b!.on('tools/list', turn => turn.answer('{"nonsense":[]}'))
  const client = await open()
  t.same(namesIn(await client.request('tools/list')), ['x'])
  const reason = 'tools/list: backend "b" answered tools/list without a list'
  t.same(await leftOut(), [
    ['a', 'up', []],
    ['b', 'up', [reason]]
  ])
  t.equal(await count(), '1')

  servers.b!.on('tools/list', turn => turn.answer('{"tools":[{"name":"y"}]}'))
  await until('its list', async () => namesIn(await client.request('tools/list')).length === 2)
  t.same(await leftOut(), [
    ['a', 'up', []],
    ['b', 'up', []]
  ])
  t.equal(await count(), '0')
})

t.test('a batch across backends runs side by side, ids are kept', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const client = await all.open({ version: '2025-03-26' })
  await client.request('tools/list')
  const { promise, resolve } = Promise.withResolvers<void>()
  all.servers.a!.on('tools/call', async turn => {
    await promise
    turn.answer('{"content":[{"type":"text","text":"a"}]}')
  })
  all.servers.b!.on('tools/call', turn => {
    resolve()
    turn.answer('{"content":[{"type":"text","text":"b"}]}')
  })
  const { json } = await client.post([
    { id: 1, method: 'tools/call', params: { name: 'x' } },
    { id: '1', method: 'tools/call', params: { name: 'y' } },
    { id: 2, method: 'tools/list' },
    { id: 3, method: 'tools/call', params: { name: 'nobody' } }
  ])
  const byId = new Map(json.map((response: any) => [response.id, response]))
  t.match(byId.get(1), { result: { content: [{ text: 'a' }] } })
  t.match(byId.get('1'), { result: { content: [{ text: 'b' }] } })
  t.match(byId.get(2), { result: { tools: [{ name: 'x' }, { name: 'y' }] } })
  t.match(byId.get(3), { error: { code: -32602 } })
})
