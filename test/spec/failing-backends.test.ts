/** Backends that hang, fail, or are away, alone and behind one route with others: they cost the others nothing (B1, B12, B13). */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { initialize } from '../helpers/edge.ts'
import { type RunningGateway, startGateway } from '../helpers/gateway.ts'
import { HttpUpstream, type HttpUpstreamOptions } from '../helpers/http-upstream.ts'
import { startLegacy } from '../helpers/legacy.ts'
import { freePorts } from '../helpers/ports.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { namesIn, Stocked, said } from '../helpers/union.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

type Entries = Record<string, Record<string, unknown>>

interface Scene extends RunningGateway {
  readonly servers: Record<string, Stocked>
  readonly upstreams: Record<string, HttpUpstream>
  backend(name: string): Promise<any>
  metric(series: string): Promise<number | undefined>
}

/** Backends `a` and `b`, and further ones, at `/mcp`, each with a tool of its own name, and `/mcp/a`, `/mcp/b`. */
async function scene(
  t: Test,
  entries: Entries = {},
  upstream: HttpUpstreamOptions = {},
  routes?: Entries
): Promise<Scene> {
  const servers: Record<string, Stocked> = {}
  const upstreams: Record<string, HttpUpstream> = {}
  const backends: Entries = {}
  for (const name of ['a', 'b']) {
    servers[name] = new Stocked(name, { tools: [`t${name}`, `hang${name}`] })
    servers[name].on(`tools/call:hang${name}`, () => {})
    upstreams[name] = await HttpUpstream.start(servers[name], upstream)
    t.teardown(() => upstreams[name]!.close())
    backends[name] = { kind: 'http', url: upstreams[name].url }
  }
  for (const [name, entry] of Object.entries(entries)) backends[name] = { ...backends[name], ...entry }
  const running = await startGateway(t, { backends, ...(routes && { routes }) })
  return {
    ...running,
    servers,
    upstreams,
    async backend(name) {
      const { backends } = (await (await fetch(`${running.adminUrl}/readyz?verbose`)).json()) as any
      return backends.find((backend: any) => backend.name === name)
    },
    async metric(series) {
      const text = await (await fetch(`${running.adminUrl}/metrics`)).text()
      const line = text.split('\n').find(line => line.startsWith(`${series} `))
      return line === undefined ? undefined : Number(line.split(' ')[1])
    }
  }
}

const whole = async (client: RawClient, response: RawResponse): Promise<any> =>
  response.json ?? response.events.message(({ id }) => id === client.lastId, 20_000)

t.test('1,000 calls that hang at one backend of a route delay no call of another (B12)', async t => {
  const { url, servers, backend, metric } = await scene(t)
  const [a, b] = [await RawClient.open(url), await RawClient.open(url)]
  t.equal(said(await b.call('tb')), 'b:tb {}')
  const p99 = async (): Promise<number> => {
    const times: number[] = []
    for (let i = 0; i < 200; i++) {
      const began = performance.now()
      await b.call('tb')
      times.push(performance.now() - began)
    }
    return times.sort((x, y) => x - y)[Math.floor(times.length * 0.99)]!
  }
  await p99()
  const alone = await p99()
  const calls = Array.from({ length: 1_000 }, () => a.call('hanga'))
  await until('all hang', () => servers.a!.heardOf('tools/call').length === 1_000, 20_000)
  const opened = await Promise.all(calls)
  let beside = Number.POSITIVE_INFINITY
  for (let i = 0; i < 3 && beside >= alone * 1.5; i++) beside = Math.min(beside, await p99())
  const slack = process.env.CAUSEWAY_LONG === undefined ? 150 : 15
  t.ok(beside < alone * 1.5 + slack, `p99 of ${beside} ms beside them, ${alone} ms alone`)
  // One more of `a` waits in line; `b` is none the wiser.
  const waiting = a.call('ta').catch(() => undefined)
  await until('it waits', async () => (await backend('a')).waiting === 1)
  t.equal(await metric('causeway_backend_queue{backend="a"}'), 1)
  t.equal(said(await b.call('tb')), 'b:tb {}')
  for (const { destroy } of opened) destroy()
  void waiting
})

