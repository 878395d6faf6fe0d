/** docs/limits.md, "Streams": what is exactly at a bound passes, one more gets what the page says. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { KeepAlive } from '../../src/http/keep-alive.ts'
import { SseReply } from '../../src/http/sse-reply.ts'
import { type Legacy, saying, startLegacy } from '../helpers/legacy.ts'
import type { RawClient, RawResponse } from '../helpers/raw-client.ts'
import type { Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

interface Opened {
  readonly client: RawClient
  readonly turn: Turn
  readonly response: RawResponse
}

/** A call that runs, as an event stream; its client holds the id of the first message. */
async function opened(gateway: Legacy): Promise<Opened> {
  const client = await gateway.open()
  const call = client.call('held', {}, { progressToken: 1 })
  const turn = await gateway.held()
  turn.progress(1)
  const response = await call
  await response.events.message(({ params }) => params.progress === 1)
  return { client, turn, response }
}

const metric = async ({ adminUrl }: Legacy, name: string): Promise<number> => {
  const text = await (await fetch(new URL('/metrics', adminUrl))).text()
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1])
}

/** What a client that was away from the first message on finds: numbers of progress, `done` for the response, or the error. */
async function rest({ client, response }: Opened): Promise<unknown[]> {
  const { events } = await client.get(response.events.lastId)
  await events.whole()
  return events.messages.map(({ params, result, error }) => params?.progress ?? (result && 'done') ?? error.data.reason)
}

/** Says progress 2 to `last`, then the response, while the client is away. */
async function away(t: Test, gateway: Legacy, last: number): Promise<Opened> {
  const call = await opened(gateway)
  call.response.destroy()
  for (let n = 2; n <= last; n++) call.turn.progress(n)
  call.turn.answer(saying('done'))
  await until('the call is over', async () => (await gateway.status()).backends[0]!.inflight === 0)
  t.notOk(call.response.events.messages.some(({ result }) => result))
  return call
}

t.test('streams.sseAfter: a response that comes before is JSON, later the stream is open', async t => {
  const gateway = await startLegacy(t, { file: { streams: { sseAfter: '300ms' } } })
  const client = await gateway.open()
  const quick = client.call('held')
  ;(await gateway.held()).answer(saying('quick'))
  t.equal((await quick).headers['content-type'], 'application/json')
  const began = performance.now()
  const slow = client.call('held')
  const turn = await gateway.held()
  const { headers, events } = await slow
  t.ok(performance.now() - began >= 290, 'not before its time')
  t.equal(headers['content-type'], 'text/event-stream')
  turn.answer(saying('slow'))
  await events.message(({ result }) => result)
})

t.test('streams.retain: who comes back in time gets the response, later the error response_gone', async t => {
  const gateway = await startLegacy(t, { file: { streams: { retain: '600ms' } } })
  const call = await away(t, gateway, 2)
  t.same(await rest(call), [2, 'done'])
  await sleep(700)
  t.same(await rest(call), ['response_gone'])
})

t.test('streams.events: as many messages are kept; of one more the oldest progress goes', async t => {
  const gateway = await startLegacy(t, { file: { streams: { events: 5 } } })
  t.same(await rest(await away(t, gateway, 4)), [2, 3, 4, 'done'], 'with the first, five')
  t.same(await rest(await away(t, gateway, 5)), [2, 3, 4, 5, 'done'], 'the client had the one that went')
  t.same(await rest(await away(t, gateway, 6)), [3, 4, 5, 6, 'done'])
})

t.test('streams.bytes: as many bytes are kept; of one more the oldest progress goes', async t => {
  const measuring = await startLegacy(t)
  await away(t, measuring, 4)
  const bytes = await metric(measuring, 'causeway_stream_buffer_bytes')
  const exact = await startLegacy(t, { file: { streams: { bytes: `${bytes}B` } } })
  const kept = await away(t, exact, 4)
  t.equal(await metric(exact, 'causeway_events_stored'), 5)
  t.same(await rest(kept), [2, 3, 4, 'done'])
  const less = await startLegacy(t, { file: { streams: { bytes: `${bytes - 1}B` } } })
  await away(t, less, 4)
  t.equal(await metric(less, 'causeway_events_stored'), 4)
  const tiny = await startLegacy(t, { file: { streams: { bytes: '1B' } } })
  t.same(await rest(await away(t, tiny, 4)), ['done'], 'one always stays')
})

t.test('streams.total: as many bytes are kept of all; with one more the stream that ended first goes', async t => {
  const measuring = await startLegacy(t)
  for (let i = 0; i < 3; i++) await away(t, measuring, 3)
  const bytes = await metric(measuring, 'causeway_stream_buffer_bytes')
  for (const [total, first] of [
    [bytes, [2, 3, 'done']],
    [bytes - 1, ['response_gone']]
  ] as const) {
    const gateway = await startLegacy(t, { file: { streams: { total: `${total}B` } } })
    const calls = [await away(t, gateway, 3), await away(t, gateway, 3), await away(t, gateway, 3)]
    t.same(await rest(calls[0]!), first)
    for (const call of calls.slice(1)) t.same(await rest(call), [2, 3, 'done'])
  }
})

