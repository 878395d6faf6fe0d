import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { type AdminOptions, type AdminTarget, createAdmin } from '../../src/http/admin.ts'
import type { Message } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'
import { facts, type NoticeFact } from '../../src/telemetry/events.ts'

const target = (over: Partial<AdminTarget> = {}): AdminTarget => ({
  ready: () => true,
  status: () => ({ state: 'serving', backends: [{ name: 'docs', kind: 'http', state: 'up', inflight: 2 }] }),
  metrics: async () => ({ contentType: 'text/plain; version=0.0.4; charset=utf-8', text: 'causeway_sessions 1\n' }),
  broadcast: async () => 0,
  ...over
})

const start = async (t: Test, over?: Partial<AdminTarget>, options?: AdminOptions): Promise<number> => {
  const admin = await createAdmin(target(over), options)
  t.teardown(() => admin.close())
  return (await admin.listen('127.0.0.1', 0)).port
}

interface Ask {
  readonly path: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | undefined
}

const ask = async (
  port: number,
  { path, method = 'GET', headers = {}, body }: Ask
): Promise<{ status: number; headers: IncomingMessage['headers']; body: string }> => {
  const request = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false }).end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode!, headers: response.headers, body: await text(response) }
}

const post = (port: number, body: string, headers: Record<string, string> = {}) =>
  ask(port, { path: '/broadcast', method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })

t.test('/healthz says 200 also while the gateway is not ready', async t => {
  const port = await start(t, { ready: () => false })
  const { status, body } = await ask(port, { path: '/healthz' })
  t.equal(status, 200)
  t.same(JSON.parse(body), { status: 'ok' })
})

t.test('/readyz is 200 when ready and 503 while starting or draining', async t => {
  let ready = false
  const port = await start(t, { ready: () => ready })
  t.equal((await ask(port, { path: '/readyz' })).status, 503)
  ready = true
  const { status, body } = await ask(port, { path: '/readyz' })
  t.equal(status, 200)
  t.same(JSON.parse(body), { ready: true })
})

t.test('/readyz?verbose tells the state of each backend', async t => {
  const port = await start(t, { ready: () => false })
  const { status, body } = await ask(port, { path: '/readyz?verbose' })
  t.equal(status, 503)
  t.same(JSON.parse(body), {
    ready: false,
    state: 'serving',
    backends: [{ name: 'docs', kind: 'http', state: 'up', inflight: 2 }]
  })
})

t.test('/metrics has the content type that the registry gives', async t => {
  const port = await start(t)
  const { status, headers, body } = await ask(port, { path: '/metrics' })
  t.equal(status, 200)
  t.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  t.equal(body, 'causeway_sessions 1\n')
})

t.test('a broadcast reaches the gateway with its params byte for byte', async t => {
  const heard: [string, Message][] = []
  const port = await start(t, {
    broadcast: async (route, notification) => {
      heard.push([route, notification])
      return 3
    }
  })
  const params = '{ "big": 9007199254740993, "float": 1.0, "z": null, "a": [] }'
  const method = 'notifications/tools/list_changed'
  const { status, body } = await post(
    port,
    `{"notification": {"params": ${params}, "method": "${method}"}, "route": "/mcp"}`
  )
  t.equal(status, 202)
  t.same(JSON.parse(body), { sessions: 3 })
  t.equal(heard.length, 1)
  t.equal(heard[0]![0], '/mcp')
  t.equal(heard[0]![1].kind, 'notification')
  t.equal(bytes(heard[0]![1]).toString(), `{"jsonrpc":"2.0","method":"${method}","params":${params}}`)
  t.equal((await post(port, `{"route":"/mcp","notification":{"jsonrpc":"2.0","method":"${method}"}}`)).status, 202)
  t.equal(bytes(heard[1]![1]).toString(), `{"jsonrpc":"2.0","method":"${method}"}`)
})

t.test('a broadcast to a route that is not there is 404', async t => {
  const port = await start(t, { broadcast: () => Promise.reject(new GatewayError('path', 'no route has this path')) })
  const { status, body } = await post(port, '{"route":"/none","notification":{"method":"notifications/x"}}')
  t.equal(status, 404)
  t.same(JSON.parse(body), { error: { code: 'path', message: 'no route has this path' } })
})

t.test('a broadcast that is no notification is 400 and reaches nobody', async t => {
  let heard = 0
  const port = await start(t, { broadcast: async () => heard++ })
  const refused = {
    'an empty body': '',
    'no JSON': '{"route":',
    'no object': '[]',
    'bad UTF-8 would not even parse': '"x"',
    'no route': '{"notification":{"method":"notifications/x"}}',
    'a route that is no path': '{"route":"mcp","notification":{"method":"notifications/x"}}',
    'no notification': '{"route":"/mcp"}',
    'a notification that is text': '{"route":"/mcp","notification":"notifications/x"}',
    'a request': '{"route":"/mcp","notification":{"id":1,"method":"notifications/x"}}',
    'a response': '{"route":"/mcp","notification":{"result":{},"method":"notifications/x"}}',
    'a method of its own': '{"route":"/mcp","notification":{"method":"tools/call"}}',
    'a method with a line break': '{"route":"/mcp","notification":{"method":"notifications/x\\ny"}}',
    'params that are a list': '{"route":"/mcp","notification":{"method":"notifications/x","params":[]}}',
    'another JSON-RPC': '{"route":"/mcp","notification":{"jsonrpc":"1.0","method":"notifications/x"}}',
    'a member too many': '{"route":"/mcp","to":"all","notification":{"method":"notifications/x"}}',
    'two routes': '{"route":"/a","route":"/b","notification":{"method":"notifications/x"}}',
    'params too deep': `{"route":"/mcp","notification":{"method":"notifications/x","params":{"a":${'['.repeat(70)}${']'.repeat(70)}}}}`
  }
  for (const [what, body] of Object.entries(refused)) {
    const answer = await post(port, body)
    t.equal(answer.status, 400, what)
    t.match(JSON.parse(answer.body), { error: { code: String, message: String } }, what)
  }
  t.equal(heard, 0)
})

