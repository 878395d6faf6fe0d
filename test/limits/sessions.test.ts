/** docs/limits.md, "Sessions": what is exactly at a bound passes, one more gets what the page says. */
import t from 'tap'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import { Clock } from '../helpers/clock.ts'
import { initialize, isRefusal } from '../helpers/edge.ts'
import { startLegacy } from '../helpers/legacy.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'

const tooMany = (t: Parameters<typeof isRefusal>[0], response: RawResponse): void => {
  isRefusal(t, response, 503, -32603, 1)
  t.match(response.json, { error: { data: { reason: 'full' } } })
  t.match(response.headers, { 'retry-after': /^\d+$/ })
  t.notOk(response.headers['mcp-session-id'])
}

t.test('sessions.idle: a session that is used before is kept, one that is not used for so long is 404', async t => {
  const clock = new Clock()
  const store = new MemorySessionStore(() => clock.now())
  t.teardown(() => store.close())
  const { open } = await startLegacy(t, { file: { sessions: { idle: '10m' } }, parts: { store } })
  const client = await open()
  for (let i = 0; i < 3; i++) {
    clock.advance(600_000 - 1)
    t.equal((await client.request('ping')).status, 200, 'a millisecond before')
  }
  clock.advance(600_000)
  const over = await client.request('ping')
  isRefusal(t, over, 404, -32600, client.lastId)
  t.match(over.json, { error: { data: { reason: 'session' } } })
  t.ok((await open()).session, 'it initializes again')
})

t.test('sessions.max: as many are opened, the next gets 503 until one is gone', async t => {
  const { open, url } = await startLegacy(t, { file: { sessions: { max: 3 } } })
  const clients = [await open(), await open(), await open()]
  tooMany(t, await new RawClient(url).post(initialize()))
  t.equal((await clients[0]!.call('echo')).status, 200, 'those that are there go on')
  await clients[0]!.delete()
  t.ok((await open()).session)
  tooMany(t, await new RawClient(url).post(initialize()))
})

t.test('sessions.perAddress: an address has as many, another one has its own', async t => {
  const { url } = await startLegacy(t, { file: { server: { trustProxy: ['127.0.0.1'] }, sessions: { perAddress: 2 } } })
  const from = (address: string) => new RawClient(url).post(initialize(), { 'x-forwarded-for': address })
  for (let i = 0; i < 2; i++) t.equal((await from('192.0.2.1')).status, 200)
  tooMany(t, await from('192.0.2.1'))
  for (let i = 0; i < 2; i++) t.equal((await from('192.0.2.2')).status, 200)
  tooMany(t, await from('192.0.2.2'))
})
