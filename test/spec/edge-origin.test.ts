/** Host, Origin and CORS on real sockets (decisions "Host", "Origin"; R19-R22; ORG-01, ORG-03, ORG-05; S9, H19). */
import t from 'tap'
import { initialize, isRefusal, startEdge } from '../helpers/edge.ts'
import { freePorts } from '../helpers/ports.ts'
import { RawClient, send } from '../helpers/raw-client.ts'
import { bodyOf, exchange, statuses } from '../helpers/wire.ts'

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const methods = ['POST', 'GET', 'DELETE', 'OPTIONS'] as const
const page = 'http://localhost:3000'

t.test('a Host that is not ours is refused for every method, before anything runs (R20, ORG-03)', async t => {
  const { url, server } = await startEdge(t, { server: { allowedHosts: ['mcp.example.com'] } })
  for (const host of ['evil.test', 'evil.test:8080', 'localhost.evil.test', '127.0.0.1.']) {
    for (const method of methods) {
      await t.test(`${method}, Host: ${host}`, async t =>
        isRefusal(t, await send(url, { method, headers: { ...json, host }, body: initialize() }), 403, -32600)
      )
    }
  }
  for (const host of ['localhost', 'LOCALHOST:9999', '[::1]:8080', '127.0.0.1', 'mcp.example.com:443']) {
    t.equal((await send(url, { headers: { ...json, host }, body: initialize() })).status, 200, `Host: ${host}`)
  }
  const forwarded = { ...json, 'x-forwarded-host': 'evil.test', forwarded: 'host=evil.test' }
  t.equal((await send(url, { headers: forwarded, body: initialize() })).status, 200, 'other headers are not the Host')
  t.equal(server.heardOf('initialize').length, 6)
})

t.test('the host of publicUrl is ours (R20)', async t => {
  const [port] = await freePorts(1)
  await startEdge(t, { server: { port, publicUrl: 'https://mcp.example.com/' } })
  const url = `http://127.0.0.1:${port}/mcp`
  t.equal((await send(url, { headers: { ...json, host: 'MCP.example.com' }, body: initialize() })).status, 200)
  isRefusal(t, await send(url, { headers: { ...json, host: 'example.com' }, body: initialize() }), 403, -32600)
})

t.test('no Host, two of them, and a target for another host (ORG-03, H1)', async t => {
  const { url, server } = await startEdge(t)
  const rest = `Content-Type: application/json\r\nContent-Length: 2\r\n`
  const rows: readonly (readonly [name: string, request: string, status: number])[] = [
    ['HTTP/1.1 without Host', `POST /mcp HTTP/1.1\r\nConnection: close\r\n${rest}\r\n{}`, 400],
    ['HTTP/1.0 without Host', `POST /mcp HTTP/1.0\r\n${rest}\r\n{}`, 400],
    ['two', `POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n${rest}\r\n{}`, 400],
    ['absolute form', `POST http://evil.test/mcp HTTP/1.1\r\nHost: localhost\r\n${rest}\r\n{}`, 403],
    [
      'absolute form, both',
      `POST http://evil.test/mcp HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n${rest}\r\n{}`,
      403
    ]
  ]
  for (const [name, request, status] of rows) {
    await t.test(name, async t => {
      const text = await exchange(t, url, request)
      t.same(statuses(text), [status])
      t.match(bodyOf(text), { error: { code: -32600 } })
    })
  }
  const same = `GET http://localhost/mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
  t.same(statuses(await exchange(t, url, same)), [405], 'the absolute form of our own name is a path like another')
  t.same(server.heard, [])
})

t.test('an Origin that is not allowed is refused for every method, before the session (R19, ORG-01)', async t => {
  const { url, server } = await startEdge(t)
  const client = await RawClient.open(url)
  const heard = server.heard.length
  const origins = [
    'https://evil.test',
    'null',
    '',
    'http://localhost.evil.test',
    `${page}/`,
    `${page}, https://evil.test`
  ]
  for (const origin of origins) {
    for (const method of methods) {
      await t.test(`${method}, Origin: ${origin}`, async t => {
        const headers = { ...client.headers, origin, 'mcp-session-id': 'unknown' }
        const response = await send(url, { method, headers, ...(method === 'POST' ? { body: initialize() } : {}) })
        isRefusal(t, response, 403, -32600)
        t.equal(response.headers['access-control-allow-origin'], undefined)
      })
    }
  }
  isRefusal(t, await send(url, { headers: { ...json, origin: [page, page] }, body: initialize() }), 403, -32600)
  t.equal(server.heard.length, heard, 'nothing ran')
  t.equal((await client.request('ping', {}, { origin: page })).status, 200)
})

