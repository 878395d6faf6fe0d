/** Instances over one Redis by their config, as a load balancer without affinity uses them (R10, REP-01). */
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream, type HttpUpstreamOptions } from '../helpers/http-upstream.ts'
import { saying } from '../helpers/legacy.ts'
import { startProgram } from '../helpers/program.ts'
import { Random } from '../helpers/random.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { type RedisServer, startRedis, withoutRedis } from '../helpers/redis.ts'
import { contractTools, Scripted } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

const key = Buffer.alloc(32, 'secret').toString('base64url')

/** An MCP server with a tool that tells its progress, one that asks, and one that never answers. */
async function startBackend(t: Test, options: HttpUpstreamOptions = {}): Promise<HttpUpstream> {
  const scripted = contractTools(new Scripted())
  scripted.on('tools/list', turn => turn.answer('{"tools":[]}'))
  scripted.on('tools/call:progress', turn => {
    for (const i of [1, 2, 3]) turn.progress(i)
    turn.answer(saying('done'))
  })
  scripted.on('tools/call:ask', async turn => {
    const { result } = await turn.ask('elicitation/create', {
      message: 'Name?',
      requestedSchema: { type: 'object', properties: {} }
    })
    turn.answer(saying((result as { content: { name: string } }).content.name))
  })
  scripted.on('tools/call:never', turn => turn.progress(1))
  scripted.on('tools/call:held', async turn => {
    turn.progress(1)
    await until('to be told', () => scripted.heard.some(({ method }) => method === 'logging/setLevel'), 60_000)
    turn.progress(2)
    turn.answer(saying('done'))
  })
  scripted.on('logging/setLevel', turn => turn.answer('{}'))
  const upstream = await HttpUpstream.start(scripted, options)
  t.teardown(() => upstream.close())
  return upstream
}

const fileOf = (server: Pick<RedisServer, 'url'>, upstream: HttpUpstream) => ({
  store: { kind: 'redis', url: server.url },
  secrets: { key },
  backends: { docs: { kind: 'http', url: upstream.url } },
  routes: { '/mcp': { backends: ['docs'], protocol: { versions: ['2025-11-25'] } } },
  sessions: { perAddress: 10_000 }
})

/** What one client does, each request on a connection of its own to any instance. Throws what went wrong. */
async function round(any: () => string, name: string): Promise<void> {
  const first = new RawClient(any())
  const opened = await RawClient.open(first.url, { capabilities: { elicitation: {} }, operating: false })
  const at = (): RawClient => {
    const same = new RawClient(any(), opened.version)
    same.session = opened.session
    return same
  }
  const fail = (what: string, seen: unknown): never => {
    throw new Error(`${what}: ${JSON.stringify(seen)}`)
  }
  const ready = await at().post({ method: 'notifications/initialized' })
  if (ready.status !== 202) fail('initialized', ready.json)
  const list = await at().request('tools/list')
  if (list.json?.result === undefined) fail('list', list.json)
  const progress = await at().call('progress', {}, { progressToken: name })
  const { messages } = await progress.events.whole()
  const seen = messages.map(({ params, result }) => params?.progress ?? result?.content[0].text)
  if (seen.join() !== '1,2,3,done') fail('progress', messages)
  const asking = await at().call('ask')
  const { id } = await asking.events.message(({ method }) => method === 'elicitation/create', 10_000)
  const answered = await at().post({ id, result: { action: 'accept', content: { name } } })
  if (answered.status !== 202) fail('answer', answered.json)
  const { result } = await asking.events.message(({ result }) => result !== undefined, 10_000)
  if (result.content[0].text !== name) fail('asked', result)
  const over = await at().delete()
  if (over.status !== 204) fail('delete', over.json)
  const after = await at().request('tools/list')
  if (after.status !== 404) fail('after', after.status)
}

