/** Instances over one Redis by their config, as a load balancer without affinity uses them (R10, REP-01). */
import t, { type Test } from 'tap'
import { HttpUpstream, type HttpUpstreamOptions } from '../helpers/http-upstream.ts'
import { saying } from '../helpers/legacy.ts'
import { startProgram } from '../helpers/program.ts'
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
  sessions: { perAddress: 10_000 }
})

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
