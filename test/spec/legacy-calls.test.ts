/** decisions: rows "In-flight ids", "Disconnect", "notifications/cancelled", "Ping", "Progress", "How a call ends"; R24, R102, R103; CAN-01 to CAN-06, RPC-01, RPC-03, RPC-05. */
import { once } from 'node:events'
import net from 'node:net'
import t from 'tap'
import { textParam } from '../../src/protocol/message.ts'
import { isRefusal } from '../helpers/edge.ts'
import { saying, startLegacy } from '../helpers/legacy.ts'
import type { RawClient, RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const text = (message: any): string => message.result.content[0].text
const call = (
  client: RawClient,
  id: number | string,
  name: string,
  args: object = {},
  meta?: object
): Promise<RawResponse> =>
  client.post({
    id,
    method: 'tools/call',
    params: { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) }
  })
const cancel = (client: RawClient, requestId: unknown, reason?: string): Promise<RawResponse> =>
  client.post({ method: 'notifications/cancelled', params: { requestId, reason } })

t.test('the same id many times at once: each response goes to its own request (RPC-01)', async t => {
  const { open, held } = await startLegacy(t)
  const client = await open()
  const calls = [1, 1, '1', 1, '1', 1, 1, 1].map((id, tag) => call(client, id, 'held', { tag }))
  const turns = await Promise.all(calls.map(() => held()))
  for (const turn of turns.toReversed()) turn.answer(saying(turn.arguments))
  const answers = await Promise.all(calls)
  t.same(
    answers.map(({ json }) => [json.id, JSON.parse(text(json)).tag]),
    [1, 1, '1', 1, '1', 1, 1, 1].map((id, tag) => [id, tag])
  )
})

t.test('the late result of a request that was given up never answers a new one with its id (RPC-03)', async t => {
  const { open, held } = await startLegacy(t)
  const client = await open()
  const given = call(client, 5, 'held', {}, { progressToken: 1 })
  const old = await held()
  old.progress(1)
  ;(await given).destroy()
  const again = call(client, 5, 'held')
  const young = await held()
  old.answer(saying('old'))
  young.answer(saying('new'))
  t.equal(text((await again).json), 'new')
})

t.test('a request method without an id is not executed, nor answered (RPC-05)', async t => {
  const { open, server } = await startLegacy(t)
  const client = await open()
  const channel = await client.get()
  const { status, text } = await client.post({ method: 'tools/call', params: { name: 'echo', arguments: {} } })
  t.same([status, text], [202, ''])
  const { json } = await client.post({ id: 9, method: 'notifications/initialized' })
  t.match(json, { id: 9, error: { code: -32601 } })
  await client.request('ping')
  t.equal(server.heardOf('tools/call').length, 0)
  t.same(channel.events.messages, [])
})

t.test(
  'cancelled: the upstream hears its own id and the reason, at once; the stream ends without a response (R102, CAN-01)',
  async t => {
    const { open, held, server } = await startLegacy(t)
    const client = await open()
    const response = call(client, 101, 'held', {}, { progressToken: 1 })
    const turn = await held()
    turn.progress(1)
    const { events } = await response
    await events.until(({ messages }) => messages.length === 1)
    const began = performance.now()
    const { status, text } = await cancel(client, 101, 'x')
    t.same([status, text], [202, ''])
    t.equal(await turn.cancelled, 'x')
    t.ok(performance.now() - began < 1_000)
    const [heard] = server.heardOf('notifications/cancelled')
    t.equal(textParam(heard!, 'requestId'), turn.message.id)
    turn.answer(saying('late'))
    await events.whole()
    t.equal(events.messages.length, 1)
    const after = await client.get(events.lastId)
    t.equal(after.status, 405, 'nothing is left to say')
    t.equal(after.headers.allow, 'POST')
  }
)

for (const accept of [undefined, 'application/json', 'text/event-stream']) {
  t.test(`cancelled before anything was written, Accept ${accept}: an empty event stream (decisions)`, async t => {
    const { open, held } = await startLegacy(t)
    const client = await open()
    const response = client.post(
      { id: 1, method: 'tools/call', params: { name: 'held' } },
      accept === undefined ? {} : { accept }
    )
    const turn = await held()
    await cancel(client, 1)
    await turn.cancelled
    const { status, headers, events, text } = await response
    t.same([status, headers['content-type'], text], [200, 'text/event-stream', ''])
    await events.whole()
    t.same(events.messages, [])
  })
}