t.test(
  'R10: rounds of initialize, list, call with progress, elicitation and DELETE, each request at any of three instances',
  { skip: withoutRedis, timeout: 240_000 },
  async t => {
    const rounds = Number(process.env.REPLICA_ROUNDS ?? 30)
    const server = await startRedis(t)
    const upstream = await startBackend(t)
    const file = fileOf(server, upstream)
    const urls: string[] = []
    for (let i = 0; i < 3; i++) urls.push((await startGateway(t, file)).url)
    const random = new Random(7)
    const any = (): string => urls[random.below(3)]!
    const problems: string[] = []
    let next = 0
    const client = async (): Promise<void> => {
      for (let i = next++; i < rounds; i = next++) {
        await round(any, `client ${i}`).catch((error: unknown) => problems.push(`${i}: ${error}`))
      }
    }
    await Promise.all(Array.from({ length: 8 }, client))
    t.same(problems, [], `${rounds} rounds`)
    await until('every upstream session to be ended', () => upstream.sessions.size === 0)
    const left = (await server.keys()).filter(name => !name.includes(':alive:'))
    t.same(left, [], 'nothing is left in Redis')
  }
)

t.test(
  'REP-03: kill -9 of the instance that runs a call: its stream ends in one error at another within 5 s, and the session goes on',
  { skip: withoutRedis, timeout: 120_000 },
  async t => {
    const server = await startRedis(t)
    const upstream = await startBackend(t)
    const one = await startProgram(t, fileOf(server, upstream))
    const two = await startProgram(t, fileOf(server, upstream))
    const client = await RawClient.open(one.url())
    const { events } = await client.call('never', {}, { progressToken: 1 })
    await events.message(({ params }) => params?.progress === 1)
    one.child.kill('SIGKILL')
    await events.whole()
    const other = new RawClient(two.url())
    other.session = client.session
    t.match((await other.call('echo', { text: 'hello' })).json, { result: {} }, 'at once')
    const resumed = await other.get(events.lastId)
    const { error } = await resumed.events.message(message => message.error !== undefined, 5_500)
    t.match(error, { code: -32603, data: { reason: 'instance_gone' } })
    await resumed.events.whole()
    t.equal(upstream.opened.size, 1, 'the upstream session too')
  }
)

t.test(
  'kill -9 of the instance that runs a call which its backend can resume: the result arrives at another, and the call ran once',
  { skip: withoutRedis, timeout: 120_000 },
  async t => {
    const server = await startRedis(t)
    const upstream = await startBackend(t, { events: true, priming: true })
    const one = await startProgram(t, fileOf(server, upstream))
    const two = await startProgram(t, fileOf(server, upstream))
    const client = await RawClient.open(one.url())
    const { events } = await client.call('held', {}, { progressToken: 1 })
    await events.message(({ params }) => params?.progress === 1)
    one.child.kill('SIGKILL')
    await events.whole()
    const other = new RawClient(two.url())
    other.session = client.session
    const resumed = await other.get(events.lastId)
    await other.request('logging/setLevel', { level: 'info' })
    const { result, id } = await resumed.events.message(message => message.result !== undefined, 6_000)
    t.equal(result.content[0].text, 'done')
    t.equal(id, client.lastId)
    t.same(
      resumed.events.messages.map(({ params }) => params?.progress),
      [2, undefined]
    )
    await resumed.events.whole()
    t.equal(upstream.server.heard.filter(({ method }) => method === 'tools/call').length, 1)
  }
)

t.test(
  'R1, R2: without Redis: 503 for new sessions and calls, ready again within 5 s',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t)
    await server.kill()
    const { url, adminUrl } = await startGateway(t, fileOf(server, await startBackend(t)))
    const status = async () => (await (await fetch(new URL('/readyz?verbose', adminUrl))).json()) as { store: string }
    t.match(await status(), { store: 'down', sessions: null })
    const refused = await new RawClient(url).request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'raw', version: '1' }
    })
    t.equal(refused.status, 503)
    t.ok(refused.headers['retry-after'])
    await server.start()
    const began = performance.now()
    await until('the store', async () => (await status()).store === 'up')
    const client = await RawClient.open(url)
    t.ok(performance.now() - began < 5_000)
    await server.kill()
    t.equal((await client.call('echo', { text: 'hello' })).status, 503)
    await server.start()
    await until('the store again', async () => (await status()).store === 'up')
    t.equal((await client.call('echo', { text: 'hello' })).status, 404, 'it is gone: clients begin anew')
  }
)
