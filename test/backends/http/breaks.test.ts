import type { ServerResponse } from 'node:http'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { HttpBackend } from '../../../src/backends/http/backend.ts'
import { bench, call, failure, principal, texts } from '../../helpers/http.ts'
import { StillClock } from '../../helpers/http-clock.ts'
import { until } from '../../helpers/until.ts'

const sse = { 'content-type': 'text/event-stream' }
const result = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":{"x":1}}`

t.test('a reset at any byte of the answer is one error or the response, at once (B2, SSE-10)', async t => {
  const body = result('2')
  const event = `data: ${body}\n\n`
  const answers = [
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${event.length.toString(16)}\r\n${event}\r\n0\r\n\r\n`
  ]
  for (const answer of answers) {
    const whole = answer.indexOf(body) + body.length + (answer === answers[0] ? 0 : 2)
    let cut = 0
    const on = await bench(t, {
      intercept: (_request, response, body) => {
        if (!body.includes('tools/call')) return false
        const socket = response.socket as Socket
        socket.write(answer.slice(0, cut), () => setImmediate(() => socket.resetAndDestroy()))
        return true
      }
    })
    for (cut = 0; cut <= answer.length; cut += 3) {
      // A link of its own each, so that the upstream's id is 2.
      const link = await on.open()
      const exchange = call(link, 'echo')
      const got = await texts(exchange).catch(error => error.code)
      if (cut < whole) t.match(got, /^backend_(broke|invalid)$/, `cut at ${cut} of ${answer.length}`)
      // The bytes may still be lost in a reset that follows at once.
      else t.ok(got === 'backend_broke' || got[0] === result('7'))
      t.equal((await exchange.next()).done, true)
    }
  }
})

t.test('a stream that ends without the response fails its call alone, and it is not sent again (SSE-10)', async t => {
  const on = await bench(t, {
    intercept: (_request, response, body) => {
      if (!body.includes('"cut"')) return false
      response.writeHead(200, sse)
      response.end(
        'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n'
      )
      return true
    }
  })
  const link = await on.open()
  const other = call(link, 'slow')
  const waiting = other.next()
  const exchange = call(link, 'cut', '{}', '7', '1')
  t.match((await exchange.next()).value, { method: 'notifications/progress' })
  t.equal((await failure(exchange)).code, 'backend_broke')
  t.equal(on.upstream.seen.filter(({ body }) => body.includes('"cut"')).length, 1)
  t.same(on.upstream.seenOf('GET'), [])
  other.cancel()
  await waiting
})

t.test('what stands in a truncated event is not delivered', async t => {
  const on = await bench(t, {
    intercept: (_request, response, body) => {
      if (!body.includes('"cut"')) return false
      response.writeHead(200, sse).end(`data: ${result(JSON.parse(body).id)}\n`)
      return true
    }
  })
  t.equal((await failure(call(await on.open(), 'cut'))).code, 'backend_broke')
})

/** Cuts the connection of a call after `events` events, once. */
const cutting = (events: number) => {
  const cut = new Set<string>()
  return (_request: unknown, response: ServerResponse, body: string): boolean => {
    if (!body.includes('tools/call') || cut.has(body)) return false
    cut.add(body)
    const write = response.write.bind(response)
    let seen = 0
    response.write = ((chunk: string, ...rest: []) => {
      if (seen >= events) return false
      const written = write(chunk, ...rest)
      if (chunk.startsWith('data:') && ++seen === events) setTimeout(() => response.socket?.resetAndDestroy(), 5)
      return written
    }) as typeof response.write
    return false
  }
}

t.test('a stream with event ids that breaks is resumed where it broke, without gap or duplicate (SSE-10)', async t => {
  const on = await bench(t, { json: false, events: true, intercept: cutting(2) })
  const link = await on.open()
  const got = await texts(call(link, 'progress', '{}', '7', '"p"'))
  t.same(
    got.slice(0, 3).map(text => JSON.parse(text).params.progress),
    [1, 2, 3]
  )
  t.match(got[3], /"id":7/)
  t.equal(got.length, 4)
  const [get] = on.upstream.seenOf('GET')
  t.match(get!.headers['last-event-id'], /_2$/)
  t.match(get!.headers, { accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25' })
  t.equal(on.upstream.seen.filter(({ body }) => body.includes('tools/call')).length, 1)
})

t.test('a stream that was closed after its priming event is asked for again, after its `retry` (SEP-1699)', async t => {
  const clock = new StillClock()
  const finish = Promise.withResolvers<void>()
  const on = await bench(
    t,
    {
      json: false,
      events: true,
      priming: true,
      retry: 300,
      intercept: (_request, response, body) => {
        if (body.includes('tools/call')) setTimeout(() => response.end(), 5)
        return false
      }
    },
    { clock }
  )
  on.server.on('tools/call:long', async turn => {
    turn.progress(1, '1')
    await finish.promise
    turn.answer('{"n":1.0}')
  })
  const link = await on.open()
  const exchange = call(link, 'long', '{}', '7', '1')
  t.match((await exchange.next()).value, { method: 'notifications/progress' })
  const waiting = exchange.next()
  await until('the wait', () => clock.pending === 1)
  t.same(clock.waits, [300])
  t.same(on.upstream.seenOf('GET'), [])
  clock.advance(300)
  await until('the resumption', () => on.upstream.seenOf('GET').length === 1)
  finish.resolve()
  t.match((await waiting).value, { id: '7' })
})

t.test('`retry` is clamped to 30 seconds', async t => {
  const clock = new StillClock()
  const on = await bench(
    t,
    {
      intercept: (_request, response, body) => {
        if (!body.includes('tools/call')) return false
        response.writeHead(200, sse).end('id: 1\nretry: 999999999999\ndata:\n\n')
        return true
      }
    },
    { clock }
  )
  const exchange = call(await on.open(), 'never')
  const waiting = exchange.next()
  await until('the wait', () => clock.pending === 1)
  t.same(clock.waits, [30_000])
  exchange.cancel()
  await waiting
  t.equal(clock.pending, 0, 'a cancelled exchange waits for nothing')
  await until('the cancel', () => on.server.heardOf('notifications/cancelled').length === 1)
})

const refusals: [string, (response: ServerResponse) => void, number][] = [
  ['405', response => response.writeHead(405).end(), 1],
  ['400', response => response.writeHead(400).end(), 1],
  ['JSON', response => response.writeHead(200, { 'content-type': 'application/json' }).end(result('2')), 1],
  ['503', response => response.writeHead(503).end(), 6],
  ['an empty stream', response => response.writeHead(200, sse).end(), 6],
  ['a reset', response => response.socket?.resetAndDestroy(), 6]
]

for (const [what, answer, attempts] of refusals) {
  t.test(
    `an upstream that answers a resumption with ${what} is asked ${attempts} times, then the call fails`,
    async t => {
      const clock = new StillClock()
      const on = await bench(
        t,
        {
          intercept: (request, response, body) => {
            if (request.method === 'GET') answer(response)
            else if (body.includes('tools/call')) response.writeHead(200, sse).end('id: 1\ndata:\n\n')
            else return false
            return true
          }
        },
        { clock }
      )
      const failing = failure(call(await on.open(), 'never'))
      for (let i = 1; i <= attempts; i++) {
        await until('a wait', () => clock.pending === 1)
        clock.advance(10_000)
        await until('an attempt', () => on.upstream.seenOf('GET').length === i)
      }
      t.equal((await failing).code, 'backend_broke')
      t.same(clock.waits, [0, 250, 500, 1000, 2000, 4000].slice(0, attempts))
    }
  )
}

t.test(
  'an upstream that ends every stream with an event id alone is polled without haste, for as long as it takes',
  async t => {
    const clock = new StillClock()
    const on = await bench(
      t,
      {
        intercept: (request, response, body) => {
          if (request.method !== 'GET' && !body.includes('tools/call')) return false
          response.writeHead(200, sse).end('id: 1\ndata:\n\n')
          return true
        }
      },
      { clock }
    )
    const exchange = call(await on.open(), 'never')
    const waiting = exchange.next()
    for (let i = 1; i <= 10; i++) {
      await until('a wait', () => clock.pending === 1)
      clock.advance(1_000)
      await until('an attempt', () => on.upstream.seenOf('GET').length === i)
    }
    t.same(clock.waits.slice(0, 10), [0, 50, 100, 200, 400, 800, 1000, 1000, 1000, 1000])
    exchange.detach()
    await waiting
  }
)

t.test('a session that is lost while a stream is resumed fails the call as broken: it ran', async t => {
  const on = await bench(t, {
    intercept: (request, response, body) => {
      if (request.method === 'GET') response.writeHead(404).end()
      else if (body.includes('tools/call')) response.writeHead(200, sse).end('id: 1\ndata:\n\n')
      else return false
      return true
    }
  })
  t.equal((await failure(call(await on.open(), 'never'))).code, 'backend_broke')
  t.match(on.ended, [{ code: 'backend_session_lost' }])
})

t.test('an id that cannot stand in a header makes a stream that cannot be resumed', async t => {
  for (const id of ['a\tb', 'x'.repeat(5_000), '']) {
    const on = await bench(t, {
      intercept: (_request, response, body) => {
        if (!body.includes('tools/call')) return false
        response.writeHead(200, sse).end(`id: 1\ndata:\n\nid: ${id}\ndata:\n\n`)
        return true
      }
    })
    const exchange = call(await on.open(), 'never')
    t.equal((await failure(exchange)).code, 'backend_broke')
    t.same(on.upstream.seenOf('GET'), [])
  }
})

t.test('an id beyond ASCII goes back as the bytes it was', async t => {
  let sent: string | undefined
  const on = await bench(t, {
    intercept: (request, response, body) => {
      if (request.method === 'GET') {
        sent = Buffer.from(String(request.headers['last-event-id']), 'latin1').toString()
        response.writeHead(200, sse).end(`data: ${result('2')}\n\n`)
      } else if (body.includes('tools/call')) response.writeHead(200, sse).end('id: é: 1\ndata:\n\n')
      else return false
      return true
    }
  })
  t.same(await texts(call(await on.open(), 'never')), [result('7')])
  t.equal(sent, 'é: 1')
})

t.test("the place is the reader's: another instance goes on after what was read, not after what came", async t => {
  const on = await bench(t, { json: false, events: true, priming: true })
  const finish = Promise.withResolvers<void>()
  on.server.on('tools/call:long', async turn => {
    for (const step of [1, 2, 3]) turn.progress(step)
    await finish.promise
    turn.progress(4)
    turn.answer('{}')
  })
  const link = await on.open()
  const exchange = call(link, 'long', '{}', '"mine"', '"tok"')
  t.equal(exchange.place, undefined)
  await exchange.next()
  const other = await on.open({ state: link.state! })
  await until('everything is here', () => {
    const { place } = exchange
    return place !== undefined
  })
  t.match(JSON.parse(exchange.place!), { id: '2', token: '"tok"', lastEventId: /_2$/ })
  const moved = other.resume('"mine"', exchange.place!, principal)
  t.equal(moved.place, exchange.place)
  exchange.detach()
  finish.resolve()
  const got = await texts(moved)
  t.same(
    got.slice(0, -1).map(text => JSON.parse(text).params.progress),
    [2, 3, 4]
  )
  t.match(got.at(-1), /"id":"mine"/)
  t.equal(on.server.heardOf('initialize').length, 1)
})

t.test('an upstream that accepts and closes, and one that says nonsense, break the call', async t => {
  for (const nonsense of [
    '',
    'SSH-2.0-OpenSSH_9.9\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'
  ]) {
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(nonsense))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const backend = new HttpBackend({ name: 'docs', url: `http://127.0.0.1:${port}/`, timeout: 2_000 })
    await t.rejects(
      backend.open({
        ...principal,
        client: { version: '2025-11-25', capabilities: '{}', info: '{}' },
        signal: new AbortController().signal,
        receive: () => {},
        ended: () => {}
      }),
      { code: 'backend_broke' }
    )
    await backend.close()
    server.close()
  }
})

