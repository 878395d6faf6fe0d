import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Backend } from '../../../src/backends/backend.ts'
import { createSseBackend, type SseBackendOptions } from '../../../src/backends/sse/backend.ts'
import { makeNotification } from '../../../src/protocol/make.ts'
import { value } from '../../../src/protocol/write.ts'
import { facts } from '../../../src/telemetry/events.ts'
import { freePorts } from '../../helpers/ports.ts'
import { contractTools, Scripted } from '../../helpers/scripted.ts'
import { SseUpstream, type SseUpstreamOptions } from '../../helpers/sse-upstream.ts'
import { all, call, open, textOf } from '../../helpers/stdio.ts'
import { until } from '../../helpers/until.ts'

async function setUp(t: Test, options: SseUpstreamOptions = {}, own: Partial<SseBackendOptions> = {}) {
  const upstream = await SseUpstream.start(contractTools(new Scripted()), options)
  const backend: Backend = createSseBackend({ name: 'old', url: upstream.url, timeout: 5_000, ...own })
  t.teardown(async () => {
    await backend.close()
    await upstream.close()
  })
  return { upstream, backend, server: upstream.server }
}

t.test('BKD-06 comments and other events before the endpoint are skipped', async t => {
  const { backend, upstream } = await setUp(t, {
    begin: (stream, session) => {
      stream.write(': keep-alive\n\nevent: ping\ndata: {}\n\ndata: {"early":1}\n\n')
      setTimeout(() => stream.write(`event: endpoint\r\ndata: /mcp1/messages?sid=${session}\r\n\r\n`), 20)
    }
  })
  const { link } = await open(backend)
  t.equal(await textOf(call(link, 'echo', { x: 1 })), '{"x":1}')
  t.same([...new Set(upstream.seen.map(({ url }) => url))], ['/mcp1/sse?tenant=a%20b', '/mcp1/messages?sid=1'])
})

t.test('BKD-06 a stream that names no endpoint is given up in time', async t => {
  const { backend, upstream } = await setUp(t, { begin: stream => void stream.write(': hello\n\n') }, { timeout: 100 })
  await t.rejects(open(backend), { code: 'timeout', backend: 'old' })
  await until('the stream is closed', () => upstream.streams.size === 0)
})

