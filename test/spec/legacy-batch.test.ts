/** decisions: row "Batch"; R16, RPC-08, RPC-10. */
import t from 'tap'
import { isRefusal } from '../helpers/edge.ts'
import { saying, startLegacy } from '../helpers/legacy.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const ping = (id: number | string) => ({ id, method: 'ping' })
const call = (id: number | string, name: string, meta?: object) => ({
  id,
  method: 'tools/call',
  params: { name, arguments: { id }, ...(meta === undefined ? {} : { _meta: meta }) }
})
const old = { version: '2025-03-26' }

t.test('batches belong to 2025-03-26: by the session, never by the header (R16)', async t => {
  const { open } = await startLegacy(t)
  for (const [version, taken] of [
    ['2024-11-05', false],
    ['2025-03-26', true],
    ['2025-06-18', false],
    ['2025-11-25', false]
  ] as const) {
    const client = await open({ version })
    for (const header of [version, '2025-03-26', undefined]) {
      for (const batch of [[ping(1)], [{ method: 'notifications/x' }]]) {
        const response = await client.post(batch, { 'mcp-protocol-version': header })
        if (taken) t.ok(response.status < 300)
        else isRefusal(t, response, 400, -32600)
      }
    }
  }
})

t.test('what is refused whole, and nothing of it runs (RPC-08)', async t => {
  const { open, server } = await startLegacy(t)
  const client = await open(old)
  const heard = server.heard.length
  const batches: readonly [string, string][] = [
    ['empty', '[]'],
    ['over the limit', JSON.stringify(Array.from({ length: 51 }, (_, i) => ({ jsonrpc: '2.0', ...call(i, 'echo') })))],
    ['far over the limit', JSON.stringify(Array.from({ length: 1_001 }, (_, i) => ({ jsonrpc: '2.0', ...ping(i) })))],
    [
      'initialize inside',
      JSON.stringify([
        { jsonrpc: '2.0', ...call(1, 'echo') },
        { jsonrpc: '2.0', id: 2, method: 'initialize', params: {} }
      ])
    ],
    [
      'requests together with responses',
      JSON.stringify([
        { jsonrpc: '2.0', ...call(1, 'echo') },
        { jsonrpc: '2.0', id: 2, result: {} }
      ])
    ]
  ]
  for (const [what, body] of batches) {
    await t.test(what, async t => isRefusal(t, await client.post(body), 400, -32600))
  }
  t.equal(server.heard.length, heard)
  t.equal((await client.post(Array.from({ length: 50 }, (_, i) => ping(i)))).json.length, 50)
})

t.test('no element is a message: 400, an error for each (RPC-08)', async t => {
  const { open } = await startLegacy(t)
  const client = await open(old)
  for (const [body, count] of [
    ['[1,2,3]', 3],
    ['[[{"jsonrpc":"2.0","id":1,"method":"ping"}]]', 1],
    ['[null]', 1]
  ] as const) {
    const { status, json } = await client.post(body)
    t.equal(status, 400)
    t.same(
      json.map(({ error, ...rest }: any) => [error.code, rest]),
      Array(count).fill([-32600, { jsonrpc: '2.0' }])
    )
  }
})

t.test('an element that is no message is its own error, without an id; the others are answered (RPC-08)', async t => {
  const { open } = await startLegacy(t)
  const client = await open(old)
  const body =
    '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":5},null,[{}],{"jsonrpc":"2.0","id":"2","method":"ping"}]'
  const { status, json } = await client.post(body)
  t.equal(status, 200)
  t.equal(json.length, 5)
  t.equal(json.filter(({ error }: any) => error?.code === -32600).length, 3)
  t.same(
    json.filter(({ result }: any) => result !== undefined).map(({ id }: any) => id),
    [1, '2']
  )
  t.ok(json.every((one: object) => !('id' in one) || (one as { id: unknown }).id !== null))
})

t.test('nothing but notifications, or responses: 202, empty (RPC-08)', async t => {
  const { open, server } = await startLegacy(t)
  const client = await open(old)
  for (const batch of [
    [{ method: 'notifications/roots/list_changed' }, { method: 'notifications/x' }],
    [
      { id: 1, result: {} },
      { id: 2, error: { code: 1, message: 'no' } }
    ],
    [{ method: 'notifications/x' }, { id: 1, result: {} }]
  ]) {
    const { status, text } = await client.post(batch)
    t.same([status, text], [202, ''])
  }
  t.equal(server.heardOf('notifications/roots/list_changed').length, 1)
})

t.test('quick responses are one array, each with its id; ids may repeat (RPC-08)', async t => {
  const { open } = await startLegacy(t)
  const client = await open(old)
  const { json, headers } = await client.post([
    call(1, 'echo'),
    call('1', 'echo'),
    call(1, 'echo'),
    call(2, 'refuse'),
    ping(3)
  ])
  t.equal(headers['content-type'], 'application/json')
  t.same(json.map(({ id }: any) => JSON.stringify(id)).sort(), ['"1"', '1', '1', '2', '3'])
  for (const { id, result, error } of json) {
    if (id === 2) t.match(error, { code: -32042 })
    else if (id !== 3) t.same(JSON.parse(result.content[0].text), { id })
  }
})

