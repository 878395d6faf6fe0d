/** decisions: rows "Missing session id", "Unknown, expired, foreign session id", "DELETE"; R12, R13, R26, R41; cases area 01. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import { isRefusal } from '../helpers/edge.ts'
import { startLegacy } from '../helpers/legacy.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const acts: readonly [string, (client: RawClient) => Promise<RawResponse>, number | undefined][] = [
  ['a request', client => client.post({ id: 7, method: 'tools/list' }), 7],
  ['a batch', client => client.post([{ id: 7, method: 'tools/list' }]), undefined],
  ['a notification', client => client.post({ method: 'notifications/cancelled', params: { requestId: 1 } }), undefined],
  ['a response', client => client.post({ id: 1, result: {} }), undefined],
  ['GET', client => client.get(), undefined],
  ['GET with Last-Event-ID', client => client.get('abcdefgh_0'), undefined],
  ['DELETE', client => client.delete(), undefined]
]

t.test('an unknown id is 404, whatever is sent, and nothing of it is done (SES-01, SES-13)', async t => {
  const { open, url, server, status } = await startLegacy(t)
  await open()
  const heard = server.heard.length
  for (const id of ['11111111-2222-3333-4444-555555555555', 'x', '__proto__', 'a'.repeat(5_000)]) {
    for (const [what, act, answered] of acts) {
      await t.test(`${what} with ${id.slice(0, 40)}`, async t => {
        const client = new RawClient(url)
        client.session = id
        const response = await act(client)
        isRefusal(t, response, 404, -32600, answered)
        t.equal(response.headers['mcp-session-id'], undefined)
      })
    }
  }
  t.equal(server.heard.length, heard)
  t.equal((await status()).sessions, 1)
})

t.test('no id at all: 400 for POST and DELETE, 405 for GET (R13)', async t => {
  const { url, server } = await startLegacy(t)
  const client = new RawClient(url)
  for (const [what, act, answered] of acts) {
    await t.test(what, async t => {
      const response = await act(client)
      const isGet = what.startsWith('GET')
      isRefusal(t, response, isGet ? 405 : 400, -32600, answered)
      t.equal(response.headers.allow, isGet ? 'POST' : undefined)
    })
  }
  t.equal(server.heard.length, 0)
})

t.test("another principal's session is unknown, and untouched by every try (SES-08, SES-03)", async t => {
  const authenticator = {
    authenticate: ({ authorization = '' }: { authorization: string | undefined }) => ({
      key: authorization.split(' ')[1] ?? 'nobody'
    })
  }
  const { url, held, server } = await startLegacy(t, { parts: { authenticator } })
  const as = (name: string): RawClient =>
    new (class extends RawClient {
      override get headers() {
        return { ...super.headers, authorization: `Bearer ${name} token-${Math.random()}` }
      }
    })(url)
  const alice = as('alice')
  const opened = await alice.post({
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'a', version: '1' }
    }
  })
  alice.session = opened.headers['mcp-session-id'] as string
  t.equal(
    (await alice.post({ method: 'notifications/initialized' })).status,
    202,
    'another token of the same principal'
  )
  const channel = await alice.get()
  const call = alice.post({ id: 101, method: 'tools/call', params: { name: 'held' } })
  const turn = await held()
  const asked = turn.ask('elicitation/create', { message: '?', requestedSchema: { type: 'object', properties: {} } })
  const { events } = await call
  const ask = await events.message(({ method }) => method === 'elicitation/create')

  const bob = as('bob')
  bob.session = alice.session
  for (const act of [
    ...acts.map(([, act]) => act),
    () => bob.get(events.lastId),
    () => bob.post({ method: 'notifications/cancelled', params: { requestId: 101 } }),
    () => bob.post({ id: ask.id, result: { action: 'accept', content: {} } })
  ]) {
    t.equal((await act(bob)).status, 404)
  }
  t.equal(channel.events.ended, false)
  t.equal(events.ended, false)
  t.equal(server.heardOf('notifications/cancelled').length, 0)
  t.equal((await alice.post({ id: ask.id, result: { action: 'decline' } })).status, 202)
  t.match(await asked, { result: { action: 'decline' } })
  turn.answer('{}')
  await events.message(({ id }) => id === 101)
})

t.test('a session is bound to its route', async t => {
  const { open, url } = await startLegacy(t, {
    file: { routes: { '/mcp': { backends: ['docs'] }, '/other': { backends: ['docs'] } } }
  })
  const client = await open()
  const other = new RawClient(new URL('/other', url).href)
  other.session = client.session
  for (const [, act] of acts) t.equal((await act(other)).status, 404)
  t.equal((await client.call('echo')).status, 200)
})

t.test(
  'DELETE: streams end, calls are cancelled upstream, the upstream session too, then everything is 404 (R12, SES-11)',
  async t => {
    const { open, held, upstream, status } = await startLegacy(t)
    const client = await open()
    const other = await open()
    const channel = await client.get()
    const streaming = client.call('held', {}, { progressToken: 1 })
    const turn = await held()
    turn.progress(1)
    const { events } = await streaming
    await events.message(({ method }) => method === 'notifications/progress')
    const quiet = client.call('held')
    const second = await held()
    t.equal((await client.delete()).status, 204)
    await channel.events.whole()
    await events.whole()
    t.same(
      events.messages.map(({ method }) => method),
      ['notifications/progress'],
      'no response'
    )
    const { status: code, text, events: none } = await quiet
    t.equal(code, 200)
    t.equal(text, '')
    await none.whole()
    await Promise.all([turn.cancelled, second.cancelled])
    await until('the upstream session is gone', () => upstream.seenOf('DELETE').length === 1)
    for (const [what, act] of acts) t.equal((await act(client)).status, 404, what)
    turn.answer('{}')
    second.answer('{}')
    t.equal((await other.call('echo')).status, 200, 'others go on')
    t.match(await status(), { sessions: 1, backends: [{ inflight: 0 }] })
  }
)

t.test('DELETE purges: what the session was given can be had no more, by nobody', async t => {
  const { open, held } = await startLegacy(t)
  const client = await open()
  const call = client.call('held', {}, { progressToken: 1 })
  const turn = await held()
  turn.progress(1)
  const { events } = await call
  await events.until(({ all }) => all.length === 2)
  await client.delete()
  t.equal((await client.get(events.lastId)).status, 404)
  const another = await open()
  t.equal((await another.get(events.lastId)).status, 400)
})

t.test('idle sessions expire; open streams and calls in flight are no idleness (R26, SES-15)', async t => {
  const { open, held, upstream, status } = await startLegacy(t, { file: { sessions: { idle: '600ms' } } })
  const [idle, listening, calling] = [await open(), await open(), await open()]
  const channel = await listening.get()
  const call = calling.call('held')
  const turn = await held()
  await until('the idle one is gone', async () => (await status()).sessions === 2)
  await until('and its upstream session', () => upstream.seenOf('DELETE').length === 1)
  await sleep(900)
  t.equal((await status()).sessions, 2)
  t.equal(channel.events.ended, false)
  turn.answer('{}')
  t.equal((await call).status, 200)
  for (const [, act] of acts) t.equal((await act(idle)).status, 404)
  t.equal((await listening.request('ping')).status, 200)
  channel.destroy()
  await until('all are gone', async () => (await status()).sessions === 0, 10_000)
  await until('and their upstream sessions', () => upstream.seenOf('DELETE').length === 3)
})

t.test('a cut GET stream does not keep its session (SES-15)', async t => {
  const { open, status, upstream } = await startLegacy(t, { file: { sessions: { idle: '300ms' } } })
  for (let i = 0; i < 20; i++) {
    const client = await open()
    const { destroy, events } = await client.get()
    await events.until(({ all }) => all.length > 0)
    destroy()
  }
  await until('all are gone', async () => (await status()).sessions === 0, 10_000)
  await until('and their upstream sessions', () => upstream.sessions.size === 0)
  t.equal((await status()).streams, 0)
})

t.test('over a cap: 503 with Retry-After and the id; the sessions that are there go on', async t => {
  const { open, url } = await startLegacy(t, { file: { sessions: { max: 2 } } })
  const clients = [await open(), await open()]
  const refused = new RawClient(url)
  const response = await refused.post({
    id: 'i',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  })
  isRefusal(t, response, 503, -32603, 'i')
  t.equal(response.headers['retry-after'], '30')
  await clients[0]!.delete()
  t.ok((await open()).session)
})

t.test('a store that does not answer: 503 with the id, and the session is still there afterwards', async t => {
  class Faulty extends MemorySessionStore {
    failing = false
    override async get(id: string, ttlMs: number) {
      if (this.failing) throw new Error('down')
      return super.get(id, ttlMs)
    }
  }
  const store = new Faulty()
  t.teardown(() => store.close())
  const { open, server } = await startLegacy(t, { parts: { store } })
  const client = await open()
  store.failing = true
  const heard = server.heard.length
  for (const [what, act, answered] of acts) {
    const response = await act(client)
    isRefusal(t, response, 503, -32603, answered)
    t.equal(response.headers['retry-after'], '5', what)
  }
  t.equal(server.heard.length, heard)
  store.failing = false
  t.equal((await client.call('echo')).status, 200)
})
