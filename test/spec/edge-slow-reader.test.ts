/** Readers that are slow, or take nothing (decisions "Slow reader"; E1, E2, HTP-05). */
import t, { type Test } from 'tap'
import { facts, type RequestFact } from '../../src/telemetry/events.ts'
import { type Edge, startEdge } from '../helpers/edge.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'
import { connect, type Wire } from '../helpers/wire.ts'

const kilobyte = 'x'.repeat(1_000)

/** A call whose client reads nothing until it is told to. Resolves once the tool was called. */
async function pausedCall(t: Test, { url, server }: Edge, name: string): Promise<{ wire: Wire; client: RawClient }> {
  const client = await RawClient.open(url)
  const wire = await connect(t, url)
  wire.socket.pause()
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } })
  wire.write(
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: ${client.session}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`
  )
  await until('the call is there', () => server.heardOf('tools/call').length > 0)
  return { wire, client }
}

/** Numbers of the logs in a text. */
const numbers = (text: string): number[] => [...text.matchAll(/"data":"(\d+) /g)].map(([, number]) => Number(number))

/** Waits until a count stands still; resolves to it. */
async function settled(count: () => number): Promise<number> {
  let last = -1
  let since = performance.now()
  await until('it stands still', () => {
    if (count() !== last) {
      last = count()
      since = performance.now()
    }
    return last > 0 && performance.now() - since > 300
  })
  return last
}

t.test('a paused reader slows the backend, and gets every message once it reads again (E1)', async t => {
  const edge = await startEdge(t, { streams: { highWater: '64KiB', behind: 20, events: 100_000, bytes: '64MiB' } })
  let written = 0
  let full: (() => boolean) | undefined
  const total = 20_000
  edge.upstream.options.intercept = async (_request, response, body) => {
    if (!body.includes('tools/call')) return false
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    full = () => response.writableNeedDrain
    for (; written < total; written++) {
      const params = { level: 'info', data: `${written} ${kilobyte}` }
      const message = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })
      if (!response.write(`data: ${message}\n\n`)) await new Promise<void>(resolve => response.once('drain', resolve))
    }
    const { id } = JSON.parse(body)
    response.end(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`)
    return true
  }
  const client = await RawClient.open(edge.url)
  const wire = await connect(t, edge.url)
  wire.socket.pause()
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flood"}}'
  wire.write(
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: ${client.session}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`
  )
  const stopped = await settled(() => written)
  t.ok(stopped < total, `${stopped} messages until the backend was stopped`)
  t.equal(full!(), true)
  wire.socket.resume()
  await wire.until(/"result":\{"content":\[\]\}/, 20_000)
  const got = numbers(wire.text)
  t.equal(got.length, total)
  t.ok(
    got.every((number, i) => number === i),
    'in order, each once'
  )
})

t.test('a reader that reads slowly is not cut, however slow; one that takes nothing is (E1, HTP-05)', async t => {
  const edge = await startEdge(t, { streams: { stall: '600ms', keepAlive: '1h' } })
  edge.server.on('tools/call:huge', turn => {
    turn.notify('notifications/message', { level: 'info', data: 'x'.repeat(20_000_000) })
  })
  const { wire } = await pausedCall(t, edge, 'huge')
  const start = performance.now()
  let read = 0
  while (performance.now() - start < 1_800) {
    read += (wire.socket.read(Math.min(100_000, wire.socket.readableLength || 1)) as Buffer | null)?.length ?? 0
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  t.ok(read < 20_000_000, `${read} bytes so far`)
  t.equal(await edge.streams(), 1, 'it is there, after three times the limit')
  await until('it is cut once it takes nothing', async () => (await edge.streams()) === 0, 3_000)
})

t.test('the messages that a stalled reader did not take are to be had again (E1)', async t => {
  const edge = await startEdge(t, { streams: { stall: '200ms', highWater: '64KiB', events: 100_000, bytes: '64MiB' } })
  edge.server.on('tools/call:flood-it', async turn => {
    for (let i = 0; i < 3_000; i++)
      turn.notify('notifications/message', { level: 'info', data: `${i} ${kilobyte.repeat(5)}` })
    turn.answer('{"content":[]}')
  })
  const { wire, client } = await pausedCall(t, edge, 'flood-it')
  await until('the connection is cut', async () => (await edge.streams()) === 0)
  wire.socket.resume()
  await wire.until(({ closed }) => closed)
  const got = numbers(wire.text)
  const last = [...wire.text.matchAll(/^id: (\S+)\nevent: message\ndata: \{.*\}\n\n/gm)].at(-1)![1]!
  const resumed = await client.get(last)
  await resumed.events.whole(10_000)
  const rest = resumed.events.messages.flatMap(({ params }) =>
    params === undefined ? [] : [Number.parseInt(params.data, 10)]
  )
  const complete = got.slice(0, got.indexOf(rest[0]!) === -1 ? got.length : got.indexOf(rest[0]!))
  t.same(
    [...complete, ...rest],
    Array.from({ length: 3_000 }, (_, i) => i)
  )
  t.match(resumed.events.messages.at(-1), { id: 1, result: {} })
})

t.test('a JSON body, and the rest of a stream that is over, are cut too when nobody takes them (E1)', async t => {
  const edge = await startEdge(t, { streams: { stall: '200ms' } })
  const large = JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(12_000_000) }] })
  edge.server.on('tools/call:json', turn => turn.answer(large))
  const over: RequestFact[] = []
  t.teardown(facts.request.subscribe(fact => void (fact.name !== undefined && over.push(fact))))
  const { wire, client } = await pausedCall(t, edge, 'json')
  await until('the response is over', () => over.length === 1)
  wire.socket.resume()
  await wire.until(({ closed, ended }) => closed || ended)
  t.ok(wire.text.length < 12_000_000, `${wire.text.length} bytes were in the socket`)

  edge.server.forget()
  edge.server.on('tools/call:stream', turn => {
    turn.notify('notifications/message', { level: 'info', data: 1 })
    turn.answer(large)
  })
  const { wire: second } = await pausedCall(t, edge, 'stream')
  await until('the stream is over', () => over.length === 2)
  second.socket.resume()
  await second.until(({ closed, ended }) => closed || ended)
  t.ok(second.text.length < 12_000_000, `${second.text.length} bytes were in the socket`)
  t.equal((await client.request('ping')).status, 200)
})

t.test('one slow reader delays nobody else (HTP-05)', async t => {
  const edge = await startEdge(t)
  edge.server.on('tools/call:flood-it', turn => {
    for (let i = 0; i < 2_000; i++) turn.notify('notifications/message', { level: 'info', data: `${i} ${kilobyte}` })
  })
  await pausedCall(t, edge, 'flood-it')
  const other = await RawClient.open(edge.url)
  for (let i = 0; i < 20; i++) t.equal((await other.call('echo')).status, 200)
})

t.test('what nobody reads is bounded: the oldest goes first (E2)', async t => {
  const edge = await startEdge(t, { streams: { events: 50 } })
  const client = await RawClient.open(edge.url)
  for (let i = 0; i < 500; i++) {
    await edge.gateway.broadcast('/mcp', { method: 'notifications/message', params: { level: 'info', data: i } })
  }
  const metrics = await (await fetch(new URL('/metrics', edge.adminUrl))).text()
  t.match(metrics, /events_dropped\S* 450\n/)
  const channel = await client.get()
  await channel.events.message(({ params }) => params.data === 499)
  t.same(
    channel.events.messages.map(({ params }) => params.data),
    Array.from({ length: 50 }, (_, i) => 450 + i)
  )
  channel.destroy()
})
