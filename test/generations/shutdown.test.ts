/** The end of a gateway in one process (decisions: "How a call ends", "Priming event"; R26, R35, LIF-01, P1). */
import t from 'tap'
import { saying, startLegacy } from '../helpers/legacy.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

t.test('readiness fails first; after the delay nothing new is taken', async t => {
  const { open, gateway, status, url } = await startLegacy(t, {
    file: { server: { shutdown: { delay: '1500ms', deadline: '5s' } } }
  })
  const client = await open()
  const closing = gateway.close()
  await until('it is not ready', async () => (await status()).state === 'leaving')
  t.equal((await client.call('echo')).status, 200, 'still served: balancers have not noticed yet')
  await closing
  await t.rejects(new RawClient(url).call('echo'), { code: 'ECONNREFUSED' })
})

t.test('streams are told to stay away for 5 to 7 s, and end; old ones are cut', async t => {
  const { open, gateway } = await startLegacy(t)
  const channels = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => (await open({ version: i === 0 ? '2025-06-18' : '2025-11-25' })).get())
  )
  for (const { events } of channels) await events.until(({ all, comments }) => all.length + comments.length > 0)
  await gateway.close({ deadline: 100 })
  const retries = channels.slice(1).map(({ events }) => events.all.at(-1)!.retry!)
  for (const { events } of channels) t.equal(events.ended, true)
  t.same(channels[0]!.events.all, [])
  t.ok(
    retries.every(retry => retry >= 5_000 && retry <= 7_000),
    `${retries}`
  )
  t.ok(new Set(retries).size > 1, 'spread')
})

t.test(
  'calls in flight finish, and what they need of the client is still taken; new ones are refused (R26)',
  async t => {
    const { open, gateway, held, status } = await startLegacy(t)
    const client = await open({ capabilities: { roots: {} } })
    const streamed = client.call('held', {}, { progressToken: 1 })
    const turn = await held()
    const asked = turn.ask('roots/list')
    const { events, destroy } = await streamed
    const ask = await events.message(({ method }) => method === 'roots/list')
    const quiet = client.call('held')
    const second = await held()
    const third = client.post({ id: 'third', method: 'tools/call', params: { name: 'held' } })
    const unwanted = await held()
    let closed = false
    const closing = gateway.close({ deadline: 20_000 }).then(() => {
      closed = true
    })
    await until('it drains', async () => (await status()).state === 'draining')
    for (const refused of [
      await client.post({ id: 'new', method: 'tools/call', params: { name: 'echo' } }),
      await client.get()
    ]) {
      t.equal(refused.status, 503)
      t.match(refused.json, { error: { code: -32603, data: { reason: 'shutdown' } } })
      t.same([refused.headers['retry-after'], refused.headers.connection], ['5', 'close'])
    }
    destroy()
    const again = await client.get(events.lastId)
    t.equal((await client.post({ id: ask.id, result: { roots: [] } })).status, 202)
    t.match(await asked, { result: { roots: [] } })
    await client.post({ method: 'notifications/cancelled', params: { requestId: 'third' } })
    await unwanted.cancelled
    t.equal((await third).text, '')
    turn.answer(saying('streamed'))
    await again.events.whole()
    t.equal(again.events.messages.at(-1).result.content[0].text, 'streamed')
    t.equal(closed, false)
    second.answer(saying('quiet'))
    t.equal((await quiet).json.result.content[0].text, 'quiet')
    await closing
  }
)

t.test(
  'at the deadline: one error each, on the stream or as JSON, and the upstream is told (decisions: "How a call ends")',
  async t => {
    const { open, gateway, held, server } = await startLegacy(t)
    const client = await open()
    const streamed = client.call('held', {}, { progressToken: 1 })
    const turn = await held()
    turn.progress(1)
    const { events } = await streamed
    await events.until(({ messages }) => messages.length === 1)
    const quiet = client.call('held')
    await held()
    const batch = (await open({ version: '2025-03-26' })).post([
      { id: 8, method: 'tools/call', params: { name: 'held' } },
      { id: 9, method: 'ping' }
    ])
    await held()
    const began = performance.now()
    await gateway.close({ deadline: 150 })
    t.ok(performance.now() - began >= 140)
    const reason = { code: -32603, data: { reason: 'shutdown', backend: 'docs' } }
    t.match(events.messages.at(-1), { id: 1, error: reason })
    t.match((await quiet).json, { id: 2, error: reason })
    const answers = (await batch).json
    t.match(
      answers.find(({ id }: any) => id === 8),
      { error: reason }
    )
    t.match(
      answers.find(({ id }: any) => id === 9),
      { result: {} }
    )
    t.equal(server.heardOf('notifications/cancelled').length, 3)
  }
)

t.test('upstream sessions are given back before it is over', async t => {
  const { open, gateway, upstream } = await startLegacy(t)
  await Promise.all(Array.from({ length: 20 }, () => open()))
  t.equal(upstream.sessions.size, 20)
  await gateway.close()
  t.equal(upstream.sessions.size, 0)
})

t.test('a reader that takes nothing does not hold it up', async t => {
  const { open, gateway, held } = await startLegacy(t)
  const client = await open()
  const call = client.call('held', {}, { progressToken: 1 })
  const turn = await held()
  turn.progress(1)
  const { events } = await call
  await events.until(({ messages }) => messages.length === 1)
  for (let i = 0; i < 50; i++) turn.notify('notifications/message', { level: 'info', data: 'x'.repeat(100_000) })
  const began = performance.now()
  await gateway.close({ deadline: 50 })
  t.ok(performance.now() - began < 4_000)
})

t.test('closing twice is closing once; closing what never listened is closing', async t => {
  const { gateway } = await startLegacy(t)
  t.equal(gateway.close(), gateway.close())
  await gateway.close()
})
