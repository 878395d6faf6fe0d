/** The listener in front of a gateway that the test plays itself. */
import t, { type Test } from 'tap'
import { type Authenticator, anonymous } from '../../src/auth/principal.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { GatewayError } from '../../src/errors.ts'
import type { Answer } from '../../src/gateway/answer.ts'
import type { Gateway } from '../../src/http/incoming.ts'
import type { Level } from '../../src/http/pressure.ts'
import { fromFastify } from '../../src/http/reply.ts'
import { createServer, type HttpServer } from '../../src/http/server.ts'
import type { Reader } from '../../src/streams/reader.ts'
import { facts, type NoticeFact } from '../../src/telemetry/events.ts'
import { send } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'
import { connect } from '../helpers/wire.ts'

const json = { 'content-type': 'application/json' }
const accepted: Answer = { kind: 'accepted' }

interface Parts {
  readonly gateway?: Partial<Gateway>
  readonly authenticate?: Authenticator['authenticate']
  readonly stallMs?: number
  readonly pressure?: { readonly level: Level }
}

const backend = {} as Backend
const served = { backend, backends: [backend], union: undefined }

async function start(
  t: Test,
  { gateway, authenticate, stallMs = 30_000, pressure = { level: 'none' } }: Parts
): Promise<{ url: string; server: HttpServer }> {
  const whole: Gateway = {
    post: async () => accepted,
    get: async () => accepted,
    delete: async () => ({ kind: 'deleted' }),
    ...gateway
  }
  const server = await createServer(
    whole,
    { find: path => (path === '/mcp' ? { path, versions: ['2025-11-25'], ...served } : undefined) },
    { authenticate: authenticate ?? (() => anonymous) },
    pressure,
    {
      host: '127.0.0.1',
      publicUrl: undefined,
      allowedOrigins: undefined,
      allowedHosts: [],
      trustProxy: [],
      bodyLimit: 10_000,
      maxConnections: 100,
      headersTimeoutMs: 15_000,
      requestTimeoutMs: 30_000,
      keepAliveMs: 15_000,
      stallMs,
      highWater: 1
    }
  )
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${await server.listen(0)}/mcp`, server }
}

/** A gateway whose GET is an event stream in the hands of the test. */
function streaming(): { readonly gateway: Partial<Gateway>; readonly reader: Promise<Reader> } {
  const { promise, resolve } = Promise.withResolvers<Reader>()
  return { gateway: { get: async () => ({ kind: 'stream', run: resolve }) }, reader: promise }
}

t.test('authentication comes after the preflight and before HTTP method and media types (R23, A2)', async t => {
  for (const wait of [false, true]) {
    const refuse = (): never => {
      throw new GatewayError('session_required', 'who are you', { headers: { 'www-authenticate': 'Bearer x' } })
    }
    const { url } = await start(t, { authenticate: wait ? async () => refuse() : refuse })
    const origin = { origin: 'http://localhost:1' }
    t.equal((await send(url, { method: 'OPTIONS', headers: origin })).status, 204, 'a preflight carries no token')
    for (const method of ['POST', 'GET', 'DELETE', 'PUT', 'PROPFIND']) {
      const { json, headers } = await send(url, { method, headers: origin })
      t.equal(json.error.data.reason, 'session_required', `${method}, ${wait ? 'later' : 'at once'}`)
      t.equal(headers['www-authenticate'], 'Bearer x')
      t.equal(headers['access-control-allow-origin'], 'http://localhost:1')
      t.match(headers['access-control-expose-headers'], /WWW-Authenticate/)
    }
    t.equal((await send(url, { headers: { origin: 'null' } })).json.error.data.reason, 'origin')
    t.equal((await send(url, { path: '/x' })).json.error.data.reason, 'path')
  }
})

t.test('who is calling is known to the gateway, also when it took a while to find out', async t => {
  const seen: unknown[] = []
  const { url } = await start(t, {
    authenticate: async ({ authorization, address }) => ({ key: `${authorization} from ${address}` }),
    gateway: {
      post: async ({ principal, address, body, accepts, session, version }) => {
        seen.push({ principal, address, body: body.toString(), accepts, session, version })
        return accepted
      }
    }
  })
  const headers = {
    ...json,
    authorization: 'Bearer a',
    'mcp-session-id': 's',
    'mcp-protocol-version': 'v',
    accept: 'application/json'
  }
  t.equal((await send(url, { headers, body: '{}' })).status, 202)
  t.same(seen, [
    {
      principal: { key: 'Bearer a from 127.0.0.1' },
      address: '127.0.0.1',
      body: '{}',
      accepts: { json: true, sse: false },
      session: 's',
      version: 'v'
    }
  ])
})

t.test('short of memory or time only DELETE is served: the others are told to come back (P4)', async t => {
  const pressure: { level: Level } = { level: 'high' }
  const { url } = await start(t, { pressure })
  const post = () => send(url, { method: 'POST', headers: json, body: '{}' })
  t.equal((await post()).status, 202)
  pressure.level = 'full'
  for (const method of ['POST', 'GET']) {
    const {
      status,
      headers,
      json: body
    } = await send(url, { method, headers: json, body: method === 'POST' ? '{}' : '' })
    t.match({ status, headers, body }, { status: 503, headers: { 'retry-after': '5', connection: 'close' } }, method)
    t.equal(body?.error?.data?.reason, 'overloaded', method)
  }
  t.equal((await send(url, { method: 'DELETE' })).status, 204)
  pressure.level = 'none'
  t.equal((await post()).status, 202)
})

t.test('a fault of the gateway is 500 without a word of what it was; the operator is told (HTP-08)', async t => {
  const notices: NoticeFact[] = []
  t.teardown(facts.notice.subscribe(notice => void notices.push(notice)))
  const { url } = await start(t, { gateway: { post: async () => Promise.reject(new Error('secret')) } })
  const { status, json: body, text } = await send(url, { headers: json, body: '{}' })
  t.equal(status, 500)
  t.match(body, { jsonrpc: '2.0', error: { code: -32603, message: 'internal error', data: { reason: 'internal' } } })
  t.notMatch(text, /secret|\.ts/)
  t.match(notices, [{ level: 'error', error: { message: 'secret' } }])
})

t.test('what Fastify says is said in our words, whatever it is', async t => {
  const coded = (code: string, statusCode?: number): Error => Object.assign(new Error('inner'), { code, statusCode })
  const rows: readonly (readonly [error: unknown, code: string, status: number])[] = [
    [coded('FST_ERR_OF_TOMORROW', 422), 'header', 400],
    [coded('FST_ERR_REP_INVALID_PAYLOAD_TYPE', 500), 'internal', 500],
    [new Error('inner'), 'internal', 500],
    [undefined, 'internal', 500],
    ['text', 'internal', 500],
    [new GatewayError('full', 'inner'), 'full', 503]
  ]
  for (const [error, code, status] of rows) {
    const ours = fromFastify(error)
    t.match(ours, { code, status }, code)
    if (code !== 'full') t.notMatch(ours.message, /inner/)
  }
})

t.test('a reader that is gone before it is handed over says so at once, and takes everything in silence', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { gateway, reader } = streaming()
  let called = false
  const { url, server } = await start(t, {
    gateway: {
      get: async incoming => {
        called = true
        await promise
        return gateway.get!(incoming)
      }
    }
  })
  const wire = await connect(t, url)
  wire.write('GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until('the request is there', () => called)
  wire.socket.destroy()
  await server.finished()
  resolve()
  const gone = await reader
  t.equal(gone.gone, true)
  let told = 0
  gone.onGone(() => told++)
  t.equal(told, 1)
  t.equal(gone.push('a', Buffer.from('{}')), undefined)
  gone.prime('a', 1)
  gone.comment()
  gone.retry(1)
  gone.end()
  t.equal(server.streams, 0)
})

t.test('a reader says when it is behind, and when there is room again, below any mark of ours or of Node', async t => {
  const { gateway, reader } = streaming()
  const { url } = await start(t, { gateway })
  const wire = await connect(t, url)
  wire.write('GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const open = await reader
  t.equal(open.push('1', Buffer.from('{}')), undefined, 'a mark of one byte is none')
  await wire.until(/data: \{\}\n\n/)
  wire.socket.pause()
  for (const size of [1_000, 20_000, 3_000_000]) {
    let room: Promise<void> | undefined
    for (let i = 0; i < 100_000 && room === undefined; i++) room = open.push(undefined, Buffer.alloc(size, 'x'))
    t.ok(room, `messages of ${size} bytes`)
    t.equal(open.push(undefined, Buffer.from('{}')), room, 'one promise for all that wait')
    wire.socket.resume()
    await room
    await wire.until(/data: \{\}\n\n/)
    wire.socket.pause()
  }
  wire.socket.resume()
})

t.test(
  'ends: a clean one has a last chunk, an abrupt one has none, and neither loses what was written before',
  async t => {
    for (const abruptly of [false, true]) {
      const { gateway, reader } = streaming()
      const { url } = await start(t, { gateway })
      const wire = await connect(t, url)
      wire.write('GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      const open = await reader
      let told = 0
      open.onGone(() => told++)
      open.push('1', Buffer.from(`{"a":"${'x'.repeat(50_000)}"}`))
      open.retry(5_000)
      open.end(abruptly)
      open.end()
      await wire.whole()
      t.match(wire.text, abruptly ? /retry: 5000\n\n\r\n$/ : /retry: 5000\n\n\r\n0\r\n\r\n$/)
      t.equal(told, 1)
      t.equal(open.gone, true)
    }
  }
)

t.test('what is left of a stream that is over waits for a reader no longer than an open one would (E1)', async t => {
  const { gateway, reader } = streaming()
  const { url, server } = await start(t, { gateway, stallMs: 100 })
  const wire = await connect(t, url)
  wire.socket.pause()
  wire.write('GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const open = await reader
  open.push('1', Buffer.alloc(20_000_000, 'x'))
  open.end()
  t.equal(server.streams, 0)
  await server.finished()
  wire.socket.resume()
  await wire.until(({ closed, ended }) => closed || ended)
  t.ok(wire.text.length < 20_000_000)
})

t.test('closing ends open streams and waits for nobody', async t => {
  const { gateway, reader } = streaming()
  const { url, server } = await start(t, { gateway })
  const response = await send(url, { method: 'GET' })
  await reader
  t.equal(server.streams, 1)
  const idle = await connect(t, url)
  await server.close()
  await response.events.whole()
  await idle.until(({ closed, ended }) => closed || ended)
  t.equal(server.streams, 0)
  await server.finished()
})

t.test('an address that cannot be had is told', async t => {
  const { url } = await start(t, {})
  const second = await createServer(
    { post: async () => accepted, get: async () => accepted, delete: async () => accepted },
    { find: () => undefined },
    { authenticate: () => anonymous },
    { level: 'none' },
    {
      host: '127.0.0.1',
      publicUrl: undefined,
      allowedOrigins: undefined,
      allowedHosts: [],
      trustProxy: [],
      bodyLimit: 1,
      maxConnections: 1,
      headersTimeoutMs: 2_000,
      requestTimeoutMs: 1_000,
      keepAliveMs: 1,
      stallMs: 1,
      highWater: 1
    }
  )
  await t.rejects(second.listen(Number(new URL(url).port)), { code: 'EADDRINUSE' })
  await second.close()
})
