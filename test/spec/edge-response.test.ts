/** Shape of the answer: JSON or an event stream, its head, its events (decisions "Response mode", "SSE headers"; R10, R24, E5, E9, E10, SSE-05, SSE-08, SSE-11, H14). */
import t from 'tap'
import { startEdge } from '../helpers/edge.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import type { Behaviour } from '../helpers/scripted.ts'
import { connect } from '../helpers/wire.ts'

const isStream = ({ headers }: RawResponse): boolean => headers['content-type'] === 'text/event-stream'
const token = { _meta: { progressToken: 'p' } }
const quick: Behaviour = turn => turn.answer('{"content":[]}')

/** Answers when the test says so. */
function held(): { readonly behaviour: Behaviour; readonly release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    behaviour: async turn => {
      await promise
      turn.answer('{"content":[]}')
    },
    release: resolve
  }
}

t.test('auto: JSON when the response comes first and in time', async t => {
  const { url, server } = await startEdge(t)
  server.on('tools/call:quick', quick)
  const client = await RawClient.open(url)
  for (const response of [await client.call('quick'), await client.request('ping'), await client.call('refuse')]) {
    t.equal(response.status, 200)
    t.equal(response.headers['content-type'], 'application/json')
    t.equal(Number(response.headers['content-length']), Buffer.byteLength(response.text))
  }
})

t.test('auto: a stream as soon as something else than the response comes', async t => {
  const { url } = await startEdge(t, { streams: { sseAfter: '1h' } })
  const client = await RawClient.open(url)
  const response = await client.request('tools/call', { name: 'progress', ...token })
  t.ok(isStream(response))
  await response.events.whole()
  t.same(
    response.events.messages.map(({ method, id }) => method ?? id),
    ['notifications/progress', 'notifications/progress', 'notifications/progress', 1]
  )
})

t.test('auto: a stream once sseAfter is over, opened at that moment, before anything is said on it', async t => {
  const { url, server } = await startEdge(t, { streams: { sseAfter: '50ms' } })
  for (const version of ['2025-03-26', '2025-11-25']) {
    const { behaviour, release } = held()
    server.on('tools/call:held', behaviour)
    const client = await RawClient.open(url, { version })
    const start = performance.now()
    const response = await client.call('held')
    t.ok(isStream(response))
    t.ok(performance.now() - start < 1_000, 'the head did not wait')
    await response.events.until(({ all, comments }) => all.length + comments.length > 0)
    release()
    await response.events.whole()
    t.match(response.events.messages, [{ id: 1, result: {} }])
  }
})

t.test('sse: always a stream, but for refusals and errors that come first', async t => {
  const { url, server } = await startEdge(t, { streams: { response: 'sse' } })
  server.on('tools/call:quick', quick)
  const client = await RawClient.open(url)
  const response = await client.call('quick')
  t.ok(isStream(response))
  await response.events.whole()
  t.match(response.events.messages, [{ id: 1, result: {} }])
  const refused = await client.post('{')
  t.equal(refused.status, 400)
  t.equal(refused.headers['content-type'], 'application/json')
  t.match((await client.call('refuse')).json, { error: { code: -32042 } })
})

t.test('json: never a stream; notifications of the call are dropped', async t => {
  const { url } = await startEdge(t, { streams: { response: 'json', sseAfter: '10ms' } })
  const client = await RawClient.open(url)
  const { headers, json } = await client.request('tools/call', { name: 'progress', ...token })
  t.equal(headers['content-type'], 'application/json')
  t.match(json, { id: 1, result: { content: [{ text: 'done' }] } })
})

t.test('the head of a stream keeps proxies from holding, changing and storing it (E5, SSE-08)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  const streams = [await client.request('tools/call', { name: 'progress', ...token }), await client.get()]
  for (const { status, headers, destroy } of streams) {
    t.equal(status, 200)
    t.equal(headers['content-type'], 'text/event-stream')
    t.equal(headers['cache-control'], 'no-cache, no-transform')
    t.equal(headers['x-accel-buffering'], 'no')
    t.equal(headers['content-length'], undefined)
    t.equal(headers['content-encoding'], undefined)
    destroy()
  }
})

