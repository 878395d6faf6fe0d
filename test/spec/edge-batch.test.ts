/** Batches at the edge (decisions "Batch"; R16; RPC-08, H11). */
import t from 'tap'
import { isRefusal, startEdge } from '../helpers/edge.ts'
import { RawClient } from '../helpers/raw-client.ts'

const version = '2025-03-26'
const ping = (id: unknown): object => ({ id, method: 'ping' })
const call = (id: unknown, say: string): object => ({
  id,
  method: 'tools/call',
  params: { name: 'echo', arguments: { say } }
})
const notification = { method: 'notifications/x' }
const response = { id: 'x', result: {} }

t.test('revisions without batches refuse every array, and nothing of it runs (R16, H11)', async t => {
  const { url, server } = await startEdge(t)
  for (const version of ['2024-11-05', '2025-06-18', '2025-11-25']) {
    const client = await RawClient.open(url, { version })
    for (const batch of [[], [call(1, 'a')], [notification], [call(1, 'a'), notification]]) {
      isRefusal(t, await client.post(batch), 400, -32600)
    }
  }
  t.same(server.heardOf('tools/call'), [])
})

t.test('batches that no revision allows are refused whole (R16, RPC-08)', async t => {
  const { url, server } = await startEdge(t)
  const client = await RawClient.open(url, { version })
  const rows: Record<string, string | object> = {
    empty: [],
    'too many': Array.from({ length: 51 }, (_, i) => call(i, 'a')),
    'far too many': `[${Array.from({ length: 100_000 }, () => '{}').join()}]`,
    'initialize inside': [call(1, 'a'), { id: 2, method: 'initialize', params: { protocolVersion: version } }],
    'requests together with responses': [call(1, 'a'), response]
  }
  for (const [name, batch] of Object.entries(rows)) {
    await t.test(name, async t => isRefusal(t, await client.post(batch), 400, -32600))
  }
  t.same(server.heardOf('tools/call'), [])
})

t.test('where no element is a message each one is told so, with 400 (RPC-08)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url, { version })
  for (const [text, count] of [
    ['[1,2,3]', 3],
    ['[null]', 1],
    ['[[{"jsonrpc":"2.0","id":1,"method":"ping"}]]', 1],
    ['[{},"x"]', 2]
  ] as const) {
    const { status, headers, json } = await client.post(text)
    t.equal(status, 400, text)
    t.equal(headers['content-type'], 'application/json')
    t.equal(json.length, count)
    for (const error of json) {
      t.match(error, { jsonrpc: '2.0', error: { code: -32600 } })
      t.notOk('id' in error)
    }
  }
})

t.test('each request gets its own answer, whatever the ids and the other elements (R16, RPC-08)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url, { version })
  const mixed = await client.post(
    `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0"},null,{"jsonrpc":"2.0","id":"1","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]`
  )
  t.equal(mixed.status, 200)
  t.equal(mixed.json.length, 4)
  t.same(mixed.json.flatMap(({ id }: { id?: unknown }) => (id === undefined ? [] : [id])).sort(), [1, '1'].sort())
  t.equal(mixed.json.filter(({ error }: { error?: { code: number } }) => error?.code === -32600).length, 2)

  const same = await client.post([call(7, 'a'), call(7, 'b'), call('7', 'c'), ping(7)])
  t.same(same.json.map(({ id }: { id: unknown }) => id).sort(), [7, 7, 7, '7'].sort())
  t.same(
    same.json
      .flatMap(({ result }: any) => (result.content === undefined ? [] : [JSON.parse(result.content[0].text).say]))
      .sort(),
    ['a', 'b', 'c']
  )

  const one = await client.post([ping(1)])
  t.ok(Array.isArray(one.json), 'a batch of one is answered with a batch of one')
})

t.test('nothing but notifications and responses is 202 (R16)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url, { version })
  for (const batch of [
    [notification, notification],
    [response, response],
    [notification, response]
  ]) {
    const { status, text, headers } = await client.post(batch)
    t.equal(status, 202)
    t.equal(text, '')
    t.equal(headers['content-type'], undefined)
  }
})

t.test('as an event stream: messages as they come, one response each, over after the last (R16, RPC-10)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url, { version })
  const progress = { id: 2, method: 'tools/call', params: { name: 'progress', _meta: { progressToken: 'p' } } }
  const { headers, events } = await client.post([call(1, 'a'), progress, { id: 3, method: 'no/such' }])
  t.equal(headers['content-type'], 'text/event-stream')
  await events.whole()
  const ids = events.messages.map(({ id }) => id).filter(id => id !== undefined)
  t.same(ids.sort(), [1, 2, 3])
  const order = events.messages.map(({ id, method }) => method ?? id)
  t.equal(order.filter(what => what === 'notifications/progress').length, 3)
  t.ok(order.lastIndexOf('notifications/progress') < order.indexOf(2), 'progress precedes its response')
  t.match(
    events.messages.find(({ id }) => id === 3),
    { error: { code: -32601 } }
  )

  const alone = await client.post([call(1, 'a'), progress], { accept: 'application/json' })
  t.equal(alone.headers['content-type'], 'application/json')
  t.same(alone.json.map(({ id }: { id: unknown }) => id).sort(), [1, 2])
})
