/** Sessions as clients in the field leave them: never ended, long dead, or not theirs (SES-15, SES-16; S5, E8). */
import http from 'node:http'
import t from 'tap'
import { Sessions } from '../../src/sessions/lifecycle.ts'
import { initialize } from '../helpers/edge.ts'
import { startLegacy } from '../helpers/legacy.ts'
import { usedBytes } from '../helpers/memory.ts'
import { RawClient, send } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)
if (process.env.CAUSEWAY_LONG !== undefined) t.setTimeout(600_000)

t.test('100,000 session ids: none twice, and nothing in them that could be foreseen (S5)', t => {
  const ids = Array.from({ length: 100_000 }, () => Sessions.newId())
  t.equal(new Set(ids).size, ids.length)
  const bytes = ids.map(id => Buffer.from(id, 'base64url'))
  const length = bytes[0]!.length
  t.ok(length * 8 >= 128)
  for (let at = 0; at < length; at++) {
    const counts = new Uint32Array(256)
    for (const id of bytes) counts[id[at]!]!++
    const expected = ids.length / 256
    const chi = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    // 255 degrees of freedom: 6 deviations of sqrt(2 * 255) from the mean happen once in hundreds of millions.
    t.ok(Math.abs(chi - 255) < 6 * Math.sqrt(510), `byte ${at}: ${chi}`)
  }
  t.end()
})

t.test('a restart: the dead id is 404 however often it comes, initialize with it begins anew (SES-16)', async t => {
  const before = await startLegacy(t)
  const client = await before.open()
  const after = await startLegacy(t)
  const lost = new RawClient(after.url)
  lost.session = client.session
  for (let i = 0; i < 12; i++) {
    t.equal((await lost.get()).status, 404)
    t.equal((await lost.request('tools/list')).status, 404)
  }
  t.equal(after.server.heard.length, 0, 'it costs the backend nothing')
  t.match(await after.status(), { sessions: 0, streams: 0 })
  const again = await lost.post(initialize())
  t.equal(again.status, 200)
  t.ok(again.headers['mcp-session-id'])
  t.not(again.headers['mcp-session-id'], client.session)
  lost.session = undefined
  t.equal((await lost.post(initialize())).status, 200)
  t.match(await after.status(), { sessions: 2 })
})

/** initialize, initialized, GET, and away: no DELETE. On kept connections, so that the test opens a few sockets only. */
async function abandon(url: string, agent: http.Agent): Promise<void> {
  const { pathname, port } = new URL(url)
  const ask = (method: string, session: string | undefined, body?: string): Promise<http.IncomingMessage> =>
    new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port, path: pathname, method, agent })
      if (body !== undefined) request.setHeader('content-type', 'application/json')
      if (session !== undefined) request.setHeader('mcp-session-id', session)
      request.setHeader('accept', body === undefined ? 'text/event-stream' : 'application/json')
      request.on('response', resolve)
      request.on('error', reject)
      request.end(body)
    })
  const over = (response: http.IncomingMessage): Promise<void> =>
    new Promise(resolve => response.on('end', resolve).resume())
  const opened = await ask('POST', undefined, initialize())
  await over(opened)
  const session = opened.headers['mcp-session-id'] as string
  await over(await ask('POST', session, '{"jsonrpc":"2.0","method":"notifications/initialized"}'))
  const channel = await ask('GET', session)
  channel.on('error', () => {}).destroy()
}

/** `CAUSEWAY_LONG=1` takes as many as are seen in the field. */
const abandoned = process.env.CAUSEWAY_LONG === undefined ? 1_000 : 20_000

t.test('sessions that nobody ends, a thousand: after their time nothing of them is left (SES-15, E8)', async t => {
  const { url, status, upstream, server } = await startLegacy(t, {
    file: { sessions: { idle: '1s', max: 30_000, perAddress: 30_000 } }
  })
  const agent = new http.Agent({ keepAlive: true, maxSockets: 20 })
  t.teardown(() => agent.destroy())
  const burst = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 20) {
      await Promise.all(Array.from({ length: 20 }, () => abandon(url, agent)))
      server.forget()
    }
  }
  const allGone = async (): Promise<void> => {
    await until('all sessions are gone', async () => (await status()).sessions === 0, 20_000)
    await until('and those of the backend', () => upstream.sessions.size === 0, 20_000)
    server.forget()
    agent.destroy()
  }
  await burst(200)
  await allGone()
  const before = await usedBytes()
  await burst(abandoned)
  const during = await usedBytes()
  await allGone()
  await until('what they held is let go', async () => (await usedBytes()) < before * 1.1, 10_000)
  t.match(await status(), { sessions: 0, streams: 0, backends: [{ inflight: 0 }] })
  t.ok(during - before < abandoned * 20 * 1024, `${(during - before) / abandoned} bytes for each`)
  t.equal((await send(url, { headers: { 'content-type': 'application/json' }, body: initialize() })).status, 200)
})
