/**
 * Servers of older revisions that say on their GET stream what belongs to a call, as those of the official SDK do unless they
 * are told which request it belongs to, for clients of 2026-07-28 (decisions: "Server requests").
 */
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream, type HttpUpstreamOptions } from '../helpers/http-upstream.ts'
import { lastOf, logLevel, ModernClient } from '../helpers/modern.ts'
import { Scripted, type Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

const capabilities = { elicitation: {}, roots: {} }
const form = { message: 'who?', requestedSchema: { type: 'object', properties: {} } }
const answer = { action: 'accept', content: { name: 'Ada' } }

interface Beside {
  readonly client: ModernClient
  readonly upstream: HttpUpstream
  readonly server: Scripted
  /** Asks on the GET stream; resolves to what was answered. */
  ask(method: string, params?: object): Promise<any>
}

async function start(t: Test, options: HttpUpstreamOptions = {}, backend: object = {}): Promise<Beside> {
  const server = new Scripted()
  server.on('logging/setLevel', turn => turn.answer('{}'))
  server.on('tools/list', turn => turn.answer('{"tools":[]}'))
  const upstream = await HttpUpstream.start(server, options)
  t.teardown(() => upstream.close())
  const ask = (method: string, params?: object) => server.ask(json => void server.outside(json), method, params)
  server.on('tools/call:asking', async turn => {
    const { result, error } = await ask('elicitation/create', form)
    turn.answer(JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(result ?? error) }] }))
  })
  const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url, ...backend } } })
  return { client: new ModernClient(url, { capabilities }), upstream, server, ask }
}

for (const pool of ['call', 'principal']) {
  t.test(`what a server asks on its GET stream is asked by the call under way (pool: ${pool})`, async t => {
    const { client, upstream } = await start(t, {}, { pool })
    for (const _ of [1, 2]) {
      const { result } = await lastOf(await client.call('asking'))
      t.match(result, { resultType: 'input_required', inputRequests: { 'input-1': { method: 'elicitation/create' } } })
      const retry = { name: 'asking', arguments: {}, inputResponses: { 'input-1': answer } }
      const done = await lastOf(await client.request('tools/call', { ...retry, requestState: result.requestState }))
      t.same(JSON.parse(done.result.content[0].text), answer)
    }
    t.equal(upstream.seenOf('GET').length, pool === 'call' ? 2 : 1)
  })
}

t.test('a question that is taken back there is asked no more', async t => {
  const { client, server } = await start(t)
  server.on('tools/call:fickle', async turn => {
    server.outside('{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{"message":"?"}}')
    server.outside('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}')
    setTimeout(() => turn.answer('{"content":[]}'), 60)
  })
  t.match((await lastOf(await client.call('fickle'))).result, { resultType: 'complete', content: [] })
})

t.test('what belongs to none of them, or to one of several, is refused upstream with a reason', async t => {
  const { client, server, upstream, ask } = await start(t, {}, { pool: 'principal' })
  const turns: Turn[] = []
  server.on('tools/call:slow', turn => void turns.push(turn))
  const calls = [client.call('slow'), client.call('slow')]
  await until('both are under way', () => turns.length === 2)
  const reason = /not known by which/
  t.match(await ask('elicitation/create', form), { error: { code: -32601, message: reason } })
  for (const turn of turns) turn.answer('{"content":[]}')
  for (const call of calls) t.match(await lastOf(await call), { result: { content: [] } })
  t.ok(upstream.listening, 'the session of the caller is heard on')
  t.match(await ask('roots/list'), { error: { code: -32601, message: reason } })
})

t.test('logs of the server come with the call that wants them', async t => {
  const { client, server } = await start(t)
  server.on('tools/call:logging', turn => {
    for (const level of ['debug', 'warning']) server.announce('notifications/message', { level, data: level })
    setTimeout(() => turn.answer('{"content":[]}'), 60)
  })
  const { events } = await client.call('logging', {}, { meta: logLevel('info') })
  const { messages } = await events.whole()
  t.match(messages, [{ method: 'notifications/message', params: { data: 'warning' } }, { result: { content: [] } }])
  t.equal(messages.length, 2)
})

t.test(
  'a server without that stream is not asked for it by every call; nor is any, by a call that wants nothing',
  async t => {
    const { client, upstream, server } = await start(t, { get: 405 })
    server.on('tools/call:plain', turn => turn.answer('{"content":[]}'))
    for (const _ of [1, 2, 3]) t.equal((await client.call('plain')).status, 200)
    t.equal(upstream.seenOf('GET').length, 1)
    const other = await start(t)
    other.server.on('tools/call:plain', turn => turn.answer('{"content":[]}'))
    await new ModernClient(other.client.url).call('plain')
    t.equal(other.upstream.seenOf('GET').length, 0)
  }
)

t.test('a stream that does not open holds one call up, for a second', async t => {
  const { client, server } = await start(t, { intercept: request => request.method === 'GET' })
  server.on('tools/call:plain', turn => turn.answer('{"content":[]}'))
  const began = performance.now()
  t.match(await lastOf(await client.call('plain')), { result: { content: [] } })
  const took = performance.now() - began
  t.ok(took > 900 && took < 4_000, `${took} ms`)
  const then = performance.now()
  t.match(await lastOf(await client.call('plain')), { result: { content: [] } })
  t.ok(performance.now() - then < 900, 'the next one knows that')
})
