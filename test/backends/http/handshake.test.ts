import type { ServerResponse } from 'node:http'
import t from 'tap'
import { HttpBackend } from '../../../src/backends/http/backend.ts'
import { makeResult } from '../../../src/protocol/make.ts'
import { bench, call, failure, texts } from '../../helpers/http.ts'
import { until } from '../../helpers/until.ts'

const isInitialized = (body: string): boolean => body.includes('"notifications/initialized"')

const sloppy: [string, (response: ServerResponse) => void, boolean][] = [
  ['200 without a body', response => response.writeHead(200).end(), false],
  ['200 null', response => response.writeHead(200, { 'content-type': 'application/json' }).end('null'), false],
  ['204', response => response.writeHead(204).end(), false],
  ['202 with text', response => response.writeHead(202, { 'content-type': 'text/plain' }).end('Accepted'), false],
  ['200 {}', response => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'), false],
  [
    'a stream that stays open',
    response => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':'),
    false
  ],
  ['a body without an end', response => void response.writeHead(200).write('x'.repeat(100_000)), false],
  ['400', response => response.writeHead(400).end(), true],
  ['404', response => response.writeHead(404).end(), true],
  ['500', response => response.writeHead(500).end('oh'), true],
  ['a reset', response => response.socket?.resetAndDestroy(), true]
]

for (const [what, answer, noticed] of sloppy) {
  t.test(`notifications/initialized may be answered with ${what} (HDR-06, R194)`, async t => {
    const on = await bench(t, {
      intercept: (_request, response, body) => {
        if (!isInitialized(body)) return false
        answer(response)
        return true
      }
    })
    const link = await on.open()
    t.match(await texts(call(link, 'echo')), [/"id":7,/])
    t.equal(
      on.notices.some(({ text }) => text.includes('notifications/initialized')),
      noticed
    )
  })
}

t.test("every later request carries this leg's version and session, and the first none (VER-06)", async t => {
  const on = await bench(t)
  on.server.initializeResult = '{"protocolVersion":"2025-06-18","capabilities":{}}'
  const link = await on.open()
  await texts(call(link, 'echo'))
  link.listen(true)
  const [session] = on.upstream.sessions
  await link.close()
  const [initialize, ...later] = on.upstream.seen
  t.equal(initialize!.headers['mcp-protocol-version'], undefined)
  t.equal(initialize!.headers['mcp-session-id'], undefined)
  t.ok(later.length >= 3)
  for (const { headers } of later) {
    t.equal(headers['mcp-protocol-version'], '2025-06-18')
    t.equal(headers['mcp-session-id'], session)
  }
  t.equal(on.upstream.sessions.size, 0, 'the session was deleted')
})

t.test('requests carry what the gateway writes and what is configured, and nothing else (HTP-06)', async t => {
  const on = await bench(t, {}, { headers: { Authorization: 'Bearer abc', 'X-Tenant': 'ä' } })
  const link = await on.open()
  await texts(call(link, 'echo'))
  for (const { headers, method } of on.upstream.seen) {
    t.equal(method, 'POST')
    t.match(headers, { authorization: 'Bearer abc', 'x-tenant': 'ä', 'accept-encoding': 'identity' })
    t.equal(headers.accept, 'application/json, text/event-stream')
    t.equal(headers['content-type'], 'application/json')
    const names = ['accept', 'accept-encoding', 'authorization', 'connection', 'content-length', 'content-type', 'host']
    const known = new Set([...names, 'mcp-protocol-version', 'mcp-session-id', 'x-tenant'])
    t.same(
      Object.keys(headers).filter(name => !known.has(name)),
      []
    )
  }
  on.backend.tune({ headers: { Authorization: 'Bearer def' } })
  await texts(call(link, 'echo'))
  t.equal(on.upstream.seen.at(-1)!.headers.authorization, 'Bearer def')
})

t.test('an upstream without sessions gets no session header and no DELETE', async t => {
  const on = await bench(t, { sessions: false })
  const link = await on.open()
  await texts(call(link, 'echo'))
  await link.close()
  t.ok(on.upstream.seen.every(({ method, headers }) => method === 'POST' && headers['mcp-session-id'] === undefined))
})

t.test('initialize may be answered on a stream with other messages before it, and a long session id', async t => {
  const session = '!~'.repeat(300)
  const on = await bench(t, {
    intercept: (_request, response, body) => {
      if (!body.includes('"initialize"')) return false
      on.upstream.sessions.add(session)
      response.writeHead(200, { 'content-type': 'Text/Event-Stream; charset=utf-8', 'mcp-session-id': session })
      response.write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n')
      response.write('data: {"jsonrpc":"2.0","id":"a","method":"ping"}\n\n')
      response.end(`data: {"jsonrpc":"2.0","id":"1","result":${on.server.initializeResult}}\n\n`)
      return true
    }
  })
  const link = await on.open()
  t.same(
    on.received.map(({ method }) => method),
    ['notifications/message']
  )
  t.match(await texts(call(link, 'echo')), [/"id":7,/])
})

