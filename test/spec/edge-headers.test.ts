/** Repeated headers, Accept, Content-Type, the version header on real sockets (R10, R15; HDR-01, HDR-03, HDR-05; section 3 of threats). */
import t from 'tap'
import { initialize, isRefusal, startEdge } from '../helpers/edge.ts'
import { RawClient, send } from '../helpers/raw-client.ts'
import { bodyOf, exchange, statuses } from '../helpers/wire.ts'

const json = { 'content-type': 'application/json' }

t.test('a singleton header that stands twice is refused, and the connection ends', async t => {
  const { url, server } = await startEdge(t)
  const client = await RawClient.open(url)
  const heard = server.heard.length
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}'
  const rows: readonly (readonly [header: string, status: number, code: number])[] = [
    ['Origin', 403, -32600],
    ['MCP-Protocol-Version', 400, -32020],
    ['Mcp-Method', 400, -32020],
    ['Mcp-Name', 400, -32020],
    ['Host', 400, -32600],
    ['Authorization', 400, -32600],
    ['Content-Type', 400, -32600],
    ['Mcp-Session-Id', 400, -32600],
    ['Last-Event-ID', 400, -32600]
  ]
  const values: Record<string, string> = {
    Host: 'localhost',
    Origin: 'http://localhost:1',
    'Content-Type': 'application/json',
    'Mcp-Session-Id': client.session!,
    'MCP-Protocol-Version': client.version
  }
  for (const [header, status, code] of rows) {
    await t.test(header, async t => {
      const own = {
        Host: 'localhost',
        'Content-Type': 'application/json',
        'Mcp-Session-Id': client.session!,
        [header]: values[header] ?? 'x'
      }
      const lines = Object.entries(own).map(([name, value]) => `${name}: ${value}\r\n`)
      const again = `${header.toUpperCase()}: ${values[header] ?? 'x'}\r\n`
      const text = await exchange(
        t,
        url,
        `POST /mcp HTTP/1.1\r\n${lines.join('')}${again}Content-Length: ${body.length}\r\n\r\n${body}`
      )
      t.same(statuses(text), [status])
      t.match(bodyOf(text), { error: { code } })
      t.match(text, /connection: close/i)
    })
  }
  t.equal(server.heard.length, heard, 'nothing ran')
})

t.test('headers with an underscore are other headers (H1)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  const aliased = await client.request('ping', {}, { 'mcp-session-id': undefined, mcp_session_id: client.session })
  isRefusal(t, aliased, 400, -32600, 1)
})

t.test('Accept of a POST: what is answered is always something that it admits (R10, HDR-01)', async t => {
  const { url } = await startEdge(t)
  const rows: readonly (readonly [accept: string | string[] | undefined, type: string])[] = [
    ['application/json', 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['*/*', 'application/json'],
    [undefined, 'application/json'],
    ['application/*;q=0.9, text/*', 'application/json'],
    ['TEXT/EVENT-STREAM, Application/JSON', 'application/json'],
    ['text/event-stream;q=0, application/json', 'application/json'],
    ['application/json;q=0, text/event-stream', 'text/event-stream'],
    [['application/json', 'text/event-stream'], 'application/json']
  ]
  const client = await RawClient.open(url)
  for (const [accept, type] of rows) {
    await t.test(`Accept: ${accept}`, async t => {
      const first = await send(url, { headers: { ...json, accept }, body: initialize() })
      t.equal(first.status, 200)
      t.equal(first.headers['content-type'], type)
      t.ok(first.headers['mcp-session-id'])
      const message = type === 'application/json' ? first.json : await first.events.message(() => true)
      t.match(message, { id: 1, result: { protocolVersion: '2025-11-25' } })

      const called = await client.request('tools/call', { name: 'echo', arguments: { a: 1 } }, { accept })
      t.equal(called.headers['content-type'], type)
      const answer =
        type === 'application/json' ? called.json : await called.events.message(({ id }) => id !== undefined)
      t.match(answer, { result: { content: [{ text: '{"a":1}' }] } })
      if (type === 'text/event-stream') await called.events.whole()

      const failed = await client.request('tools/call', { name: 'refuse' }, { accept })
      t.equal(failed.headers['content-type'], type, 'an error of the backend too')
      const error =
        type === 'application/json' ? failed.json : await failed.events.message(({ id }) => id !== undefined)
      t.match(error, { error: { code: -32042 } })
    })
  }
  for (const accept of ['image/png', 'application/jsonx', '*/*;q=0', 'text/html, application/xhtml+xml']) {
    isRefusal(t, await send(url, { headers: { ...json, accept }, body: initialize() }), 406, -32600)
  }
})

t.test('a client that takes JSON alone never gets a stream: notifications are dropped (R10, R100c)', async t => {
  const { url } = await startEdge(t, { streams: { sseAfter: '20ms', response: 'sse' } })
  const client = await RawClient.open(url)
  const accept = { accept: 'application/json' }
  const { headers, json } = await client.request(
    'tools/call',
    { name: 'progress', _meta: { progressToken: 1 } },
    accept
  )
  t.equal(headers['content-type'], 'application/json')
  t.match(json, { id: 1, result: { content: [{ text: 'done' }] } })
})

t.test('Content-Type of a POST is a media type, whatever its case and parameters (R10, HDR-03, H12)', async t => {
  const { url, server } = await startEdge(t)
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json;foo=bar',
    'application/json ; foo="a;b"',
    'application/json;'
  ]) {
    const { status, json } = await send(url, { headers: { 'content-type': type }, body: initialize() })
    t.equal(status, 200, type)
    t.ok(json.result, type)
  }
  const heard = server.heard.length
  for (const type of [
    undefined,
    '',
    'text/plain',
    'application/jsonx',
    'application/json\ta',
    'application/json; charset=utf-16'
  ]) {
    await t.test(`Content-Type: ${type}`, async t =>
      isRefusal(t, await send(url, { headers: { 'content-type': type }, body: initialize() }), 415, -32600)
    )
  }
  t.equal(server.heard.length, heard)
})