t.test('a first byte leaves with the head: a priming event from 2025-11-25 on, a comment before (E9, R18)', async t => {
  const { url, server } = await startEdge(t, { streams: { sseAfter: '10ms', retry: '1234ms' } })
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    const { behaviour, release } = held()
    server.on('tools/call:held', behaviour)
    const client = await RawClient.open(url, { version })
    for (const response of [await client.get(), await client.call('held')]) {
      const { events } = response
      await events.until(({ all, comments }) => all.length + comments.length > 0)
      if (version === '2025-11-25') t.match(events.all, [{ id: /\S/, retry: 1234, data: '' }])
      else {
        t.same(events.all, [], `${version}: no event without a message`)
        t.same(events.comments, [':'])
      }
      response.destroy()
    }
    release()
  }
})

t.test('idle streams get comments, of a call and of a session, and nothing else (E5, SSE-08)', async t => {
  const { url } = await startEdge(t, { streams: { sseAfter: '10ms', keepAlive: '40ms' } })
  const client = await RawClient.open(url)
  for (const response of [await client.call('never'), await client.get()]) {
    await response.events.until(({ comments }) => comments.length >= 3)
    t.equal(response.events.all.length, 1, 'but for the priming event')
    response.destroy()
  }
})

t.test(
  'a message is one data line between an id and an empty line, whatever is in it (SSE-05, SSE-11, H14)',
  async t => {
    const { url, server } = await startEdge(t)
    const texts = [
      '\\n\\nevent: message\\ndata: {\\"jsonrpc\\":\\"2.0\\"}\\n\\n',
      'a\\r\\n\\r\\nb',
      '\u2028\u2029\u0085',
      '\\u0000',
      'id: 5\\ndata: x',
      'x'.repeat(50_000),
      '€'.repeat(20_000)
    ]
    let odd = ''
    server.on('tools/call:odd-text', turn => {
      turn.answer(`{\r\n "content" :\n\t[{"type":"text",\r"text":"${odd}"}]\n}`)
    })
    const client = await RawClient.open(url)
    for (const text of texts) {
      odd = text
      await t.test(JSON.stringify(text.slice(0, 20)).replace(/[^ -~]/g, '.'), async t => {
        const response = await client.request('tools/call', { name: 'odd-text' }, { accept: 'text/event-stream' })
        const { all, messages } = await response.events.whole()
        t.equal(messages.at(-1).result.content[0].text, JSON.parse(`"${text}"`))
        t.equal(all.length, 2)
        for (const { id, event, data } of all.slice(1)) {
          t.match(id, /^[A-Za-z0-9_-]{1,64}$/)
          t.equal(event, 'message')
          t.notMatch(data, /[\r\n]/)
        }
        t.equal(new Set(all.map(({ id }) => id)).size, 2)
      })
    }
  }
)