t.test('the answer to initialize is resumed like any other, with the session it came with', async t => {
  const on = await bench(t, {
    intercept: (request, response, body) => {
      if (request.method === 'GET') {
        response.writeHead(200, sse).end(`data: {"jsonrpc":"2.0","id":1,"result":${on.server.initializeResult}}\n\n`)
      } else if (body.includes('"initialize"')) {
        on.upstream.sessions.add('s')
        response.writeHead(200, { ...sse, 'mcp-session-id': 's' }).end('id: 1\ndata:\n\n')
      } else return false
      return true
    }
  })
  const link = await on.open()
  t.match(on.upstream.seenOf('GET')[0]!.headers, { 'mcp-session-id': 's', 'last-event-id': '1' })
  t.equal((await texts(call(link, 'echo'))).length, 1)
})

t.test('what no link wrote is no state and no place', async t => {
  const on = await bench(t)
  const link = await on.open()
  for (const state of [
    '',
    '{}',
    'null',
    '{"version":"1999-01-01","result":"{}"}',
    '{"version":"2025-06-18","result":"[]"}'
  ]) {
    await t.rejects(on.open({ state }), { code: 'backend_session_lost' })
  }
  for (const place of ['', '{}', 'null', '{"id":"1"}', '{"lastEventId":"1"}']) {
    t.equal((await failure(link.resume('1', place, principal))).code, 'backend_broke')
  }
  t.same(on.upstream.seenOf('GET'), [])
})