t.test('the body is not decoded: an encoded one is 415 (H13, RPC-11)', async t => {
  const { url } = await startEdge(t)
  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity', 'x']) {
    isRefusal(
      t,
      await send(url, { headers: { ...json, 'content-encoding': encoding }, body: initialize() }),
      415,
      -32600
    )
  }
  const identity = { ...json, 'content-encoding': 'identity' }
  t.equal((await send(url, { headers: identity, body: initialize() })).status, 200)
})

t.test('what is not answered is 202 with nothing: notifications, responses, batches of them (R10, HDR-05)', async t => {
  const { url, server } = await startEdge(t)
  const client = await RawClient.open(url, { version: '2025-03-26' })
  const accepted = {
    initialized: { method: 'notifications/initialized' },
    notification: { method: 'notifications/progress', params: { progressToken: 1, progress: 1 } },
    unknown: { method: 'notifications/whatever' },
    'request without an id': { method: 'tools/call', params: { name: 'echo' } },
    'cancel of nothing': { method: 'notifications/cancelled', params: { requestId: 99 } },
    batch: [{ method: 'notifications/x' }, { method: 'notifications/y' }]
  }
  for (const [name, message] of Object.entries(accepted)) {
    await t.test(name, async t => {
      const { status, headers, text } = await client.post(message)
      t.equal(status, 202)
      t.equal(text, '')
      t.equal(headers['content-type'], undefined)
      t.ok([undefined, '0'].includes(headers['content-length']))
    })
  }
  t.same(server.heardOf('tools/call'), [], 'a request without an id is not executed (RPC-05)')
})

t.test('an unknown version is 400 on POST, GET and DELETE; a known or absent one is served (R15)', async t => {
  const { url } = await startEdge(t)
  const old = await RawClient.open(url, { version: '2025-03-26' })
  const current = await RawClient.open(url, { version: '2025-11-25' })
  for (const client of [old, current]) {
    for (const version of ['1999-01-01', '', '2025-11-26', 'latest', '2025-11-25 x']) {
      const headers = { 'MCP-Protocol-Version': version, 'mcp-protocol-version': undefined }
      isRefusal(t, await client.post({ id: 5, method: 'ping' }, headers), 400, -32600, 5)
      isRefusal(t, await client.get(undefined, headers), 400, -32600)
      isRefusal(t, await client.delete(headers), 400, -32600)
    }
    for (const version of [undefined, '2025-03-26', '2025-06-18', '2025-11-25']) {
      t.equal((await client.request('ping', {}, { 'mcp-protocol-version': version })).status, 200)
    }
  }
  const batch = [{ id: 1, method: 'ping' }]
  t.equal(
    (await old.post(batch, { 'mcp-protocol-version': '2025-11-25' })).status,
    200,
    'the session decides, not the header'
  )
  t.equal((await current.post(batch, { 'mcp-protocol-version': '2025-03-26' })).status, 400)
})

t.test('a session id is 128 bits or more of visible ASCII, on the response of initialize alone (R13)', async t => {
  const { url } = await startEdge(t)
  const ids = new Set<string>()
  for (let i = 0; i < 20; i++) {
    const { headers } = await send(url, { headers: json, body: initialize() })
    ids.add(headers['mcp-session-id'] as string)
  }
  t.equal(ids.size, 20)
  for (const id of ids) t.match(id, /^[\x21-\x7e]{22,}$/)

  const client = await RawClient.open(url)
  const later = [
    await client.request('ping'),
    await client.post({ method: 'notifications/x' }),
    await client.request('tools/call', { name: 'progress', _meta: { progressToken: 1 } }),
    await client.post('{'),
    await client.get(),
    await client.delete()
  ]
  for (const { headers, destroy } of later) {
    t.equal(headers['mcp-session-id'], undefined)
    destroy()
  }
  const failed = await send(url, { headers: json, body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' })
  t.match(failed.json, { error: { code: -32602 } })
  t.equal(failed.headers['mcp-session-id'], undefined, 'none where initialize failed')
})