t.test(
  'a slow one makes it one event stream, closed after the last response; progress stands before its response (R16, RPC-10)',
  async t => {
    const { open, held, server } = await startLegacy(t)
    const client = await open(old)
    const response = client.post([
      call(1, 'held'),
      call(2, 'progress', { progressToken: 'p' }),
      call(3, 'echo'),
      call(4, 'nobody')
    ])
    const turn = await held()
    const { events } = await response
    await events.until(({ messages }) => messages.filter(({ id }) => id !== undefined).length === 3)
    t.equal(events.ended, false)
    turn.answer(saying('last'))
    await events.whole()
    const order = events.messages.map(({ id, params }) => id ?? `p${params.progress}`)
    t.same(
      order.filter(one => one === 2 || typeof one === 'string'),
      ['p1', 'p2', 'p3', 2]
    )
    t.same([...order.filter(one => typeof one === 'number')].sort(), [1, 2, 3, 4])
    t.equal(order.at(-1), 1)
    t.match(
      events.messages.find(({ id }) => id === 4),
      { error: { code: -32601 } }
    )
    t.equal(server.heardOf('tools/call').length, 4, 'one by one: the backend speaks 2025-11-25')
  }
)

t.test('a client that takes JSON alone gets one array, notifications dropped (RPC-10)', async t => {
  const { open } = await startLegacy(t)
  const client = await open(old)
  const { json } = await client.post([call(1, 'progress', { progressToken: 1 }), call(2, 'echo')], {
    accept: 'application/json'
  })
  t.same(json.map(({ id }: any) => id).sort(), [1, 2])
})

t.test('a client that takes an event stream alone gets one', async t => {
  const { open } = await startLegacy(t)
  const client = await open(old)
  const { events } = await client.post([ping(1), ping(2)], { accept: 'text/event-stream' })
  await events.whole()
  t.same(events.messages.map(({ id }) => id).sort(), [1, 2])
})

t.test('a batch is resumed like any other stream (R17)', async t => {
  const { open, held } = await startLegacy(t)
  const client = await open(old)
  const response = client.post([call(1, 'held', { progressToken: 'p' }), call(2, 'echo')])
  const turn = await held()
  turn.progress(1)
  const { events, destroy } = await response
  await events.until(({ messages }) => messages.length === 2)
  destroy()
  turn.progress(2)
  const again = await client.get(events.lastId)
  turn.answer(saying('done'))
  await again.events.whole()
  t.same(
    again.events.messages.map(({ id, params }) => id ?? params.progress),
    [2, 1]
  )
})

t.test('cancelling: another call of the batch, by the same batch, or by a later message (R102)', async t => {
  const { open, held } = await startLegacy(t)
  const client = await open(old)
  const whole = client.post([
    call(1, 'held'),
    call(2, 'echo'),
    { method: 'notifications/cancelled', params: { requestId: 1 } }
  ])
  t.same(
    (await whole).json.map(({ id }: any) => id),
    [2]
  )

  const response = client.post([call(3, 'held', { progressToken: 1 }), call(4, 'held')])
  const turns = [await held(), await held()]
  const three = turns.find(({ token }) => token !== undefined)!
  const four = turns.find(({ token }) => token === undefined)!
  three.progress(1)
  const { events } = await response
  t.equal((await client.post({ method: 'notifications/cancelled', params: { requestId: 3, reason: 'r' } })).status, 202)
  t.equal(await three.cancelled, 'r')
  four.answer(saying('done'))
  await events.whole()
  t.same(
    events.messages.flatMap(({ id }) => (id === undefined ? [] : [id])),
    [4]
  )
})

t.test('every call cancelled: an empty event stream', async t => {
  const { open, held } = await startLegacy(t)
  const client = await open(old)
  const response = client.post([call(1, 'held'), call(2, 'held')])
  await held()
  await held()
  await client.post([1, 2].map(requestId => ({ method: 'notifications/cancelled', params: { requestId } })))
  const { status, headers, events } = await response
  t.equal(status, 200)
  t.equal(headers['content-type'], 'text/event-stream')
  await events.whole()
  t.same(events.messages, [])
})

t.test('answers to requests of the backend may come in a batch, with strange ones among them', async t => {
  const { open, held } = await startLegacy(t)
  const client = await open({ ...old, capabilities: { roots: {} } })
  const response = client.call('held')
  const turn = await held()
  const answers = Promise.all([turn.ask('roots/list'), turn.ask('roots/list')])
  const { events } = await response
  const asks = await events.until(({ messages }) => messages.length === 2 && messages)
  const batch = [{ id: 'nobody asked', result: {} }, ...asks.map(({ id }, i) => ({ id, result: { roots: [], i } }))]
  t.equal((await client.post(batch)).status, 202)
  t.match(await answers, [{ result: { i: 0 } }, { result: { i: 1 } }])
  turn.answer('{}')
  await events.whole()
})