t.test('over its bound a backend turns calls away, and says so (B12)', async t => {
  const { url, servers, metric } = await scene(t, { a: { calls: 1, queue: 1, queueTime: '100ms' } })
  const client = await RawClient.open(url)
  t.same(namesIn(await client.request('tools/list')), ['ta', 'hanga', 'tb', 'hangb'])
  const hanging = client.call('hanga')
  await until('it hangs', () => servers.a!.heardOf('tools/call').length === 1)
  const overloaded = { error: { code: -32603, data: { reason: 'overloaded', backend: 'a' } } }
  const answers = await Promise.all([client.call('ta'), client.call('ta')])
  for (const { status, json } of answers) {
    t.equal(status, 200)
    t.match(json, overloaded)
  }
  t.equal(servers.a!.heardOf('tools/call').length, 1, 'nothing was sent')
  t.equal(said(await client.call('tb')), 'b:tb {}')
  t.equal(await metric('causeway_backend_rejected_total{backend="a",reason="queue_full"}'), 1)
  t.equal(await metric('causeway_backend_rejected_total{backend="a",reason="queue_time"}'), 1)
  t.equal(await metric('causeway_backend_rejected_total{backend="b",reason="queue_full"}'), 0)
  hanging.then(({ destroy }) => destroy()).catch(() => {})
})

t.test('a backend that fails again and again is spared, and called again when it is well (B13)', async t => {
  let broken = true
  const { url, servers, upstreams, backend, metric } = await scene(
    t,
    { a: { breaker: { failures: 3, pause: '400ms', maxPause: '400ms' } } },
    {
      intercept(request, response, body) {
        if (!broken || !body.includes('"ta"') || request.method !== 'POST') return false
        response.writeHead(503, { 'content-type': 'text/plain' }).end('away')
        return true
      }
    }
  )
  const client = await RawClient.open(url)
  const reach = (): number => upstreams.a!.seen.filter(({ body }) => body.includes('"ta"')).length
  for (let i = 0; i < 3; i++) t.match((await client.call('ta')).json, { error: { data: { reason: 'backend_status' } } })
  t.equal(reach(), 3)
  const spared = { error: { code: -32603, data: { reason: 'backend_unavailable', backend: 'a', retryAfter: 1 } } }
  t.match((await client.call('ta')).json, spared)
  t.match((await client.call('hanga')).json, spared, 'whatever is called')
  t.equal(reach(), 3)
  t.match(await backend('a'), { state: 'up', breaker: 'open', lastError: 'backend "a" answered with HTTP status 503' })
  t.equal(await metric('causeway_backend_breaker{backend="a"}'), 2)
  t.equal(await metric('causeway_backend_rejected_total{backend="a",reason="breaker"}'), 2)
  t.equal(said(await client.call('tb')), 'b:tb {}')
  t.match(await backend('b'), { breaker: 'closed' })
  broken = false
  await until('the pause is over', async () => (await backend('a')).breaker === 'half-open')
  t.equal(said(await client.call('ta')), 'a:ta {}')
  t.match(await backend('a'), { breaker: 'closed', lastError: undefined })
  t.equal(servers.a!.heardOf('tools/call').length, 1)
})

t.test('a backend that hangs in the handshake does not hang in that of every session (B12)', async t => {
  const { servers, url } = await scene(
    t,
    {},
    {},
    { '/mcp': { backends: ['a', 'b'], initTimeout: '1s', listTimeout: '100ms' } }
  )
  servers.a!.on('initialize', () => {})
  for (let i = 0; i < 20; i++) {
    const began = performance.now()
    const client = await RawClient.open(url)
    if (i > 0) t.ok(performance.now() - began < 900, 'nobody waits for it again')
    t.equal(said(await client.call('tb')), 'b:tb {}')
  }
  t.ok(servers.a!.heardOf('initialize').length <= 2, 'once for a session, once for a list')
})