for (const [what, session] of [
  ['a space in it', 'a b'],
  ['letters beyond ASCII', 'ä'],
  ['too many characters', 'x'.repeat(1025)]
] as const) {
  t.test(`a session id with ${what} is refused`, async t => {
    const on = await bench(t, {
      intercept: (_request, response, body) => {
        if (!body.includes('"initialize"')) return false
        response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session })
        response.end(`{"jsonrpc":"2.0","id":1,"result":${on.server.initializeResult}}`)
        return true
      }
    })
    await t.rejects(on.open(), { code: 'backend_invalid', backend: 'docs' })
  })
}

t.test('a session that was opened for nothing is deleted', async t => {
  const on = await bench(t)
  on.server.initializeResult = '{"protocolVersion":"1999-01-01"}'
  await t.rejects(on.open(), { code: 'backend_invalid' })
  await until('the DELETE', () => on.upstream.sessions.size === 0)
  on.server.initializeResult = '[]'
  await t.rejects(on.open(), { code: 'backend_invalid' })
})

t.test(
  'an upstream that is not there is backend_unavailable, says no address, and is told as down once (B1)',
  async t => {
    const on = await bench(t)
    const link = await on.open()
    const { port } = on.upstream
    await on.upstream.close()
    // A connection whose end was not noticed yet may take one call with it.
    await until('it is noticed', async () => (await failure(call(link, 'echo'))).code === 'backend_unavailable')
    const error = await failure(call(link, 'echo'))
    t.notMatch(JSON.stringify([error.message, error.data]), String(port))
    t.equal((await failure(call(link, 'echo'))).code, 'backend_unavailable')
    await t.rejects(on.open(), { code: 'backend_unavailable' })
    await t.rejects(link.send(makeResult('1', {})), {
      code: 'backend_unavailable'
    })
    t.match(on.backends, [
      { backend: 'docs', up: true },
      { backend: 'docs', up: false, reason: 'ECONNREFUSED' }
    ])
    t.equal(on.backends.length, 2)
    on.upstream.close = async () => {}
  }
)

t.test('an upstream that takes connections and resets them is told as down, until it answers (B1)', async t => {
  let resets = true
  const on = await bench(t, {
    intercept(request) {
      if (resets) request.socket.resetAndDestroy()
      return resets
    }
  })
  for (let i = 0; i < 2; i++) await t.rejects(on.open(), { code: 'backend_broke' })
  t.match(on.backends, [{ backend: 'docs', up: false, reason: /ECONNRESET|UND_ERR_SOCKET/ }])
  t.equal(on.backends.length, 1)
  resets = false
  const link = await on.open()
  t.match(on.backends.slice(1), [{ backend: 'docs', up: true }])
  resets = true
  t.equal((await failure(call(link, 'echo'))).code, 'backend_broke')
  t.equal(on.backends.length, 2, 'one call that breaks says nothing of others')
})

t.test('an opening that was given up before it began contacts nobody for long', async t => {
  const on = await bench(t)
  await t.rejects(on.open({ signal: AbortSignal.abort(new Error('no')) }), { code: 'backend_unavailable' })
})

t.test('an opening that is given up during its last step leaves no session behind', async t => {
  const controller = new AbortController()
  const on = await bench(t, {
    intercept: (_request, _response, body) => {
      if (isInitialized(body)) controller.abort(new Error('enough'))
      return false
    }
  })
  await t.rejects(on.open({ signal: controller.signal }), { code: 'backend_unavailable' })
  await until('the DELETE', () => on.upstream.sessions.size === 0)
})

t.test('identity is of name and address', async t => {
  const on = await bench(t)
  const same = new HttpBackend({ name: on.backend.name, url: on.upstream.url, headers: { a: 'b' }, timeout: 1 })
  const other = new HttpBackend({ name: 'docs', url: `${on.upstream.url}&x=1` })
  t.equal(same.identity, on.backend.identity)
  t.not(other.identity, on.backend.identity)
  const named = new HttpBackend({ name: 'other', url: on.upstream.url })
  t.not(named.identity, on.backend.identity, 'two may have one address')
  await Promise.all([same.close(), other.close(), named.close()])
})

t.test('whoever answers a notification without end is cut off', async t => {
  let cut = 0
  const on = await bench(t, {
    intercept: (_request, response, body) => {
      if (!isInitialized(body)) return false
      response.on('close', () => cut++)
      response.writeHead(200).write('x'.repeat(100_000))
      return true
    }
  })
  await on.open()
  await until('the cut', () => cut === 1)
})