t.test('streams.keepAlive: a stream that is silent for so long gets a comment, one that is not gets none', async t => {
  const gateway = await startLegacy(t, { file: { streams: { keepAlive: '400ms' } } })
  const { turn, response } = await opened(gateway)
  const before = response.events.comments.length
  for (let n = 2; n < 12; n++) {
    turn.progress(n)
    await sleep(60)
  }
  t.equal(response.events.comments.length, before)
  const began = performance.now()
  await response.events.until(({ comments }) => comments.length > before)
  // The last message was a moment ago.
  t.ok(performance.now() - began > 200, 'not before its time')
  turn.answer(saying('done'))
})

t.test('streams.retry: clients of 2025-11-25 are told so', async t => {
  const gateway = await startLegacy(t, { file: { streams: { retry: '1234ms' } } })
  const { turn, response } = await opened(gateway)
  t.equal(response.events.all[0]!.retry, 1_234)
  turn.answer(saying('done'))
})

t.test(
  'streams.closeAfter: a call that ends in time keeps its connection, a longer one is closed and resumed',
  async t => {
    const gateway = await startLegacy(t, { file: { streams: { closeAfter: '500ms' } } })
    const quick = await opened(gateway)
    quick.turn.answer(saying('done'))
    await quick.response.events.message(({ result }) => result)
    const began = performance.now()
    const slow = await opened(gateway)
    await slow.response.events.whole()
    t.ok(performance.now() - began >= 490, 'not before its time')
    t.equal(slow.response.events.all.at(-1)!.retry, 1_000)
    slow.turn.answer(saying('done'))
    t.same(await rest(slow), ['done'])
  }
)

t.test('streams.highWater: with fewer bytes waiting the next message is written, with as many it is held', async t => {
  const highWater = 100_000
  const keepAlive = new KeepAlive({ everyMs: 60_000, stallMs: 60_000 })
  t.teardown(() => keepAlive.close())
  const { promise, resolve } = Promise.withResolvers<http.ServerResponse>()
  const server = http.createServer((_request, response) => resolve(response)).listen(0, '127.0.0.1')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise(resolve => server.once('listening', resolve))
  const request = http.get({ port: (server.address() as AddressInfo).port }, response => response.resume())
  request.on('error', () => {})
  const raw = await promise
  raw.writeHead(200)
  raw.flushHeaders()
  const reply = new SseReply(raw, { keepAlive, highWater, stallMs: 60_000 })
  // Nothing leaves.
  raw.socket!.cork()
  let held: Promise<void> | undefined
  let pushed = 0
  for (; held === undefined && pushed < 200; pushed++) {
    t.ok(raw.writableLength < highWater)
    held = reply.push(undefined, Buffer.from('x'.repeat(1_000)))
  }
  t.ok(raw.writableLength >= highWater)
  t.ok(pushed < 100, `${pushed} messages of 1,000 bytes and their frames`)
  raw.socket!.uncork()
  await held
  t.equal(reply.push(undefined, Buffer.from('x')), undefined, 'there is room again')
  raw.end()
})

t.test('streams.behind: a reader may be behind by as many messages, the next is not read of the backend', async t => {
  const behind = 5
  const gateway = await startLegacy(t, { file: { streams: { behind, bytes: '64MiB', highWater: '64KiB' } } })
  const { turn, response } = await opened(gateway)
  response.pause()
  // More than sockets hold: from here on the reader stands.
  turn.notify('notifications/progress', { progressToken: 1, progress: 2, message: 'x'.repeat(16_000_000) })
  for (let n = 3; n <= 2 + behind + 3; n++) turn.progress(n)
  const stored = (): Promise<number> => metric(gateway, 'causeway_events_stored')
  await until('as many are taken', async () => (await stored()) >= 2 + behind)
  await sleep(100)
  t.equal(await stored(), 2 + behind, 'the first, the one that is being written, and those behind it')
  response.resume()
  await response.events.message(({ params }) => params.progress === 2 + behind + 3, 10_000)
  turn.answer(saying('done'))
})

t.test('streams.stall: a connection that takes nothing for so long is cut, and its stream is resumed', async t => {
  const gateway = await startLegacy(t, { file: { streams: { stall: '700ms', bytes: '64MiB' } } })
  const call = await opened(gateway)
  const lastId = call.response.events.lastId
  call.response.pause()
  call.turn.notify('notifications/progress', { progressToken: 1, progress: 2, message: 'x'.repeat(16_000_000) })
  const began = performance.now()
  await until('it is cut', async () => (await gateway.status()).streams === 0)
  t.ok(performance.now() - began >= 600, 'not before its time')
  call.response.destroy()
  call.turn.answer(saying('done'))
  const { events } = await call.client.get(lastId)
  await events.whole(10_000)
  t.equal(events.messages.length, 2)
})