t.test('a form or a beacon of another page gets nowhere (ORG-05)', async t => {
  const { url, server } = await startEdge(t)
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    undefined
  ]) {
    const body = initialize()
    isRefusal(t, await send(url, { headers: { 'content-type': type, origin: 'https://evil.test' }, body }), 403, -32600)
    isRefusal(t, await send(url, { headers: { 'content-type': type }, body }), 415, -32600)
  }
  t.same(server.heard, [])
})

t.test('a preflight says what pages may send, without authentication and without a session (R22, H19)', async t => {
  const { url } = await startEdge(t)
  const asked =
    'Content-Type, authorization, MCP-SESSION-ID, mcp-protocol-version, last-event-id, mcp-method, mcp-name, ' +
    'mcp-param-x_1, accept, traceparent, x-evil, mcp-param-, cookie'
  const { status, headers, text } = await send(url, {
    method: 'OPTIONS',
    headers: { origin: page, 'access-control-request-method': 'POST', 'access-control-request-headers': asked }
  })
  t.equal(status, 204)
  t.equal(text, '')
  t.equal(headers['access-control-allow-origin'], page)
  t.equal(headers['access-control-allow-credentials'], undefined)
  t.equal(headers['access-control-allow-methods'], 'GET, POST, DELETE, OPTIONS')
  t.equal(
    headers['access-control-allow-headers'],
    'content-type, authorization, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name, ' +
      'mcp-param-x_1, accept, traceparent'
  )
  t.match(headers.vary, /origin/i)
  t.ok(Number(headers['access-control-max-age']) > 0)

  isRefusal(t, await send(url, { method: 'OPTIONS', path: '/other', headers: { origin: page } }), 404, -32600)
  isRefusal(t, await send(url, { method: 'OPTIONS', path: '*', headers: { origin: page } }), 404, -32600)
  const plain = await send(url, { method: 'OPTIONS' })
  isRefusal(t, plain, 405, -32600)
})

t.test('whatever a page gets it may read: results, errors, streams (R22, H19)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  const origin = { origin: page }
  const answers = {
    initialize: await send(url, { headers: { ...json, ...origin }, body: initialize() }),
    result: await client.request('ping', {}, origin),
    notification: await client.post({ method: 'notifications/x' }, origin),
    'stream of a call': await client.post(
      { id: 1, method: 'tools/call', params: { name: 'progress', _meta: { progressToken: 1 } } },
      origin
    ),
    'stream of the session': await client.get(undefined, origin),
    'HTTP method': await send(url, { method: 'PUT', headers: origin }),
    'Content-Type': await send(url, { headers: { ...origin, 'content-type': 'text/plain' }, body: 'x' }),
    Accept: await send(url, { headers: { ...json, ...origin, accept: 'image/png' }, body: '{}' }),
    JSON: await client.post('{', origin),
    session: await client.request('ping', {}, { ...origin, 'mcp-session-id': 'unknown' }),
    'no stream': await send(url, { method: 'GET', headers: origin }),
    DELETE: await client.delete(origin)
  }
  t.same(
    Object.values(answers).map(({ status }) => status),
    [200, 200, 202, 200, 200, 405, 415, 406, 400, 404, 405, 204]
  )
  for (const [name, { headers, destroy }] of Object.entries(answers)) {
    t.equal(headers['access-control-allow-origin'], page, name)
    t.equal(headers['access-control-expose-headers'], 'Mcp-Session-Id, WWW-Authenticate, Retry-After', name)
    t.match(headers.vary, /origin/i, name)
    destroy()
  }
  t.ok(answers.initialize.headers['mcp-session-id'])
})

t.test('without an Origin nothing is said to pages', async t => {
  const { url } = await startEdge(t)
  const { headers } = await send(url, { headers: json, body: initialize() })
  t.same(
    Object.keys(headers).filter(name => name.startsWith('access-control')),
    []
  )
  t.match(headers.vary, /origin/i, 'caches know that it could be otherwise')
})

t.test('by default only this machine reaches the gateway (R21)', async t => {
  const { config, url } = await startEdge(t)
  t.equal(config.server.host, '127.0.0.1')
  t.equal(new URL(url).hostname, '127.0.0.1')
})