t.test('a broadcast is bounded in size and must be JSON', async t => {
  const port = await start(t, {}, { bodyLimit: 200 })
  const large = await post(
    port,
    `{"route":"/mcp","notification":{"method":"notifications/x","params":{"a":"${'x'.repeat(200)}"}}}`
  )
  t.equal(large.status, 413)
  t.equal(JSON.parse(large.body).error.code, 'too_large')
  // What a form of a web page could send without asking.
  const form = await post(port, '{"route":"/mcp","notification":{"method":"notifications/x"}}', {
    'content-type': 'text/plain'
  })
  t.equal(form.status, 415)
  t.equal(JSON.parse(form.body).error.code, 'media_type')
})

t.test('a name that is not ours in Host is refused: DNS rebinding (C7)', async t => {
  const port = await start(t, {}, { allowedHosts: ['causeway.internal', 'gateway:9090'] })
  const status = async (host: string) => (await ask(port, { path: '/metrics', headers: { host } })).status
  const own = ['127.0.0.1', `127.0.0.1:${port}`, '10.1.2.3:9090', '[::1]:9090', 'localhost', 'LOCALHOST:1']
  for (const host of [...own, 'causeway.internal', 'Causeway.Internal:9090', 'gateway:9090']) {
    t.equal(await status(host), 200, host)
  }
  const foreign = ['evil.example', 'evil.example:9090', 'localhost.evil.example', '127.0.0.1.evil.example']
  for (const host of [...foreign, 'gateway:9091', 'u@localhost', '127.0.0.1:x', 'localhost:1:2', '[::1', '[evil]']) {
    t.equal(await status(host), 403, host)
  }
  t.equal(
    (await ask(port, { path: '/none', headers: { host: 'evil.example' } })).status,
    403,
    'before the path is told'
  )
})

t.test('a health check in HTTP/1.0 needs no Host', async t => {
  const port = await start(t)
  const socket = connect(port, '127.0.0.1')
  socket.end('GET /readyz HTTP/1.0\r\n\r\n')
  t.match(await text(socket), /^HTTP\/1\.[01] 200 /)
})

t.test('requests of web pages are refused, whatever their origin (C7)', async t => {
  const port = await start(t)
  for (const origin of ['http://localhost:3000', 'null', 'https://evil.example']) {
    const { status, body } = await ask(port, { path: '/metrics', headers: { origin } })
    t.equal(status, 403, origin)
    t.equal(JSON.parse(body).error.code, 'origin')
  }
})

t.test('every answer carries the security headers', async t => {
  const port = await start(t, { metrics: () => Promise.reject(new Error('broken')) })
  const expected = { '/healthz': 200, '/readyz': 200, '/metrics': 500, '/none': 404 }
  for (const [path, status] of Object.entries(expected)) {
    const answer = await ask(port, { path })
    t.equal(answer.status, status, path)
    t.match(answer.headers, {
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store'
    })
  }
})

t.test('other paths are 404 and other methods 405, as JSON', async t => {
  const port = await start(t)
  const missing = await ask(port, { path: '/nothing/here' })
  t.equal(missing.status, 404)
  t.equal(JSON.parse(missing.body).error.code, 'path')
  const wrong = await ask(port, { path: '/metrics?x=1', method: 'DELETE' })
  t.equal(wrong.status, 405)
  t.equal(wrong.headers.allow, 'GET, HEAD')
  t.equal((await ask(port, { path: '/broadcast' })).headers.allow, 'POST')
  t.equal((await ask(port, { path: '/healthz', method: 'HEAD' })).status, 200)
})

t.test('a fault of the gateway is told to the log and not to the caller', async t => {
  const notices: NoticeFact[] = []
  t.teardown(facts.notice.subscribe(notice => void notices.push(notice)))
  const failures = [new Error('password is hunter2'), new GatewayError('internal', 'the store said: hunter2')]
  const port = await start(t, { status: () => Promise.reject(failures.shift()) })
  for (let i = 0; i < 2; i++) {
    const { status, body } = await ask(port, { path: '/readyz?verbose' })
    t.equal(status, 500)
    t.same(JSON.parse(body), { error: { code: 'internal', message: 'internal error' } })
  }
  t.match(notices, [
    { level: 'error', text: 'admin: GET /readyz failed', error: { message: 'password is hunter2' } },
    { level: 'error', error: { message: 'the store said: hunter2' } }
  ])
})

t.test('an address that is taken is an error of listen, and close still works', async t => {
  const port = await start(t)
  const second = await createAdmin(target())
  await t.rejects(second.listen('127.0.0.1', port), { code: 'EADDRINUSE' })
  await second.close()
})

t.test('close does not wait for scrapers that keep their connection', async t => {
  const admin = await createAdmin(target())
  const { port } = await admin.listen('127.0.0.1', 0)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(socket, 'data')
  const gone = once(socket, 'close')
  await admin.close()
  await gone
  t.ok(socket.destroyed)
})