t.test('a backend that was reached by anybody is called again at once (B13)', async t => {
  const breaker = { failures: 2, pause: '10m', maxPause: '10m' }
  const { gateway, servers, upstreams, backend } = await scene(t, { a: { breaker } })
  const direct = gateway.url('/mcp/a')
  const client = await RawClient.open(direct)
  const { port } = upstreams.a!
  await upstreams.a!.close()
  const away = { error: { data: { reason: 'backend_unavailable' } } }
  for (let i = 0; i < 2; i++) t.match((await client.call('ta')).json, away)
  t.match((await client.call('ta')).json, { error: { data: { retryAfter: Number } } })
  t.match(await backend('a'), { state: 'down', breaker: 'open' })
  const again = await HttpUpstream.start(servers.a, { port })
  t.teardown(() => again.close())
  // Where backends are merged the gateway would find it by itself.
  await RawClient.open(direct)
  t.equal(said(await client.call('ta')), 'a:ta {}')
  t.match(await backend('a'), { state: 'up', breaker: 'closed' })
})

t.test(
  'a backend of which nothing is asked but what it refuses is not spared; neither is one without a breaker',
  async t => {
    const { url, gateway } = await scene(t, { a: { breaker: { failures: 1 } }, b: { breaker: 'off' } })
    const client = await RawClient.open(url)
    for (let i = 0; i < 3; i++) t.match((await client.call('nothing')).json, { error: { code: -32602 } })
    const direct = await RawClient.open(gateway.url('/mcp/a'))
    for (let i = 0; i < 3; i++) t.match((await direct.call('nothing')).json, { error: { code: -32602 } })
    t.equal(said(await client.call('ta')), 'a:ta {}')
    const off = await startLegacy(t, { backend: { breaker: 'off' } })
    const other = await off.open()
    for (let i = 0; i < 7; i++)
      t.match(await whole(other, await other.call('die')), { error: { data: { reason: 'backend_broke' } } })
  }
)

t.test('tasks/result, which may take days, holds no place of other calls', async t => {
  const { gateway, servers } = await scene(t, { a: { calls: 1, queue: 0 } })
  const client = await RawClient.open(gateway.url('/mcp/a'))
  servers.a!.on('tasks/result', () => {})
  const result = client.request('tasks/result', { taskId: 't' })
  await until('it waits', () => servers.a!.heardOf('tasks/result').length === 1)
  t.equal(said(await client.call('ta')), 'a:ta {}')
  t.match((await client.request('tasks/result', { taskId: 'u' })).json, { error: { data: { reason: 'overloaded' } } })
  result.then(({ destroy }) => destroy()).catch(() => {})
})