t.test('what cancels nothing: 202, ignored (R102, CAN-01)', async t => {
  const { open, held, server } = await startLegacy(t)
  const [client, other] = [await open(), await open()]
  const calls = [
    call(client, 101, 'held'),
    call(client, 7, 'held'),
    call(client, 7, 'held'),
    client.post('{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"held"}}')
  ]
  const turns = await Promise.all(calls.map(() => held()))
  await call(client, 3, 'echo')
  for (const [what, act] of [
    ['an unknown id', () => cancel(client, 999)],
    ['a finished one', () => cancel(client, 3)],
    ['the same digits as a string', () => cancel(client, '101')],
    ['an id that two calls share', () => cancel(client, 7)],
    ['of another session', () => cancel(other, 101)],
    ['no id', () => cancel(client, undefined)],
    ['an id that is none', () => cancel(client, { a: 1 })],
    ['the initialize request', () => cancel(client, 'init')],
    [
      'a neighbour beyond 2^53',
      () => client.post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740994}}')
    ],
    ['no params', () => client.post({ method: 'notifications/cancelled' })]
  ] as const) {
    t.equal((await act()).status, 202, what)
  }
  t.equal(server.heardOf('notifications/cancelled').length, 0)
  for (const turn of turns) turn.answer('{}')
  for (const { status } of await Promise.all(calls)) t.equal(status, 200)
})

t.test(
  'each of several calls is cancelled alone, ids beyond 2^53 and escaped ones too (R102, CAN-01, RPC-06)',
  async t => {
    const { open, held } = await startLegacy(t)
    const client = await open()
    const raw = (id: string) =>
      client.post(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"held"}}`)
    for (const [id, other, named] of [
      ['9007199254740993', '9007199254740994', '9007199254740993'],
      ['1', '"1"', '1'],
      ['"ab"', '"abc"', '"\\u0061b"']
    ] as const) {
      const first = raw(id)
      const turn = await held()
      const second = raw(other)
      const rest = await held()
      await client.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${named}}}`)
      await turn.cancelled
      t.equal((await first).text, '')
      rest.answer('{}')
      t.equal((await second).status, 200)
    }
  }
)

t.test(
  'cancelling a call that waits for the client: its request is cancelled towards the client (decisions)',
  async t => {
    const { open, held } = await startLegacy(t)
    const client = await open({ capabilities: { elicitation: {} } })
    const response = call(client, 1, 'held')
    const turn = await held()
    void turn.ask('elicitation/create', { message: '?', requestedSchema: { type: 'object', properties: {} } })
    const { events } = await response
    const ask = await events.message(({ method }) => method === 'elicitation/create')
    await cancel(client, 1)
    await events.whole()
    t.match(events.messages.at(-1), { method: 'notifications/cancelled', params: { requestId: ask.id } })
    t.equal(
      (await client.post({ id: ask.id, result: { action: 'accept' } })).status,
      202,
      'an answer that comes too late is taken'
    )
  }
)

t.test('a disconnect cancels nothing: the call goes on, and its result waits (CAN-03, R17)', async t => {
  const { open, held, server } = await startLegacy(t)
  const client = await open()
  const response = call(client, 1, 'held', {}, { progressToken: 1 })
  const turn = await held()
  turn.progress(1)
  const { events, destroy } = await response
  await events.until(({ messages }) => messages.length === 1)
  destroy()
  const quiet = call(client, 2, 'held')
  quiet.catch(() => {})
  const second = await held()
  turn.progress(2)
  turn.answer(saying('done'))
  second.answer(saying('dropped'))
  const again = await client.get(events.lastId)
  await again.events.whole()
  t.same(
    again.events.messages.map(({ id, params }) => id ?? params.progress),
    [2, 1]
  )
  t.equal(server.heardOf('notifications/cancelled').length, 0)
})

t.test('sockets that break at every moment harm nobody (CAN-03)', async t => {
  const { open, url, server, status } = await startLegacy(t)
  const client = await open()
  const { hostname, port, pathname } = new URL(url)
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'progress', _meta: { progressToken: 1 } }
  })
  const head =
    `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nMcp-Session-Id: ${client.session}\r\n` +
    'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n' +
    `Content-Length: ${body.length}\r\n\r\n`
  const cut = async (bytes: number, answer: number): Promise<void> => {
    const socket = net.connect(Number(port), hostname)
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write((head + body).slice(0, bytes))
    for (let came = 0; came < answer; ) {
      const chunk = await Promise.race([once(socket, 'data').then(([data]) => data as Buffer), once(socket, 'close')])
      if (!(chunk instanceof Buffer)) break
      came += chunk.length
    }
    socket.destroy()
  }
  const whole = head.length + body.length
  const before = server.heardOf('tools/call').length
  await Promise.all(Array.from({ length: 20 }, (_, i) => cut(head.length + i, 0)))
  t.equal(server.heardOf('tools/call').length, before, 'half a body is no request')
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 20 }, (_, i) => cut(whole, i * 40)))
  }
  await until('all calls are over', async () => (await status()).backends[0]!.inflight === 0)
  t.equal(server.heardOf('notifications/cancelled').length, 0)
  t.equal((await client.call('echo')).status, 200)
})

