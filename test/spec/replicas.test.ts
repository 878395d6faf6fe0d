/** The ports are right for several instances: two gateways over one session store and one stream log (prototype of what a shared store will do). */
import t, { type Test } from 'tap'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import { MemoryStreamLog } from '../../src/streams/memory.ts'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { contractTools, Scripted, type Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

interface Replicas {
  readonly a: RawClient
  /** The same session, on the other instance. */
  readonly b: RawClient
  readonly server: Scripted
  readonly upstream: HttpUpstream
}

async function replicas(t: Test): Promise<Replicas> {
  const server = contractTools(new Scripted())
  server.on('resources/subscribe', turn => turn.answer('{}'))
  const upstream = await HttpUpstream.start(server)
  const store = new MemorySessionStore()
  const log = new MemoryStreamLog({ events: 1_000, bytes: 4_000_000, total: 16_000_000, retainMs: 60_000 }, 'instance')
  t.teardown(async () => {
    await Promise.all([store.close(), log.close()])
    await upstream.close()
  })
  const file = { backends: { docs: { kind: 'http', url: upstream.url } }, streams: { sseAfter: '50ms' } }
  const [one, two] = await Promise.all([1, 2].map(() => startGateway(t, file, import.meta.dirname, { store, log })))
  const a = await RawClient.open(one!.url)
  const b = new RawClient(two!.url)
  b.session = a.session
  return { a, b, server, upstream }
}

t.test('a session opened on one instance goes on at the other, in the same upstream session', async t => {
  const { a, b, server, upstream } = await replicas(t)
  t.match((await a.call('echo', { at: 'a' })).json, { result: { content: [{ text: '{"at":"a"}' }] } })
  t.match((await b.call('echo', { at: 'b' })).json, { result: { content: [{ text: '{"at":"b"}' }] } })
  t.equal(server.heardOf('initialize').length, 1)
  const sessions = upstream.seen.filter(({ body }) => body.includes('tools/call'))
  t.equal(new Set(sessions.map(({ headers }) => headers['mcp-session-id'])).size, 1)
  const ids = server.heardOf('tools/call').map(({ id }) => id)
  t.equal(new Set(ids).size, 2, 'the upstream session sees no id twice')
})

t.test('a stream opened on one instance is resumed on the other, while the call runs and after it', async t => {
  const { a, b, server } = await replicas(t)
  let turn: Turn | undefined
  server.on('tools/call:hold', held => {
    turn = held
    held.progress(1)
  })
  const call = await a.call('hold', {}, { progressToken: 'p' })
  const first = await call.events.until(({ all }) => all.find(({ message }) => message !== undefined))
  call.destroy()
  const resumed = await b.get(first.id)
  turn!.progress(2)
  await resumed.events.message(({ params }) => params?.progress === 2)
  turn!.answer('{"content":[]}')
  await resumed.events.whole()
  t.match(resumed.events.messages, [{ params: { progressToken: 'p', progress: 2 } }, { id: 1, result: {} }])
  const again = await b.get(first.id)
  t.same((await again.events.whole()).messages, resumed.events.messages)
})

t.test('what belongs to no call is heard where the client listens', async t => {
  const { a, b, server, upstream } = await replicas(t)
  await a.request('resources/subscribe', { uri: 'x:1' })
  const { events } = await b.get()
  await until('it listens upstream', () => upstream.listening)
  t.equal(server.heardOf('initialize').length, 1)
  server.announce('notifications/resources/updated', { uri: 'x:1' })
  await events.message(({ method }) => method === 'notifications/resources/updated')
})

t.test('what one instance opened again after a loss, the other goes on with', async t => {
  const { a, b, server, upstream } = await replicas(t)
  await b.call('echo')
  upstream.sessions.clear()
  server.heard.length = 0
  t.match((await a.call('echo')).json, { result: {} })
  t.match((await b.call('echo')).json, { result: {} })
  t.match((await a.call('echo')).json, { result: {} })
  t.equal(server.heardOf('initialize').length, 1)
})

t.test('a session that is deleted on one instance is gone on the other', async t => {
  const { a, b } = await replicas(t)
  t.match((await a.call('echo')).json, { result: {} })
  t.equal((await b.delete()).status, 204)
  t.equal((await a.call('echo')).status, 404)
})
