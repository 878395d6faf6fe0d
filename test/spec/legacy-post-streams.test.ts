/** decisions: rows "Priming event", "Long POST streams", "Last-Event-ID", "Server requests in a replay", "The log cannot be written"; R17, R18, R24; cases area 06. */
import t, { type Test } from 'tap'
import { isRefusal } from '../helpers/edge.ts'
import { FaultyLog } from '../helpers/faulty-log.ts'
import { type Legacy, type LegacyOptions, saying, startLegacy } from '../helpers/legacy.ts'
import type { Events, RawClient, RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import type { Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

interface Streaming extends Legacy {
  readonly client: RawClient
  readonly turn: Turn
  readonly response: RawResponse
  readonly events: Events
}

/** A call that has sent one progress on its stream. */
async function streaming(
  t: Test,
  options: LegacyOptions & { client?: Parameters<Legacy['open']>[0] } = {}
): Promise<Streaming> {
  const gateway = await startLegacy(t, options)
  const client = await gateway.open(options.client)
  return { ...gateway, client, ...(await stream(gateway, client)) }
}

async function stream(gateway: Legacy, client: RawClient): Promise<Pick<Streaming, 'turn' | 'response' | 'events'>> {
  const answer = client.call('held', {}, { progressToken: 'p' })
  const turn = await gateway.held()
  turn.progress(1)
  const response = await answer
  await response.events.message(({ method }) => method === 'notifications/progress')
  return { turn, response, events: response.events }
}

/** Progress values, and the ids of responses. */
const seen = ({ messages }: Events): unknown[] => messages.map(({ params, id }) => params?.progress ?? id)

const neverGiven = (t: Test, response: RawResponse): void => {
  isRefusal(t, response, 400, -32600)
  t.equal(response.json.error.message, 'no such event was given to this session')
}

t.test('2025-11-25: first an event with an id, retry and empty data, on a resumed connection too (R18)', async t => {
  const { client, turn, response, events } = await streaming(t)
  t.match(events.all[0], { id: /_0$/, retry: 1_000, data: '' })
  t.equal(response.headers['content-type'], 'text/event-stream')
  t.equal(response.headers['cache-control'], 'no-cache, no-transform')
  t.equal(response.headers['x-accel-buffering'], 'no')
  response.destroy()
  const again = await client.get(events.lastId)
  await again.events.until(({ all }) => all.length > 0)
  t.match(again.events.all[0], { id: events.lastId, retry: 1_000, data: '' }, 'the cursor it came with')
  again.destroy()
  turn.progress(2)
  turn.answer(saying('done'))
  const third = await client.get(again.events.lastId)
  await third.events.whole()
  t.same(seen(third.events), [2, 1], 'a second cut loses nothing')
})

for (const version of ['2024-11-05', '2025-03-26', '2025-06-18']) {
  t.test(`${version}: a comment at once, ids on messages, no empty event`, async t => {
    const { client, turn, response, events } = await streaming(t, { client: { version } })
    t.same(events.comments.length, 1)
    t.ok(events.all.every(({ message, id, retry }) => message !== undefined && id !== undefined && retry === undefined))
    response.destroy()
    turn.answer(saying('done'))
    const again = await client.get(events.lastId)
    await again.events.whole()
    t.equal(again.events.comments.length, 1)
    t.same(seen(again.events), [1])
  })
}

t.test('the id comes before anything else: a connection cut at once is resumed (RES-06)', async t => {
  const { open, held } = await startLegacy(t, { file: { streams: { sseAfter: '20ms' } } })
  const client = await open()
  const answer = client.call('held', {}, { progressToken: 'p' })
  const turn = await held()
  const { events, destroy } = await answer
  await events.until(({ lastId }) => lastId)
  destroy()
  turn.progress(1)
  turn.answer(saying('done'))
  const again = await client.get(events.lastId)
  await again.events.whole()
  t.same(seen(again.events), [1, 1])
})

t.test('cut between any two messages: the rest comes once, in order, the response last (R17)', async t => {
  const gateway = await startLegacy(t)
  for (const after of [0, 1, 2, 5, 9]) {
    await t.test(`after ${after}`, async t => {
      const client = await gateway.open()
      const { turn, events, response } = await stream(gateway, client)
      for (let i = 2; i <= 10; i++) turn.progress(i)
      turn.answer(saying('done'))
      await events.whole()
      const cursor = events.all[after]!.id
      response.destroy()
      const again = await client.get(cursor)
      await again.events.whole()
      t.same(seen(again.events), [...Array.from({ length: 10 - after }, (_, i) => after + i + 1), 1])
    })
  }
})

t.test('streams of one session never mix (R17, R24)', async t => {
  const gateway = await startLegacy(t)
  const client = await gateway.open()
  const channel = await client.get()
  const streams = [await stream(gateway, client), await stream(gateway, client), await stream(gateway, client)]
  for (const { response } of streams) response.destroy()
  for (const [i, { turn }] of streams.entries()) {
    turn.progress(10 + i)
    turn.answer(saying(`${i}`))
  }
  for (const [i, { events }] of streams.entries()) {
    const again = await client.get(events.lastId)
    await again.events.whole()
    t.same(seen(again.events), [10 + i, i + 1])
    t.equal(again.events.messages.at(-1).result.content[0].text, `${i}`)
  }
  t.same(channel.events.messages, [])
  const ids = streams.flatMap(({ events }) => events.all.map(({ id }) => id))
  t.equal(new Set(ids).size, ids.length, 'unique in the session')
})

t.test(
  'a Last-Event-ID that this session was never given: 400, all alike, nothing replayed (RES-01, RES-03)',
  async t => {
    const { client, events, open, turn } = await streaming(t)
    const other = await open()
    const stream = events.lastId!.slice(0, events.lastId!.lastIndexOf('_'))
    const rows: readonly [string, string][] = [
      ['empty', ''],
      ['a small integer', '0'],
      ['another one', '49'],
      ['of an SDK', '_GET_stream_0'],
      ['long', 'x'.repeat(5_000)],
      ['not UTF-8', 'abcdefgh\xff_1'],
      ['no number', stream],
      ['a number that is still to come', `${stream}_2`],
      ['a number with a zero', `${stream}_01`],
      ['a negative one', `${stream}_-1`],
      ['well-formed, never issued', 'AAAAAAAAAAAAAAAA_0']
    ]
    for (const [what, id] of rows) await t.test(what, async t => neverGiven(t, await client.get(id)))
    for (const id of [events.lastId, events.all[0]!.id]) {
      await t.test("another session's", async t => neverGiven(t, await other.get(id)))
    }
    await t.test('twice', async t => {
      t.equal((await client.get(undefined, { 'last-event-id': [events.lastId!, events.lastId!] })).status, 400)
    })
    turn.answer(saying('done'))
    await events.whole()
    t.same(seen(events), [1, 1], 'the stream itself was not disturbed')
  }
)

t.test('at the last event of a stream that is over: 405, as often as it is asked (decisions)', async t => {
  const { client, turn, events } = await streaming(t)
  turn.answer(saying('done'))
  await events.whole()
  for (let i = 0; i < 3; i++) {
    const again = await client.get(events.lastId)
    isRefusal(t, again, 405, -32600)
    t.equal(again.headers.allow, 'POST')
  }
})

t.test('a second connection for the same stream ends the first (RES-05)', async t => {
  const { client, turn, events, response } = await streaming(t)
  const [one, two] = await Promise.all([client.get(events.lastId), client.get(events.lastId)])
  await events.whole()
  t.equal(response.events.ended, true)
  await until('one of them ended', () => one.events.ended !== two.events.ended)
  const [ended, open] = one.events.ended ? [one, two] : [two, one]
  turn.progress(2)
  turn.answer(saying('done'))
  await open.events.whole()
  t.same(seen(open.events), [2, 1])
  t.same(seen(ended.events), [])
})

t.test('the result waits for streams.retain; after that one error, and then 405 (decisions)', async t => {
  const { client, turn, events, response } = await streaming(t, { file: { streams: { retain: '100ms' } } })
  response.destroy()
  turn.answer(saying('done'))
  await until('it is gone', async () => {
    const again = await client.get(events.lastId)
    await again.events.whole()
    const [message] = again.events.messages
    if (message.error === undefined) return false
    t.match(message, { id: 1, error: { code: -32603, data: { reason: 'response_gone' } } })
    t.equal((await client.get(again.events.lastId)).status, 405)
    return true
  })
  const { stream } = /^(?<stream>.+)_\d+$/.exec(events.lastId!)!.groups!
  neverGiven(t, await client.get(`${stream}_77`))
})

t.test('trimming takes progress and logs first, and keeps requests and the response (decisions)', async t => {
  const { client, turn, events, response, status } = await streaming(t, {
    file: { streams: { events: 10 } },
    client: { capabilities: { roots: {} } }
  })
  response.destroy()
  const roots = turn.ask('roots/list')
  for (let i = 2; i <= 100; i++) turn.progress(i)
  turn.answer(saying('done'))
  await until('it was read', async () => (await status()).backends[0]!.inflight === 0)
  const { events: tail } = await client.get(events.lastId)
  const { messages } = await tail.whole()
  t.equal(messages[0].method, 'roots/list')
  t.equal(messages.length, 10)
  t.match(messages.at(-1), { result: {} })
  await client.post({ id: messages[0].id, result: { roots: [] } })
  t.match(await roots, { result: { roots: [] } })
})

t.test(
  'a server request in a replay: there while it waits, left out once it was answered; answered from anywhere (R110a)',
  async t => {
    const { client, turn, events, response } = await streaming(t, { client: { capabilities: { elicitation: {} } } })
    const before = events.lastId
    const asked = turn.ask('elicitation/create', { message: '?', requestedSchema: { type: 'object', properties: {} } })
    const ask = await events.message(({ method }) => method === 'elicitation/create')
    response.destroy()
    const again = await client.get(before)
    const same = await again.events.message(({ method }) => method === 'elicitation/create')
    t.equal(same.id, ask.id, 'the same id on every connection')
    again.destroy()
    t.equal((await client.post({ id: ask.id, result: { action: 'cancel' } })).status, 202)
    t.match(await asked, { result: { action: 'cancel' } })
    turn.progress(2)
    const third = await client.get(before)
    await third.events.message(({ params }) => params?.progress === 2)
    t.same(seen(third.events), [2])
    t.equal(
      (await client.post({ id: ask.id, result: { action: 'cancel' } })).status,
      202,
      'once more is taken and dropped'
    )
    turn.answer(saying('done'))
    await third.events.whole()
  }
)

t.test('closeAfter: retry, then the end, never before an id; the exchange goes on (R18, E11)', async t => {
  const { client, turn, events, held, server } = await streaming(t, { file: { streams: { closeAfter: '80ms' } } })
  await events.whole()
  t.match(events.all.at(-1), { retry: 1_000 })
  t.same(seen(events), [1])
  turn.progress(2)
  const again = await client.get(events.lastId)
  await again.events.message(({ params }) => params?.progress === 2)
  turn.answer(saying('done'))
  await again.events.whole()
  t.same(seen(again.events), [2, 1])
  const old = client.call('held', {}, { progressToken: 1 })
  await held()
  ;(await old).destroy()
  t.equal(server.heardOf('notifications/cancelled').length, 0)
})

t.test('closeAfter spares clients that were sent no id first', async t => {
  const { turn, events } = await streaming(t, {
    file: { streams: { closeAfter: '20ms' } },
    client: { version: '2025-06-18' }
  })
  await new Promise(resolve => setTimeout(resolve, 100))
  t.equal(events.ended, false)
  turn.answer(saying('done'))
  await events.whole()
})

for (const operations of [['append'], ['open'], ['end'], ['append', 'end', 'read', 'watch']] as const) {
  t.test(`the log fails to ${operations.join(', ')} during a call: the client gets everything (RES-06)`, async t => {
    const log = Object.assign(new FaultyLog(), { stats: () => log.memory.stats() })
    t.teardown(() => log.close())
    const gateway = await startLegacy(t, { parts: { log } })
    const client = await gateway.open()
    if (operations[0] === 'open') log.failing.add('open')
    const { turn, events } = await stream(gateway, client)
    for (const operation of operations) log.failing.add(operation)
    turn.progress(2)
    turn.answer(saying('done'))
    await events.whole()
    t.same(seen(events), [1, 2, 1])
    log.failing.clear()
    t.match((await client.call('echo')).json, { result: {} }, 'the next call is a call like any other')
    const late = events.lastId === undefined ? undefined : await client.get(events.lastId)
    if (operations[0] === 'append') {
      await late!.events.whole()
      t.match(
        late!.events.messages,
        [{ id: 1, error: { data: { reason: 'response_gone' } } }],
        'a resume across it ends in the error'
      )
    }
  })
}

t.test(
  'a reader that takes nothing is served from the log later; the call is not held up by it (decisions: "Slow reader")',
  async t => {
    const gateway = await startLegacy(t)
    const client = await gateway.open()
    const { turn, events, response } = await stream(gateway, client)
    const count = 200
    for (let i = 2; i <= count; i++)
      turn.notify('notifications/message', { level: 'info', data: `${i}`.padEnd(10_000) })
    turn.answer(saying('done'))
    response.destroy()
    const again = await client.get(events.lastId)
    await again.events.whole(20_000)
    t.equal(again.events.messages.length, count)
    t.equal(again.events.messages.at(-1).id, 1)
  }
)