t.test(
  'a backend that is away is left out, looked for, and comes back though nobody calls it (B1, B4, MUX-06)',
  async t => {
    const [port] = (await freePorts(1)) as [number]
    const { url, backend } = await scene(t, { a: { url: `http://127.0.0.1:${port}/mcp` } })
    const client = await RawClient.open(url)
    const first = await client.request('tools/list')
    t.same(namesIn(first), ['tb', 'hangb'])
    t.match(first.json.result, { _meta: { 'dev.causeway/unavailable': ['a'] } })
    t.match(await backend('a'), { state: 'down', lastError: 'ECONNREFUSED' })
    const { events: channel } = await client.get()
    const told = (): number => channel.messages.filter(one => one.method === 'notifications/tools/list_changed').length
    const late = new Stocked('a', { tools: ['ta'] })
    const upstream = await HttpUpstream.start(late, { port })
    t.teardown(() => upstream.close())
    await until('its sessions hear of it', () => told() > 0, 10_000)
    t.match(await backend('a'), { state: 'up', lastError: undefined })
    t.match(JSON.parse(late.heardOf('initialize')[0]!.source.toString()), {
      params: { clientInfo: { name: 'causeway' }, capabilities: {} }
    })
    t.equal(late.heardOf('initialize').length, 2, 'the gateway, then the session')
    await until('what was opened to look is closed', () => upstream.sessions.size === 1)
    const second = await client.request('tools/list')
    t.same(namesIn(second), ['ta', 'tb', 'hangb'])
    t.equal(second.json.result._meta, undefined)
    t.equal(said(await client.call('ta')), 'a:ta {}')
    t.equal(late.heardOf('tools/list').length, 1)
    t.equal(told(), 1, 'once')
    await upstream.close()
    t.match((await client.call('ta')).json, { error: { data: { reason: 'backend_unavailable', backend: 'a' } } })
    t.match(await backend('a'), { state: 'down' })
    let third: RawResponse | undefined
    await until('it is left out', async () => {
      third = await client.request('tools/list')
      return namesIn(third).length === 2
    })
    t.match(third?.json.result, { tools: [{ name: 'tb' }, {}], _meta: { 'dev.causeway/unavailable': ['a'] } })
    await until('its sessions hear of that, too', () => told() === 2)
    t.match(
      (await client.call('ta')).json,
      { error: { data: { reason: 'backend_unavailable' } } },
      'its names stay taken'
    )
  }
)

t.test('a program that does not start is looked for as well, and its lists come back (BKD-03)', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const flag = join(folder, 'flag')
  const server = new Stocked('c', { tools: ['tc'] })
  const { command, args, close } = await stdioUpstream(server)
  t.teardown(close)
  const code = `fs.existsSync(${JSON.stringify(flag)}) ? import(process.argv[1]) : process.exit(1)`
  const { url, backend } = await scene(t, { c: { kind: 'stdio', command, args: ['-e', code, ...args] } })
  const client = await RawClient.open(url)
  const { events: channel } = await client.get()
  // As soon as it may be started again it is tried once more: that can take longer than JSON is waited for.
  const first = { json: await whole(client, await client.request('tools/list')) }
  t.same(namesIn(first), ['ta', 'hanga', 'tb', 'hangb'])
  t.match(await backend('c'), { state: 'down', breaker: 'closed' })
  await writeFile(flag, '')
  await channel.message(({ method }) => method === 'notifications/tools/list_changed', 20_000)
  t.same(namesIn(await client.request('tools/list')), ['ta', 'hanga', 'tb', 'hangb', 'tc'])
  t.equal(said(await client.call('tc')), 'c:tc {}')
  t.match(await backend('c'), { state: 'up' })
})

t.test(
  'a backend that is away when a route takes it in is looked for from then on; one that is let go is not',
  async t => {
    const [port] = (await freePorts(1)) as [number]
    const both = { '/mcp': { backends: ['a', 'b'] } }
    const { gateway, config, url, backend } = await scene(t, { a: { url: `http://127.0.0.1:${port}/mcp` } }, {}, both)
    const only = (...backends: string[]): typeof config => ({
      ...config,
      routes: config.routes.map(route => ({ ...route, backends }))
    })
    await gateway.reload(only('a'))
    t.match((await new RawClient(url).post(initialize())).json, { error: { data: { reason: 'backend_unavailable' } } })
    t.match(await backend('a'), { state: 'down' })
    const late = new Stocked('a', { tools: ['ta'] })
    const upstream = await HttpUpstream.start(late, { port })
    t.teardown(() => upstream.close())
    await gateway.reload(only('b', 'a'))
    await until('it was found', async () => (await backend('a')).state === 'up')
    t.same(namesIn(await (await RawClient.open(url)).request('tools/list')), ['tb', 'hangb', 'ta'])
  }
)
