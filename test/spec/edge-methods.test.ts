/** HTTP methods and paths (decisions "Other methods (HEAD, PUT, ...), trailing slash, `//`, encoded path"; R11, HDR-08, HTP-08, A14). */
import { METHODS } from 'node:http'
import t from 'tap'
import { initialize, isRefusal, startEdge } from '../helpers/edge.ts'
import { RawClient, send } from '../helpers/raw-client.ts'
import { bodyOf, connect, exchange, statuses } from '../helpers/wire.ts'

const served = new Set(['POST', 'GET', 'DELETE'])

t.test('every other HTTP method is 405 with Allow, with a session and without (R11, HTP-08)', async t => {
  const { url, server, streams } = await startEdge(t)
  const client = await RawClient.open(url)
  const heard = server.heard.length
  for (const method of METHODS.filter(method => !served.has(method) && method !== 'CONNECT' && method !== 'HEAD')) {
    await t.test(method, async t => {
      const response = await send(url, { method, headers: { ...client.headers, accept: 'text/event-stream' } })
      isRefusal(t, response, 405, -32600)
      t.equal(response.headers.allow, 'GET, POST, DELETE, OPTIONS')
    })
  }
  const head = await send(url, { method: 'HEAD', headers: { ...client.headers, accept: 'text/event-stream' } })
  t.equal(head.status, 405)
  t.equal(head.headers.allow, 'GET, POST, DELETE, OPTIONS')
  t.equal(head.text, '')
  t.equal(await streams(), 0, 'HEAD opens no stream')
  t.equal(server.heard.length, heard)
})

t.test('CONNECT gets no tunnel (H1)', async t => {
  const { url } = await startEdge(t)
  t.equal(await exchange(t, url, 'CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n'), '')
})

t.test('an offer to upgrade is not taken: Java clients make one with every first request (H1)', async t => {
  const { url } = await startEdge(t)
  const body = initialize()
  const text = await exchange(
    t,
    url,
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n' +
      `HTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
  t.same(statuses(text), [200])
  t.match(bodyOf(text), { result: { protocolVersion: '2025-11-25' } })
})

t.test('only the exact path is there; what resembles it is 404 before any backend (A14)', async t => {
  const { url, server } = await startEdge(t, {
    routes: { '/mcp': { backends: ['docs'] }, '/a/b': { backends: ['docs'] } }
  })
  const paths = [
    '/',
    '/mcp/',
    '//mcp',
    '/mcp//',
    '/MCP',
    '/mcpx',
    '/mc',
    '/mcp/x',
    '/%6dcp',
    '/mc%70',
    '/mcp%00',
    '/mcp%20',
    '/mcp%2f',
    '/mcp%3f',
    '/mcp#x',
    '/mcp;x=y',
    '/./mcp',
    '/a/../mcp',
    '/a/%2e%2e/mcp',
    '/a%2fb',
    '/a/b/',
    '/a//b',
    '/%zz',
    '/mcp%zz',
    '/mcp%',
    '/%c0%af',
    '/*',
    '/:x',
    '/healthz',
    '/metrics',
    '/authorize',
    '/token',
    '/register',
    `/${'x'.repeat(4000)}`
  ]
  const headers = { 'content-type': 'application/json' }
  for (const path of paths) {
    for (const method of ['POST', 'GET', 'DELETE', 'PUT', 'PROPFIND']) {
      await t.test(`${method} ${path.slice(0, 40)}`, async t =>
        isRefusal(t, await send(url, { method, path, headers, body: initialize() }), 404, -32600)
      )
    }
  }
  t.same(server.heard, [])
  for (const path of ['/mcp', '/a/b', '/mcp?x=1', '/mcp?', '/mcp?/../x']) {
    t.equal((await send(url, { path, headers, body: initialize() })).status, 200, path)
  }
})

t.test(
  'a GET is 405 only where there is no stream to have, 404 only where there is no session (HDR-08, R11)',
  async t => {
    const { url } = await startEdge(t)
    const client = await RawClient.open(url)
    const none = await client.get(undefined, { 'mcp-session-id': undefined })
    isRefusal(t, none, 405, -32600)
    t.equal(none.headers.allow, 'POST')
    isRefusal(t, await client.get(undefined, { accept: 'application/json' }), 406, -32600)
    isRefusal(t, await client.get(undefined, { accept: 'text/event-stream;q=0, */*' }), 406, -32600)
    for (const accept of ['*/*', undefined, 'text/*', 'Text/Event-Stream;charset=utf-8']) {
      const stream = await client.get(undefined, { accept })
      t.equal(stream.status, 200, `Accept: ${accept}`)
      stream.destroy()
    }
  }
)

t.test('DELETE ends the session with 204 and nothing else, whatever its Content-Type (R12)', async t => {
  const { url, upstream } = await startEdge(t)
  for (const type of [undefined, 'application/json', 'text/plain', 'no media type']) {
    const client = await RawClient.open(url)
    const { status, text, headers } = await client.delete({ 'content-type': type })
    t.equal(status, 204, `Content-Type: ${type}`)
    t.equal(text, '')
    t.equal(headers['content-type'], undefined)
    t.equal((await client.delete()).status, 404)
    t.equal((await client.get()).status, 404)
    t.equal((await client.request('ping')).status, 404)
  }
  isRefusal(t, await send(url, { method: 'DELETE' }), 400, -32600)
  t.ok(upstream.seenOf('DELETE').length > 0, 'the upstream session was ended too')
})

t.test('requests on one connection are answered in order, whatever they are', async t => {
  const { url } = await startEdge(t)
  const wire = await connect(t, url)
  const body = initialize()
  const post = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  wire.write(
    `PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc${post}GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n`
  )
  wire.write('HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  t.same(statuses((await wire.whole()).text), [405, 200, 404, 405])
})
