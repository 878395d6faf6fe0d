/** docs/limits.md, "Requests and connections": what is exactly at a bound passes, one more gets what the page says. */
import t from 'tap'
import { initialize, isRefusal, startEdge } from '../helpers/edge.ts'
import { saying, startLegacy } from '../helpers/legacy.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'
import { bodyOf, connect, statuses } from '../helpers/wire.ts'

/** A call of the tool echo whose body has so many bytes. */
function callOf(size: number): string {
  const around = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"x":""}}}'
  return around.replace('""', `"${'x'.repeat(size - around.length)}"`)
}

/** A call whose body is so deep: three levels are the message, its params and their arguments. */
const deep = (depth: number): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"x":${'['.repeat(depth - 3)}${']'.repeat(depth - 3)}}}}`

t.test(
  'server.limits.body: a body of as many bytes is read, one more is 413 and the end of the connection',
  async t => {
    const { url, server } = await startEdge(t, { server: { limits: { body: '2KiB' } } })
    const client = await RawClient.open(url)
    t.equal((await client.post(callOf(2_048))).status, 200)
    t.equal(server.heardOf('tools/call').length, 1)
    const over = await client.post(callOf(2_049))
    isRefusal(t, over, 413, -32600)
    t.match(over.json, { error: { data: { reason: 'too_large' } } })
    t.equal(over.headers.connection, 'close')
    t.equal(server.heardOf('tools/call').length, 1)
  }
)

t.test('server.limits.depth: a message as deep passes both ways, one level more does not', async t => {
  const { url, server } = await startEdge(t, { server: { limits: { depth: 10 } } })
  server.on('tools/call:deep', turn => {
    const { levels } = JSON.parse(turn.arguments)
    turn.answer(`{"content":${'['.repeat(levels)}${']'.repeat(levels)}}`)
  })
  const client = await RawClient.open(url)
  t.equal((await client.post(deep(10))).status, 200)
  const over = await client.post(deep(11))
  t.match(over.json, { error: { code: -32600, data: { reason: 'invalid' } } })
  t.equal(over.status, 400)
  t.equal(server.heardOf('tools/call').length, 1)
  // The message and its result are two levels.
  t.match((await client.call('deep', { levels: 8 })).json, { result: { content: [] } })
  t.match((await client.call('deep', { levels: 9 })).json, { error: { data: { reason: 'backend_invalid' } } })
  t.match((await client.call('deep', { levels: 8 })).json, { result: {} }, 'the session goes on')
})

t.test('server.limits.batch: as many messages run, of one more none does', async t => {
  const { url, server } = await startEdge(t, { server: { limits: { batch: 3 } } })
  const client = await RawClient.open(url, { version: '2025-03-26' })
  const batch = (count: number) =>
    client.post(Array.from({ length: count }, (_, id) => ({ id, method: 'tools/call', params: { name: 'echo' } })))
  t.equal((await batch(3)).json.length, 3)
  const over = await batch(4)
  t.equal(over.status, 400)
  t.match(over.json, { error: { code: -32600, data: { reason: 'invalid' } } })
  t.equal(server.heardOf('tools/call').length, 3)
})

const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${initialize().length}\r\n\r\n`

t.test('server.limits.maxConnections: as many are served, the next is closed as soon as it comes', async t => {
  const { url } = await startEdge(t, { server: { limits: { maxConnections: 3 } } })
  const wires = [await connect(t, url), await connect(t, url), await connect(t, url)]
  const over = await connect(t, url)
  await over.whole()
  t.equal(over.text, '')
  for (const wire of wires) {
    wire.write(head + initialize())
    await wire.until(/"result"/)
  }
})

t.test('server.limits.headersTimeout: a head that comes in time is read, a later one is 408', async t => {
  const { url } = await startEdge(t, { server: { limits: { headersTimeout: '600ms', requestTimeout: '30s' } } })
  const [good, late] = [await connect(t, url), await connect(t, url)]
  const began = performance.now()
  for (const wire of [good, late]) wire.write(head.slice(0, 20))
  await new Promise(resolve => setTimeout(resolve, 200))
  good.write(head.slice(20) + initialize())
  await good.until(/"result"/)
  await late.whole()
  t.ok(performance.now() - began >= 590, 'not before its time')
  t.same(statuses(late.text), [408])
  t.match(bodyOf(late.text), { error: { code: -32600, data: { reason: 'header' } } })
})

t.test('server.limits.requestTimeout: a request that is whole in time is answered, a later one is 408', async t => {
  const { url } = await startEdge(t, { server: { limits: { headersTimeout: '600ms', requestTimeout: '600ms' } } })
  const [good, late] = [await connect(t, url), await connect(t, url)]
  const began = performance.now()
  for (const wire of [good, late]) wire.write(head + initialize().slice(0, 20))
  await new Promise(resolve => setTimeout(resolve, 200))
  good.write(initialize().slice(20))
  await good.until(/"result"/)
  await late.whole()
  t.ok(performance.now() - began >= 590, 'not before its time')
  t.same(statuses(late.text), [408])
})

t.test('server.shutdown.delay: until it is over calls are taken, then none', async t => {
  const { open, gateway, status, url } = await startLegacy(t, {
    file: { server: { shutdown: { delay: '400ms', deadline: '5s' } } }
  })
  const client = await open()
  const began = performance.now()
  let closed: number | undefined
  const closing = gateway.close().then(() => {
    closed = performance.now()
  })
  await until('it is not ready', async () => (await status()).state === 'leaving')
  t.equal((await client.call('echo')).status, 200)
  await closing
  t.ok(closed! - began >= 390)
  await t.rejects(new RawClient(url).call('echo'), { code: 'ECONNREFUSED' })
})

t.test(
  'server.shutdown.deadline: a call that ends in time has its response, one that does not has an error',
  async t => {
    const { open, gateway, held, status } = await startLegacy(t, {
      file: { server: { shutdown: { deadline: '700ms' } } }
    })
    const client = await open()
    const [quick, slow] = [client.call('held', { n: 1 }), client.call('held', { n: 2 })]
    const turns = [await held(), await held()]
    const began = performance.now()
    const closing = gateway.close()
    await until('it drains', async () => (await status()).state === 'draining')
    turns.find(turn => turn.arguments === `{"n":1}`)!.answer(saying('in time'))
    t.match((await quick).json, { result: { content: [{ text: 'in time' }] } })
    t.match((await slow).json, { error: { code: -32603, data: { reason: 'shutdown' } } })
    t.ok(performance.now() - began >= 690, 'not before the deadline')
    await closing
  }
)
