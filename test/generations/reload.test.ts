/** The config changes while the gateway runs (C2, LIF-03): what clients see of it, through real sockets. */
import { type OutgoingHttpHeaders, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { configOf, startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { runs } from '../helpers/processes.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { contractTools, Scripted, type Turn } from '../helpers/scripted.ts'
import { fixture } from '../helpers/stdio.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

/** A scripted server; calls of its tool `held` wait for the test. */
async function upstream(t: Test) {
  const server = contractTools(new Scripted())
  const turns: Turn[] = []
  server.on('tools/call:held', turn => void turns.push(turn))
  server.on('resources/subscribe', turn => turn.answer('{}'))
  server.on('logging/setLevel', turn => turn.answer('{}'))
  server.on('tools/list', turn => turn.answer('{"tools":[]}'))
  const http = await HttpUpstream.start(server, {})
  t.teardown(() => http.close())
  return {
    server,
    http,
    entry: { kind: 'http', url: http.url },
    async held(): Promise<Turn> {
      await until('a call of the tool held', () => turns.length > 0)
      return turns.shift()!
    }
  }
}

const child = (...flags: string[]) => ({
  kind: 'stdio',
  command: process.execPath,
  args: [fixture('server.mjs'), ...flags]
})

const saying = (text: string): string => JSON.stringify({ content: [{ type: 'text', text }] })
const textOf = ({ json }: { json: any }): string => json.result.content[0].text

const start = async (t: Test, file: Record<string, unknown>) => {
  const running = await startGateway(t, file)
  return {
    ...running,
    reload: (next: Record<string, unknown>) => running.gateway.reload(configOf(next)),
    open: (path: string, options?: Parameters<typeof RawClient.open>[1]) =>
      RawClient.open(new URL(path, running.url).href, options)
  }
}

const listChanged = (events: { messages: any[] }, kind = 'tools'): number =>
  events.messages.filter(({ method }) => method === `notifications/${kind}/list_changed`).length

t.test(
  'a call in flight at a removed backend finishes; then its route and its session are no more (LIF-03)',
  async t => {
    const [one, two] = [await upstream(t), await upstream(t)]
    const { open, reload } = await start(t, { backends: { one: one.entry, two: two.entry } })
    const client = await open('/mcp/one')
    const calling = client.call('held')
    const turn = await one.held()
    const { routes, backends } = await reload({ backends: { two: two.entry } })
    t.same([backends.removed, routes.removed], [['one'], ['/mcp/one']])
    t.equal((await client.call('echo')).status, 404, 'nothing new')
    await sleep(300)
    t.equal(one.http.sessions.size, 1, 'the upstream session goes on')
    turn.answer(saying('done'))
    t.equal(textOf(await calling), 'done')
    await until('the upstream session was ended', () => one.http.sessions.size === 0)
    t.equal((await client.call('echo')).status, 404)
  }
)

t.test('a call that does not finish by the deadline gets one error (LIF-03)', async t => {
  const [one, two] = [await upstream(t), await upstream(t)]
  const server = { shutdown: { deadline: '100ms' } }
  const { open, reload } = await start(t, { server, backends: { one: one.entry, two: two.entry } })
  const client = await open('/mcp/one')
  const calling = client.call('held')
  const turn = await one.held()
  await reload({ server, backends: { two: two.entry } })
  const { status, json } = await calling
  t.equal(status, 200)
  t.match(json.error, { code: -32603, data: { reason: 'backend_broke', backend: 'one' } }, 'it may have run')
  t.ok(await turn.cancelled, 'the backend is told')
})

t.test(
  'an unchanged child keeps its process and its session; a changed one is replaced, and ends (LIF-03)',
  async t => {
    const { open, reload } = await start(t, { backends: { same: child(), other: child() } })
    const [same, other] = [await open('/mcp/same'), await open('/mcp/other')]
    const before = [textOf(await same.call('pid')), textOf(await other.call('pid'))]
    t.equal(textOf(await same.call('increment')), '1')
    const report = await reload({ backends: { same: child(), other: child('new') } })
    t.same([report.backends.unchanged, report.backends.changed], [['same'], ['other']])
    t.equal(textOf(await same.call('pid')), before[0])
    t.equal(textOf(await same.call('increment')), '2')
    const after = textOf(await other.call('pid'))
    t.not(after, before[1], 'the session goes on with the new one')
    await until('the old child has ended', () => !runs(Number(before[1])))
    t.ok(runs(Number(before[0])) && runs(Number(after)))
  }
)

t.test('sessions of a changed route hear list_changed once, those of others nothing (LIF-03)', async t => {
  const [one, two, three] = [await upstream(t), await upstream(t), await upstream(t)]
  const { open, reload } = await start(t, { backends: { one: one.entry, two: two.entry } })
  const [changed, same] = [await open('/mcp/one'), await open('/mcp/two')]
  const [{ events }, { events: quiet }] = [await changed.get(), await same.get()]
  await reload({ backends: { one: three.entry, two: two.entry } })
  await events.message(({ method }) => method === 'notifications/tools/list_changed')
  await until('the new backend listens', () => three.http.listening)
  await until('the old one was left', () => one.http.sessions.size === 0)
  t.equal(listChanged(events), 1)
  three.server.announce('notifications/tools/list_changed')
  await until('the new backend is heard', () => listChanged(events) === 2)
  t.same([events.ended, quiet.ended, quiet.messages], [false, false, []])
})

const toolsOf = async (client: RawClient): Promise<string[]> =>
  (await client.request('tools/list')).json.result.tools.map(({ name }: { name: string }) => name)

t.test(
  'of several backends behind a route one goes and comes back: calls in flight finish, then its names are unknown, list_changed comes once (LIF-03)',
  async t => {
    const [one, two, three] = [await upstream(t), await upstream(t), await upstream(t)]
    one.server.on('tools/list', turn => turn.answer('{"tools":[{"name":"echo","inputSchema":{}}]}'))
    two.server.on('tools/list', turn => turn.answer('{"tools":[{"name":"held","inputSchema":{}}]}'))
    const all = { backends: { one: one.entry, two: two.entry, three: three.entry } }
    const { open, reload } = await start(t, all)
    const client = await open('/mcp')
    const { events } = await client.get()
    t.same(await toolsOf(client), ['echo', 'held'])
    const calling = client.call('held')
    const turn = await two.held()
    await reload({ backends: { one: one.entry, three: three.entry } })
    await events.message(({ method }) => method === 'notifications/tools/list_changed')
    t.same(await toolsOf(client), ['echo'])
    for (const name of ['held', 'two_held']) t.match((await client.call(name)).json.error, { code: -32602 }, name)
    t.equal(two.http.sessions.size, 1, 'where a call is in flight')
    turn.answer(saying('done'))
    t.equal(textOf(await calling), 'done')
    await until('it was left', () => two.http.sessions.size === 0)
    await sleep(1_200)
    t.same([listChanged(events), listChanged(events, 'prompts')], [1, 0])
    await reload(all)
    await until('it is told', () => listChanged(events) === 2)
    t.same(await toolsOf(client), ['echo', 'held'])
    const again = client.call('held')
    ;(await two.held()).answer(saying('again'))
    t.equal(textOf(await again), 'again')
    await sleep(1_200)
    t.equal(listChanged(events), 2)
  }
)

t.test('what a session had set is set again at the backend that takes the place', async t => {
  const [one, two] = [await upstream(t), await upstream(t)]
  two.server.initializeResult = one.server.initializeResult
  const { open, reload } = await start(t, { backends: { docs: one.entry } })
  const client = await open('/mcp')
  await client.request('logging/setLevel', { level: 'error' })
  await client.request('resources/subscribe', { uri: 'file:///a' })
  await reload({ backends: { docs: two.entry } })
  await until('subscribed', () => two.server.heardOf('resources/subscribe').length === 1)
  await until('the level', () => two.server.heardOf('logging/setLevel').length === 1)
  t.match(two.server.heardOf('resources/subscribe')[0]!.source.toString(), /file:\/\/\/a/)
})

t.test('routes come and go; what is added is served at once', async t => {
  const one = await upstream(t)
  const backends = { one: one.entry }
  const { open, reload, url, gateway } = await start(t, { backends, routes: { '/a': { backends: ['one'] } } })
  const kept = await open('/a')
  const { routes } = await reload({
    backends,
    routes: { '/a': { backends: ['one'] }, '/b': { backends: ['one'], protocol: { versions: ['2025-06-18'] } } }
  })
  t.same(routes, { added: ['/b'], removed: [], changed: [], unchanged: ['/a'] })
  const added = await open('/b', { version: '2025-06-18' })
  t.equal(textOf(await added.call('echo')), '{}')
  const { events } = await added.get()
  await reload({ backends, routes: { '/a': { backends: ['one'] } } })
  t.equal((await added.call('echo')).status, 404)
  await events.whole()
  t.equal(textOf(await kept.call('echo')), '{}')
  await t.rejects(gateway.broadcast('/b', { method: 'notifications/x' }), { code: 'path' })
  t.equal((await new RawClient(new URL('/b', url).href).call('echo')).status, 404)
})

t.test('a config that asks for what cannot be made is refused, and everything goes on (C2)', async t => {
  const one = await upstream(t)
  const { open, reload, adminUrl, gateway } = await start(t, { backends: { one: one.entry } })
  const client = await open('/mcp')
  const broken = { backends: { two: child(), three: { kind: 'module', path: './no-such-file.ts' } } }
  await t.rejects(reload(broken), { code: 'backend_unavailable' })
  await t.rejects(gateway.reload(Promise.reject(new Error('a.yaml:1:1 x: expected y\na.yaml:2:1 z: expected w'))))
  t.equal(textOf(await client.call('echo')), '{}')
  const { ready, config } = (await (await fetch(new URL('/readyz?verbose', adminUrl))).json()) as any
  t.equal(ready, true)
  t.match(config.lastReload, { outcome: 'refused', reason: /expected y/ })
  const metrics = async () => (await fetch(new URL('/metrics', adminUrl))).text()
  t.match(await metrics(), /causeway_config_last_reload_successful 0\n/)
  t.match(await metrics(), /causeway_config_reloads_total\{outcome="refused"\} 2\n/)
  t.equal((await reload({ backends: { one: one.entry } })).outcome, 'unchanged')
  t.match(await metrics(), /causeway_config_last_reload_successful 1\n/)
})

t.test('a backend is tuned where it runs: headers and limits', async t => {
  const one = await upstream(t)
  const { open, reload } = await start(t, { backends: { one: { ...one.entry, headers: { 'x-key': 'a' } } } })
  const client = await open('/mcp')
  const report = await reload({
    backends: { one: { ...one.entry, headers: { 'x-key': 'b' }, timeout: '200ms', maxTime: '1s' } }
  })
  t.same([report.backends.tuned, report.routes.changed], [['one'], []])
  t.equal(textOf(await client.call('echo')), '{}')
  t.equal(one.http.seen.at(-1)!.headers['x-key'], 'b')
  t.equal(one.http.sessions.size, 1, 'the same session')
  t.match((await client.call('never')).json.error.data, { reason: 'timeout', limit: 'timeout' })
})

t.test(
  'a backend that comes back while a call is on its way has a session of its own; later, subscriptions are set again',
  async t => {
    const [one, two] = [await upstream(t), await upstream(t)]
    one.server.initializeResult = one.server.initializeResult.replace('"logging":{}', '"resources":{"subscribe":true}')
    const routes = { '/mcp': { backends: ['one', 'two'], prefix: 'always' } }
    const both = { backends: { one: one.entry, two: two.entry }, routes }
    const less = { backends: { two: two.entry }, routes: { '/mcp': { backends: ['two'], prefix: 'always' } } }
    one.server.on('tools/list', turn =>
      turn.answer('{"tools":[{"name":"held","inputSchema":{}},{"name":"echo","inputSchema":{}}]}')
    )
    one.server.on('resources/list', turn => turn.answer('{"resources":[{"uri":"x://y","name":"y"}]}'))
    const { open, reload } = await start(t, both)
    const client = await open('/mcp')
    const { events } = await client.get()
    t.notOk((await client.request('resources/subscribe', { uri: 'x://y' })).json.error)
    const calling = client.call('one_held')
    const turn = await one.held()
    await reload(less)
    await reload(both)
    t.equal(textOf(await client.call('one_echo')), '{}')
    t.equal(one.http.sessions.size, 2, 'the old one, where the call is, and a new one')
    turn.answer(saying('done'))
    t.equal(textOf(await calling), 'done')
    await until('the old one is closed', () => one.http.sessions.size === 1)
    t.equal(textOf(await client.call('one_echo')), '{}')
    t.equal(one.server.heardOf('initialize').length, 2, 'the new one was not lost by that')
    await reload(less)
    await until('it is left', () => one.http.sessions.size === 0)
    await reload(both)
    t.equal(textOf(await client.call('one_echo')), '{}')
    await until('subscribed again', () => one.server.heardOf('resources/subscribe').length === 3)
    t.equal(one.server.heardOf('initialize').length, 3)
    await until('it listens', () => one.http.listening)
    one.server.announce('notifications/resources/updated', { uri: 'x://y' })
    await events.message(({ method }) => method === 'notifications/resources/updated')
  }
)

t.test('what becomes of a backend that was replaced says nothing of the one in its place', async t => {
  const { open, reload, adminUrl } = await start(t, { backends: { files: child() } })
  const client = await open('/mcp')
  const before = Number(textOf(await client.call('pid')))
  const calling = client.call('silent')
  const health = async (): Promise<string> =>
    ((await (await fetch(new URL('/readyz?verbose', adminUrl))).json()) as any).backends[0].state
  t.equal(await health(), 'up')
  await reload({ backends: { files: child('new') } })
  t.equal(await health(), 'unknown')
  t.not(Number(textOf(await client.call('pid'))), before)
  process.kill(before, 'SIGKILL')
  t.match((await calling).json.error, { data: { reason: 'backend_broke' } })
  t.equal(await health(), 'up')
})

t.test('a gateway that is closed while it reloads gives up what is being built, and tells of no refusal', async t => {
  const one = await upstream(t)
  const { reload, gateway } = await start(t, { backends: { one: one.entry } })
  const folder = t.testdir({
    'slow.mjs': `
      await new Promise(done => { globalThis.causewayReady = done })
      export default { name: 'x', handler: () => '' }
    `
  })
  const module = { kind: 'module', path: `${folder}/slow.mjs`, watch: true }
  const reloading = reload({ backends: { one: one.entry, module } })
  await until('it is loading', () => 'causewayReady' in globalThis)
  const closing = gateway.close({ deadline: 0 })
  ;(globalThis as { causewayReady?: () => void }).causewayReady!()
  await t.rejects(reloading, { code: 'shutdown' })
  await closing
  await t.rejects(reload({ backends: { one: one.entry } }), { code: 'shutdown' })
  await until('nothing is followed any more', () => !process.getActiveResourcesInfo().includes('FSEventWrap'))
})

t.test('a gateway that is closed while a removed backend finishes a call ends both', async t => {
  const one = await upstream(t)
  const { open, reload, gateway } = await start(t, { backends: { files: child(), one: one.entry } })
  const client = await open('/mcp/files')
  const pid = Number(textOf(await client.call('pid')))
  const calling = client.call('silent')
  await until('it runs', async () => (await client.call('seen')).status === 200)
  await reload({ backends: { one: one.entry } })
  await gateway.close({ deadline: 50 })
  t.match((await calling).json.error, { data: { reason: 'shutdown' } })
  t.notOk(runs(pid))
})

t.test('settings are followed where that is possible; what needs a restart is told and left', async t => {
  const one = await upstream(t)
  const backends = { one: one.entry }
  const { open, reload, adminUrl, url } = await start(t, { backends, sessions: { max: 2 } })
  await open('/mcp')
  await open('/mcp')
  await t.rejects(open('/mcp'), /too many/)
  const report = await reload({ backends, sessions: { max: 3 }, server: { port: 1 }, admin: { port: 2 } })
  t.same([report.settings, report.restart], [['sessions.max'], ['server.port', 'admin.port']])
  const client = await open('/mcp')
  t.equal(client.url, url)
  const { config } = (await (await fetch(new URL('/readyz?verbose', adminUrl))).json()) as any
  t.same(config.needsRestart, ['server.port', 'admin.port'])
})

t.test('a request whose body comes after the change goes to what is served then', async t => {
  const [one, two] = [await upstream(t), await upstream(t)]
  const { open, reload } = await start(t, { backends: { docs: one.entry } })
  const client = await open('/mcp')
  const { hostname, port, pathname } = new URL(client.url)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } })
  const sending = request({
    hostname,
    port,
    path: pathname,
    method: 'POST',
    headers: { ...client.headers, 'content-length': body.length } as OutgoingHttpHeaders
  })
  sending.write(body.slice(0, 10))
  await sleep(50)
  await reload({ backends: { docs: two.entry } })
  await until('the old one was left', () => one.http.sessions.size === 0)
  const answered = new Promise<number>((resolve, reject) => {
    sending.on('error', reject).on('response', response => resolve(response.resume().statusCode!))
  })
  sending.end(body.slice(10))
  t.equal(await answered, 200)
  t.equal(two.server.heardOf('tools/call').length, 1)
})