t.test('raw text of a stream: no carriage return, no more than the fields that we write (H14)', async t => {
  const { url, upstream } = await startEdge(t)
  upstream.options.intercept = (_request, response, body) => {
    if (!body.includes('tools/call')) return false
    const { id } = JSON.parse(body)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('\ufeff: hello\r\nretry: 1\r\nid: a\0b\r\nevent: ping\r\ndata: {}\r\n\r\n')
    response.write('id: x: y\nid\ndata:\n\n')
    response.write(
      'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message",\ndata: "params":{"level":"info","data":1}}\n\n'
    )
    response.end(`foo: bar\ndata: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\r\n\r\n`)
    return true
  }
  const client = await RawClient.open(url)
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}'
  const wire = await connect(t, url)
  wire.write(
    `POST /mcp HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: ${client.session}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
  const text = (await wire.whole()).text
  const stream = text.slice(text.indexOf('\r\n\r\n') + 4)
  t.notMatch(stream, /\r/)
  t.match(
    stream,
    /^id: \S+\nretry: 1000\ndata: \n\nid: \S+\nevent: message\ndata: \{[^\n]+\}\n\nid: \S+\nevent: message\ndata: \{[^\n]+\}\n\n$/
  )
})

t.test('a message is on one stream, its own; the channel has what belongs to no call (R24, E10)', async t => {
  const { url, server } = await startEdge(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  server.on('tools/call:talk', async turn => {
    for (let i = 0; i < 5; i++) turn.notify('notifications/message', { level: 'info', data: `${turn.arguments} ${i}` })
    await promise
    turn.answer('{"content":[]}')
  })
  const client = await RawClient.open(url)
  const channel = await client.get()
  await channel.events.until(({ all }) => all.length > 0)
  const calls = await Promise.all([client.call('talk', { a: 1 }), client.call('talk', { b: 2 })])
  for (const { events } of calls) await events.until(({ messages }) => messages.length === 5)
  t.ok(server.announce('notifications/tools/list_changed'))
  await channel.events.message(({ method }) => method === 'notifications/tools/list_changed')
  resolve()
  for (const { events } of calls) await events.whole()
  t.same(
    channel.events.messages.map(({ method }) => method),
    ['notifications/tools/list_changed']
  )
  t.same(
    calls.map(({ events }) => events.messages.map(({ id, params }) => id ?? params.data)),
    [
      [...Array.from({ length: 5 }, (_, i) => `{"a":1} ${i}`), 1],
      [...Array.from({ length: 5 }, (_, i) => `{"b":2} ${i}`), 2]
    ]
  )
  channel.destroy()
})

t.test('large results arrive whole, with their length: as JSON in one piece and in parts, and as an event', async t => {
  const { url, server } = await startEdge(t)
  const sizes = [1, 16_000, 16_384, 65_400, 65_536, 70_000, 1_000_000, 5_000_000]
  let text = ''
  server.on('tools/call:big', turn => turn.answer(`{"content":[{"type":"text","text":${JSON.stringify(text)}}]}`))
  server.on('tools/call:big-late', turn => {
    turn.notify('notifications/message', { level: 'info', data: 1 })
    turn.answer(`{"content":[{"type":"text","text":${JSON.stringify(text)}}]}`)
  })
  const client = await RawClient.open(url)
  const batcher = await RawClient.open(url, { version: '2025-03-26' })
  for (const size of sizes) {
    text = `${'é'.repeat(size / 2)}"\n`
    const id = 'a-longer-id-than-the-number-upstream'
    const plain = await client.post({ id, method: 'tools/call', params: { name: 'big' } })
    t.equal(Number(plain.headers['content-length']), Buffer.byteLength(plain.text), `${size}: Content-Length`)
    t.equal(plain.headers['transfer-encoding'], undefined)
    t.equal(plain.json.id, id)
    t.equal(plain.json.result.content[0].text === text, true, `${size} as JSON`)
    const late = await client.post({ id, method: 'tools/call', params: { name: 'big-late' } })
    const { messages } = await late.events.whole()
    t.equal(messages.at(-1).id, id)
    t.equal(messages.at(-1).result.content[0].text === text, true, `${size} as an event`)
    const batch = await batcher.post([1, 2].map(id => ({ id, method: 'tools/call', params: { name: 'big' } })))
    t.equal(Number(batch.headers['content-length']), Buffer.byteLength(batch.text))
    t.equal(
      batch.json.every(({ result }: any) => result.content[0].text === text),
      true,
      `${size} in a batch`
    )
  }
})

t.test('an empty stream is what a cancelled call that had none gets, and its request line says so', async t => {
  const { url, server } = await startEdge(t, { streams: { sseAfter: '1h' } })
  const client = await RawClient.open(url)
  const waiting = client.post({ id: 'x', method: 'tools/call', params: { name: 'never' } })
  while (server.heardOf('tools/call').length === 0) await new Promise(resolve => setTimeout(resolve, 2))
  t.equal((await client.post({ method: 'notifications/cancelled', params: { requestId: 'x' } })).status, 202)
  const response = await waiting
  t.equal(response.status, 200)
  t.ok(isStream(response))
  t.same((await response.events.whole()).messages, [])
})