t.test('BKD-05 c d e g h a bad endpoint fails the opening without a request to anybody', async t => {
  const other: string[] = []
  const elsewhere = createServer(socket => {
    other.push('connected')
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  t.teardown(() => elsewhere.close())
  const { port } = elsewhere.address() as { port: number }
  for (const endpoint of [
    `http://127.0.0.1:${port}/x`,
    `//127.0.0.1:${port}/m`,
    'javascript:1',
    `/${'x'.repeat(50_000)}`
  ]) {
    const { backend, upstream } = await setUp(t, {
      begin: stream => void stream.write(`event: endpoint\ndata: ${endpoint}\n\n`)
    })
    await t.rejects(open(backend), { code: 'backend_invalid', backend: 'old' })
    t.same(upstream.seenOf('POST'), [])
    await until('the stream is closed', () => upstream.streams.size === 0)
  }
  t.same(other, [])
})

t.test('BKD-05 f a second endpoint is ignored', async t => {
  const { backend, upstream } = await setUp(t)
  const { link } = await open(backend)
  for (const endpoint of ['/elsewhere', 'http://169.254.169.254/x']) {
    upstream.streams.get(1)?.write(`event: endpoint\ndata: ${endpoint}\n\n`)
  }
  t.equal(await textOf(call(link, 'echo', {})), '{}')
  t.ok(upstream.seenOf('POST').every(({ url }) => url === '/mcp1/messages?sid=1'))
})

t.test('configured headers go on both legs, and nothing encoded is asked for', async t => {
  const { backend, upstream } = await setUp(t, {}, { headers: { Authorization: 'Bearer one' } })
  const { link } = await open(backend)
  for (const { headers } of upstream.seen) {
    t.match(headers, { authorization: 'Bearer one', 'accept-encoding': 'identity' })
  }
  t.equal(upstream.seenOf('GET')[0]?.headers.accept, 'text/event-stream')
  backend.tune({ headers: { Authorization: 'Bearer two' }, timeout: 4_000 })
  backend.tune({})
  await textOf(call(link, 'echo', {}))
  t.equal(upstream.seenOf('POST').at(-1)?.headers.authorization, 'Bearer two')
})

t.test('a stream that is refused, redirected, encoded or no event stream fails the opening', async t => {
  const cases: [number, Record<string, string>, string][] = [
    [404, {}, 'backend_status'],
    [401, {}, 'backend_status'],
    [302, { location: '/mcp1/elsewhere' }, 'backend_status'],
    [200, { 'content-type': 'text/html' }, 'backend_invalid'],
    [200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }, 'backend_invalid']
  ]
  for (const [status, headers, code] of cases) {
    const { backend, upstream } = await setUp(t, {
      intercept: (_, response) => {
        response.writeHead(status, headers)
        response.write('x')
        return true
      }
    })
    await t.rejects(open(backend), { code, backend: 'old' })
    t.equal(upstream.seen.length, 1, 'a redirect is not followed')
  }
})

t.test('B1 an upstream that cannot be reached, and what readiness is told of it', async t => {
  const states: unknown[] = []
  t.teardown(facts.backend.subscribe(({ up, reason }) => states.push([up, reason])))
  const backend = createSseBackend({ name: 'old', url: `http://127.0.0.1:${(await freePorts(1))[0]}/sse` })
  await t.rejects(open(backend), { code: 'backend_unavailable', message: 'backend "old" cannot be reached' })
  t.same(states, [[false, 'backend "old" cannot be reached']])
  await backend.close()
})

t.test('B3 an upstream that accepts and is silent is given up in time', async t => {
  const sockets = new Set<Socket>()
  const silent = createServer(socket => void sockets.add(socket)).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  const backend = createSseBackend({ name: 'old', url: `http://127.0.0.1:${port}/sse`, timeout: 100 })
  await t.rejects(open(backend), { code: 'timeout' })
  await backend.close()
  for (const socket of sockets) socket.destroy()
  silent.close()
})

t.test('an opening can be given up at any step', async t => {
  const { backend, upstream, server } = await setUp(t, {
    begin: (stream, session) => {
      if (session > 1) stream.write(`event: endpoint\ndata: messages?sid=${session}\n\n`)
    }
  })
  server.on('initialize', () => {})
  for (const step of [() => upstream.streams.size === 1, () => server.heardOf('initialize').length === 1]) {
    const abort = new AbortController()
    const opening = open(backend, { signal: abort.signal })
    await until('the step', step)
    abort.abort()
    await t.rejects(opening, { code: 'backend_unavailable' })
    await until('the stream is closed', () => upstream.streams.size === 0)
  }
  await t.rejects(open(backend, { signal: AbortSignal.abort() }), { code: 'backend_unavailable' })
})

t.test(
  'B2 when the stream breaks, every open call fails once, the link has ended, and nothing is sent again',
  async t => {
    const { backend, upstream, server } = await setUp(t)
    const { link, ended } = await open(backend)
    const calls = Array.from({ length: 20 }, () => all(call(link, 'never')))
    await until('the calls', () => server.heardOf('tools/call').length === 20)
    upstream.streams.get(1)?.socket?.resetAndDestroy()
    for (const result of await Promise.allSettled(calls)) {
      t.match(result, { status: 'rejected', reason: { code: 'backend_broke', backend: 'old' } })
    }
    t.match(ended, [{ code: 'backend_broke' }])
    await t.rejects(all(call(link, 'echo')), { code: 'backend_broke' })
    t.equal(server.heardOf('tools/call').length, 20)
    const again = await open(backend)
    t.equal(await textOf(call(again.link, 'echo', {})), '{}')
  }
)

t.test('an end of the stream is no less a break', async t => {
  const { backend, upstream } = await setUp(t)
  const { link, ended } = await open(backend)
  const never = all(call(link, 'never'))
  upstream.streams.get(1)?.end()
  await t.rejects(never, { code: 'backend_broke' })
  t.equal(ended.length, 1)
})

t.test('a session that the upstream does not know any more is lost: that call may be sent again elsewhere', async t => {
  const { backend, server } = await setUp(t, {
    intercept: (request, response, body) => {
      if (request.method === 'GET' || !body.includes('"echo"')) return false
      response.writeHead(404).end()
      return true
    }
  })
  const { link, ended } = await open(backend)
  const never = all(call(link, 'never'))
  never.catch(() => {})
  await until('the call', () => server.heardOf('tools/call').length === 1)
  await t.rejects(all(call(link, 'echo')), { code: 'backend_session_lost' })
  await t.rejects(never, { code: 'backend_broke' }, 'what was sent may have run')
  t.equal(ended.length, 1)
})

t.test('a post that is refused, broken off or redirected fails its call and nothing else', async t => {
  const { backend } = await setUp(t, {
    intercept: (_, response, body) => {
      const status = /"status-(\d+)"/.exec(body)?.[1]
      if (status !== undefined) response.writeHead(Number(status), { location: '/elsewhere' }).end('x')
      else if (body.includes('"cut"')) response.socket?.resetAndDestroy()
      else return false
      return true
    }
  })
  const { link, ended } = await open(backend)
  for (const status of [307, 400, 500]) {
    await t.rejects(all(call(link, `status-${status}`)), { code: 'backend_status', data: { status } })
  }
  await t.rejects(all(call(link, 'cut')), { code: 'backend_broke' })
  const notices: string[] = []
  t.teardown(facts.notice.subscribe(({ text }) => notices.push(text)))
  await link.send(makeNotification('notifications/x', { name: 'status-500' }))
  t.same(notices, ['notifications/x was answered with HTTP status 500'])
  t.equal(await textOf(call(link, 'echo', {})), '{}')
  t.same(ended, [])
})

t.test('a message endpoint that is not there fails the opening with its status', async t => {
  const { backend } = await setUp(t, { begin: stream => void stream.write('event: endpoint\ndata: /messages\n\n') })
  await t.rejects(open(backend), { code: 'backend_status', data: { status: 404 } })
})

t.test('B3 a post that is not answered does not fail its call, whose answer may still come on the stream', async t => {
  const { backend, server, upstream } = await setUp(
    t,
    {
      intercept: (request, _, body) => {
        if (request.method === 'GET' || !body.includes('"held"')) return false
        const id = (JSON.parse(body) as { id: number }).id
        setTimeout(
          () => upstream.streams.get(1)?.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"ok":1}}\n\n`),
          1_500
        )
        return true
      }
    },
    { timeout: 300 }
  )
  const { link } = await open(backend)
  const [response] = await all(call(link, 'held'))
  t.same(value(response!).result, { ok: 1 })
  await t.rejects(link.send(makeNotification('notifications/x', { name: 'held' })), { code: 'timeout' })
  t.equal(server.heardOf('initialize').length, 1)
})

t.test('SSE-01 SSE-05 text arrives unharmed however it is split', async t => {
  const text = '你好😀“ \u2028\u2029\u0085\v\f'
  const { backend, upstream, server } = await setUp(t)
  server.on('tools/call:bytewise', async turn => {
    const stream = upstream.streams.get(1)!
    stream.socket?.setNoDelay(true)
    const event = Buffer.from(
      `data: {"jsonrpc":"2.0","id":${turn.message.id},\r\ndata: "result":{"content":[{"type":"text","text":${JSON.stringify(text)}}]}}\r\n\r\n`
    )
    for (const byte of event) await new Promise(resolve => stream.write(Buffer.of(byte), resolve))
  })
  const { link } = await open(backend)
  t.equal(await textOf(call(link, 'bytewise')), text)
})

t.test(
  'SSE-06 20 MB in one event arrive; over the bound the call fails that was meant, and the stream goes on',
  async t => {
    const { backend, server } = await setUp(t)
    const { link } = await open(backend)
    t.equal((await textOf(call(link, 'large', { size: 20_000_000 }))).length, 20_000_000)
    const small = await setUp(t, {}, { limits: { upstream: 100_000 } })
    small.server.on('tools/call:tail', turn =>
      turn.raw(`{"result":{"x":"${'x'.repeat(200_000)}"},"jsonrpc":"2.0","id":${turn.message.id}}`)
    )
    small.server.on('tools/call:asks', turn =>
      turn.raw(`{"method":"sampling/createMessage","params":{"x":"${'x'.repeat(200_000)}"},"jsonrpc":"2.0","id":2}`)
    )
    const opened = await open(small.backend)
    const never = call(opened.link, 'never')
    const waiting = never.next()
    await t.rejects(all(call(opened.link, 'large', { size: 200_000 })), { code: 'backend_too_large' })
    await t.rejects(all(call(opened.link, 'tail')), { code: 'backend_too_large' })
    never.cancel()
    await waiting
    const drops: string[] = []
    t.teardown(facts.drop.subscribe(({ reason }) => drops.push(reason)))
    const asks = call(opened.link, 'asks')
    t.equal(await textOf(call(opened.link, 'echo', {})), '{}')
    await until('it was dropped', () => drops.includes('too_large'))
    asks.cancel()
    t.same(opened.ended, [])
    t.equal(server.heardOf('initialize').length, 1)
  }
)

t.test('SSE-06 a message without an end costs the stream', async t => {
  const { backend, server, upstream } = await setUp(t, {}, { limits: { upstream: 100_000 } })
  server.on('tools/call:endless', () => {
    const stream = upstream.streams.get(1)!
    stream.write('data: ')
    const more = (): void => {
      if (!stream.destroyed) stream.write('a'.repeat(50_000), more)
    }
    more()
  })
  const { link, ended } = await open(backend)
  await t.rejects(all(call(link, 'endless')), { code: 'backend_too_large' })
  await until('the link ended', () => ended.length === 1)
  t.match(ended[0], { code: 'backend_broke' })
})

t.test('a reader that is behind slows the upstream down, and loses nothing when it goes on soon', async t => {
  const { backend } = await setUp(t)
  const { link } = await open(backend)
  const messages: number[] = []
  for await (const message of call(link, 'flood', { count: 20_000 })) {
    if (message.kind === 'notification') messages.push((value(message) as { params: { data: number } }).params.data)
    if (messages.length % 100 === 0) await new Promise(resolve => setTimeout(resolve, 5))
  }
  t.same(
    messages,
    Array.from({ length: 20_000 }, (_, i) => i)
  )
})

t.test('an upstream whose call is read slowly is held back instead of filling our memory', async t => {
  const { backend, server, upstream } = await setUp(t)
  server.on('tools/call:heavy', turn => {
    for (let i = 0; i < 4_000; i++) turn.notify('notifications/message', { data: 'x'.repeat(4_000) })
  })
  const { link } = await open(backend)
  const exchange = call(link, 'heavy')
  await exchange.next()
  await new Promise(resolve => setTimeout(resolve, 150))
  t.ok(upstream.streams.get(1)!.writableLength > 4_000_000)
  exchange.detach()
})

t.test('close drops the stream and leaves no connection behind; a closed backend tells its links', async t => {
  const { backend, upstream } = await setUp(t)
  const [one, two] = await Promise.all([open(backend), open(backend)])
  t.equal(upstream.streams.size, 2)
  const never = all(call(two.link, 'never'))
  never.catch(() => {})
  await one.link.close()
  await until('its stream is closed', () => upstream.streams.size === 1)
  await backend.close()
  await t.rejects(never, { code: 'backend_unavailable' })
  t.same(one.ended, [])
  t.equal(two.ended.length, 1)
  await until('both are closed', () => upstream.streams.size === 0)
  await t.rejects(open(backend), { code: /backend_/ })
})

t.test('the identity is the kind and the address', t => {
  const make = (url: string, headers = {}) => createSseBackend({ name: 'x', url, headers }).identity
  t.equal(make('http://a/sse'), make('http://a/sse', { a: 'b' }))
  t.not(make('http://a/sse'), make('http://b/sse'))
  t.end()
})