t.test('ping is answered by the gateway, both ways (R103)', async t => {
  const { open, server } = await startLegacy(t)
  const client = await open()
  t.same((await client.post({ id: 'p', method: 'ping' })).json, { jsonrpc: '2.0', id: 'p', result: {} })
  t.equal(server.heardOf('ping').length, 0)
  const { json } = await client.call('ping')
  t.equal(text(json), '{}')
})

t.test('tokens keep their type; 0 and "" are tokens; each call has its own (CAN-05)', async t => {
  const { open, held } = await startLegacy(t)
  const [one, other] = [await open(), await open()]
  for (const token of [0, '', 1, '1', 9007199254740991, 'a"b', -1]) {
    const calls = [
      call(one, 1, 'held', {}, { progressToken: token }),
      call(other, 1, 'held', {}, { progressToken: token })
    ]
    const turns = [await held(), await held()]
    for (const [i, turn] of turns.entries()) {
      turn.progress(i)
      turn.answer(saying('done'))
    }
    const responses = await Promise.all(calls)
    for (const { events } of responses) await events.whole()
    const seen = responses.map(({ events }) =>
      events.messages.map(({ params, id }) => (params === undefined ? id : [params.progressToken, params.progress]))
    )
    t.same(
      seen.map(messages => messages.length),
      [2, 2],
      JSON.stringify(token)
    )
    t.ok(seen.every(([progress]) => progress[0] === token))
    t.same(seen.map(([progress]) => progress[1]).sort(), [0, 1])
  }
})

t.test('progress of strange tokens, without a token, or after the response is not passed on (CAN-05)', async t => {
  const { open, held } = await startLegacy(t)
  const client = await open()
  const channel = await client.get()
  const stray = await call(client, 1, 'stray', {}, { progressToken: 'mine' })
  const strayed = stray.json ?? (await stray.events.whole()).messages
  t.match(Array.isArray(strayed) ? strayed.at(-1) : strayed, { id: 1, result: {} })
  const response = call(client, 2, 'held')
  const turn = await held()
  turn.progress(1, '"invented"')
  turn.answer(saying('done'))
  t.equal(text((await response).json), 'done')
  t.same(channel.events.messages, [])
})

t.test('values that do not rise pass from proxied backends (CAN-05)', async t => {
  const { open, held } = await startLegacy(t)
  const client = await open()
  const response = call(client, 1, 'held', {}, { progressToken: 1 })
  const turn = await held()
  for (const value of [0, 5, 5, 4]) turn.progress(value)
  turn.answer(saying('done'))
  const { events } = await response
  await events.whole()
  t.same(
    events.messages.flatMap(({ params }) => (params === undefined ? [] : [params.progress])),
    [0, 5, 5, 4]
  )
})

t.test('too slow: one error with the id, the upstream is told, what comes later is dropped (CAN-06, R103)', async t => {
  const { upstream } = await startLegacy(t)
  const { open, status } = await startLegacy(t, {
    file: { backends: { docs: { kind: 'http', url: upstream.url, timeout: '150ms', maxTime: '600ms' } } }
  })
  const { server } = upstream
  let cancelled = 0
  server.on('tools/call:late', async turn => {
    await turn.cancelled
    cancelled++
    turn.answer(saying('late'))
  })
  server.on('tools/call:busy', async turn => {
    const timer = setInterval(() => turn.progress(1), 50)
    await turn.cancelled
    clearInterval(timer)
    cancelled++
  })
  const client = await open()
  const channel = await client.get()
  const silent = await call(client, 1, 'late')
  t.match(silent.json, {
    id: 1,
    error: { code: -32603, data: { reason: 'timeout', backend: 'docs', limit: 'timeout' } }
  })
  const began = performance.now()
  const { events } = await call(client, 2, 'busy', {}, { progressToken: 1 })
  await events.whole()
  t.ok(performance.now() - began > 400, 'progress extends the silence')
  t.match(events.messages.at(-1), { id: 2, error: { data: { limit: 'maxTime' } } })
  await until('both were cancelled', () => cancelled === 2)
  await until('nothing is in flight', async () => (await status()).backends[0]!.inflight === 0)
  t.same(channel.events.messages, [])
})

t.test('an answer that nobody asked for is 400, and goes nowhere', async t => {
  const { open, server } = await startLegacy(t)
  const client = await open()
  const heard = server.heard.length
  for (const id of [1, 'x', '1.AAAAAAAAAAAAAAAAAAAAAA'])
    isRefusal(t, await client.post({ id, result: {} }), 400, -32600)
  t.equal(server.heard.length, heard)
})
