import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import t from 'tap'
import { makeNotification, makeResult } from '../../../src/protocol/make.ts'
import { textParam } from '../../../src/protocol/message.ts'
import { bytes } from '../../../src/protocol/write.ts'
import { bench, call, failure, principal, texts } from '../../helpers/http.ts'
import { usedBytes } from '../../helpers/memory.ts'
import { until } from '../../helpers/until.ts'

const sse = { 'content-type': 'text/event-stream' }

t.test('404 with a session id in use rejects the call as never run and ends the link once (SES-06, B9)', async t => {
  const on = await bench(t)
  const link = await on.open()
  const slow = call(link, 'slow')
  const waiting = slow.next()
  await until('the call', () => on.server.heardOf('tools/call').length === 1)
  on.upstream.sessions.clear()
  const codes = await Promise.all([call(link, 'echo'), call(link, 'echo')].map(async one => (await failure(one)).code))
  t.same(codes, ['backend_session_lost', 'backend_session_lost'])
  t.match(on.ended, [{ code: 'backend_session_lost' }])
  t.equal(on.ended.length, 1)
  t.equal((await failure(call(link, 'echo'))).code, 'backend_session_lost', 'later calls are not even sent')
  await t.rejects(link.send(makeNotification('notifications/x')), { code: 'backend_session_lost' })
  t.equal((await failure(link.resume('1', '{"id":"2","lastEventId":"x"}', principal))).code, 'backend_broke')
  slow.cancel()
  await waiting
  await link.close()
  t.same(on.upstream.seenOf('DELETE'), [])
  t.equal(on.ended.length, 1)
  const again = await on.open()
  t.equal((await texts(call(again, 'echo'))).length, 1)
  t.notOk(
    on.upstream.seen.some(({ body }) => body.includes('cancelled')),
    'a lost session is told nothing'
  )
})

for (const [what, body, code] of [
  [
    'no valid session',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}',
    'backend_session_lost'
  ],
  [
    'the request, answered',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"Invalid session"}}',
    'backend_session_lost'
  ],
  [
    'a server that was started anew',
    '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"}}',
    'backend_session_lost'
  ],
  [
    'another error',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Unsupported protocol version"}}',
    'backend_status'
  ],
  ['another code', '{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such session"}}', 'backend_status'],
  ['something long', `{"error":{"code":-32000,"message":"session ${'x'.repeat(5_000)}"}}`, 'backend_status'],
  ['no JSON', 'no session', 'backend_status']
] as const) {
  t.test(`400 that tells of ${what}: ${code} (SES-06)`, async t => {
    const on = await bench(t, {
      intercept: (_request, response, text) => {
        if (!text.includes('tools/call')) return false
        const { id } = JSON.parse(text)
        response.writeHead(400, { 'content-type': 'application/json' }).end(body.replace('ID', String(id)))
        return true
      }
    })
    const link = await on.open()
    t.equal((await failure(call(link, 'echo'))).code, code)
    t.equal(on.ended.length, code === 'backend_session_lost' ? 1 : 0)
  })
}

t.test('400 without a session is never a lost one', async t => {
  const on = await bench(t, {
    sessions: false,
    intercept: (_request, response, text) => {
      if (!text.includes('tools/call')) return false
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"}}')
      return true
    }
  })
  t.equal((await failure(call(await on.open(), 'echo'))).code, 'backend_status')
  t.same(on.ended, [])
})

t.test('404 to a notification ends the link too', async t => {
  const on = await bench(t)
  const link = await on.open()
  on.upstream.sessions.clear()
  await t.rejects(link.send(makeNotification('notifications/x')), { code: 'backend_session_lost', backend: 'docs' })
  t.equal(on.ended.length, 1)
})

t.test('a cancel does not wait for what is under way, and names the upstream id and the reason (CAN-01)', async t => {
  const on = await bench(t)
  const link = await on.open()
  const exchanges = ['9007199254740993', '9007199254740994'].map(id => call(link, 'never', '{}', id))
  const waits = exchanges.map(exchange => exchange.next())
  await until('the calls', () => on.server.heardOf('tools/call').length === 2)
  const begun = performance.now()
  exchanges[0]!.cancel('x')
  await waits[0]
  await until('the cancel', () => on.server.heardOf('notifications/cancelled').length === 1)
  t.ok(performance.now() - begun < 1_000)
  const [cancelled] = on.server.heardOf('notifications/cancelled')
  t.equal(
    bytes(cancelled!).toString(),
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"x"}}'
  )
  exchanges[1]!.detach()
  await waits[1]
})

t.test('cancelling drops the connection of the call, and so does letting go', async t => {
  const open = new Set<ServerResponse>()
  const on = await bench(t, {
    intercept: (_request, response, body) => {
      if (!body.includes('tools/call')) return false
      open.add(response)
      response.on('close', () => open.delete(response))
      response.writeHead(200, sse).write(':\n')
      return true
    }
  })
  const link = await on.open()
  for (const end of ['cancel', 'detach'] as const) {
    const exchange = call(link, 'never')
    const waiting = exchange.next()
    await until('the stream', () => open.size === 1)
    exchange[end]()
    await until('the end', () => open.size === 0)
    await waiting
  }
  t.equal(on.server.heardOf('notifications/cancelled').length, 1)
})

t.test('a call that is cancelled before it was sent is not sent, and nobody is told', async t => {
  const on = await bench(t)
  const link = await on.open()
  await texts(call(link, 'echo'))
  const exchange = call(link, 'never')
  // Both in one turn: there is one idle connection, the second call has to open another.
  const second = call(link, 'never')
  second.cancel()
  const waiting = exchange.next()
  await until('the call', () => on.server.heardOf('tools/call').length === 2)
  exchange.detach()
  await waiting
  t.equal(on.server.heardOf('tools/call').length, 2)
  t.same(on.server.heardOf('notifications/cancelled'), [])
})

t.test('a late answer to a cancelled call goes nowhere (CAN-06)', async t => {
  const on = await bench(t)
  const link = await on.open()
  const exchange = call(link, 'slow', '{}', '7', '1')
  const waiting = exchange.next()
  await until('the call', () => on.server.heardOf('tools/call').length === 1)
  exchange.cancel()
  t.equal((await waiting).done, true)
  t.same(await texts(call(link, 'echo')), [
    '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{}"}]}}'
  ])
  t.same(on.received, [])
})

t.test('progress of nobody, and of a call without a token, is dropped and counted (CAN-05)', async t => {
  const on = await bench(t)
  on.server.on('tools/call:p', turn => {
    for (const token of ['1', '"1"', '0', 'null', '""']) turn.progress(1, token)
    turn.notify('notifications/progress', {})
    turn.notify('notifications/progress')
    turn.answer('{}')
  })
  const link = await on.open()
  for (const [token, count] of [
    ['1', 1],
    ['"\\u0031"', 1],
    ['0', 1],
    ['""', 1],
    ['7', 0],
    [undefined, 0]
  ] as const) {
    on.drops.length = 0
    t.equal((await texts(call(link, 'p', '{}', '7', token))).length, 1 + count, String(token))
    t.equal(on.drops.length, 7 - count)
    t.ok(on.drops.every(reason => reason === 'unknown_token'))
  }
})

t.test('a reader that does not read slows the upstream down, and goes on where it was', async t => {
  let written = 0
  const on = await bench(t, {
    intercept: (_request, response, body) => {
      if (!body.includes('tools/call')) return false
      const { id } = JSON.parse(body)
      response.writeHead(200, sse)
      const more = (): void => {
        while (written < 2_000) {
          const event = `data: {"jsonrpc":"2.0","method":"x","params":{"n":${written++},"p":"${'x'.repeat(10_000)}"}}\n\n`
          if (!response.write(event)) return void response.once('drain', more)
        }
        response.end(`data: {"jsonrpc":"2.0","id":${id},"result":{}}\n\n`)
      }
      more()
      return true
    }
  })
  const exchange = call(await on.open(), 'flood')
  await exchange.next()
  let before = -1
  await until('the upstream stands still', async () => {
    const still = written === before
    before = written
    await new Promise(resolve => setTimeout(resolve, 50))
    return still && written === before
  })
  t.ok(written < 1_900, `${written} of 2000 written`)
  t.equal((await texts(exchange)).length, 2_000)
})

t.test('answers, cancels and DELETE get through while 1,000 streams are open', async t => {
  const on = await bench(t, {
    intercept: (_request, response, body) => {
      if (!body.includes('"hold"')) return false
      response.writeHead(200, sse).write(':\n')
      return true
    }
  })
  const link = await on.open()
  const held = Array.from({ length: 1_000 }, (_, i) => call(link, 'hold', '{}', String(i)))
  const waits = held.map(exchange => exchange.next())
  await until(
    'the streams',
    () => on.upstream.seen.filter(({ body }) => body.includes('"hold"')).length === 1_000,
    20_000
  )
  const begun = performance.now()
  const exchange = call(link, 'ask')
  const { value: asked } = await exchange.next()
  await link.send(makeResult(asked.id!, { action: 'decline' }))
  t.match(await texts(exchange), [/decline/])
  held[0]!.cancel()
  await until('the cancel', () => on.server.heardOf('notifications/cancelled').length === 1)
  t.ok(performance.now() - begun < 1_000)
  for (const one of held) one.detach()
  await Promise.all(waits)
  await link.close()
  t.equal(on.upstream.sessions.size, 0)
})

t.test('close cancels what is open, then deletes the session, and is not held up by a silent upstream', async t => {
  const order: string[] = []
  const on = await bench(t, {
    intercept: async (request, _response, body) => {
      if (!body.includes('cancelled') && request.method !== 'DELETE') return false
      if (request.method !== 'DELETE') await new Promise(resolve => setTimeout(resolve, 30))
      order.push(request.method!)
      return false
    }
  })
  const link = await on.open()
  const waits = [call(link, 'never').next(), call(link, 'never').next()]
  await until('the calls', () => on.server.heardOf('tools/call').length === 2)
  await link.close()
  t.ok((await Promise.all(waits)).every(({ done }) => done))
  t.same(order, ['POST', 'POST', 'DELETE'])
  t.equal(on.server.heardOf('notifications/cancelled').length, 2)

  const silent = await bench(t, { intercept: request => request.method === 'DELETE' }, { timeout: 200 })
  const other = await silent.open()
  const begun = performance.now()
  await other.close()
  t.ok(performance.now() - begun < 3_000)
})

t.test('an upstream that does not answer a notification in time is `timeout`', async t => {
  const on = await bench(t, { intercept: (_request, _response, body) => body.includes('notifications/x') })
  const link = await on.open()
  on.backend.tune({ timeout: 200 })
  await t.rejects(link.send(makeNotification('notifications/x')), { code: 'timeout', backend: 'docs' })
})

t.test('refused notifications are noticed and nothing else', async t => {
  const on = await bench(t, {
    intercept: (_request, response, body) => {
      if (!body.includes('notifications/x')) return false
      response.writeHead(400).end()
      return true
    }
  })
  const link = await on.open()
  await link.send(makeNotification('notifications/x'))
  t.match(on.notices, [{ level: 'warn', text: 'notifications/x was answered with HTTP status 400', backend: 'docs' }])
  await link.send(makeResult('"x"', {}))
})

t.test('a silent call has no time-out of its own (HTP-03)', async t => {
  const finish = Promise.withResolvers<void>()
  const on = await bench(t, {}, { timeout: 100 })
  on.server.on('tools/call:late', async turn => {
    await finish.promise
    turn.answer('{}')
  })
  const link = await on.open()
  const exchange = call(link, 'late')
  const waiting = exchange.next()
  setTimeout(() => finish.resolve(), 1_500)
  t.match((await waiting).value, { id: '7' })
})

t.test('two links of one backend have sessions of their own; closing one leaves the other', async t => {
  const on = await bench(t)
  const [a, b] = [await on.open(), await on.open()]
  t.equal(on.upstream.sessions.size, 2)
  await a.close()
  t.equal((await texts(call(b, 'echo'))).length, 1)
  t.equal(textParam(on.server.heardOf('tools/call')[0]!, 'name'), '"echo"')
})

t.test('20,000 exchanges leave nothing behind', async t => {
  const on = await bench(t)
  const link = await on.open()
  const many = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 40) {
      await Promise.all(Array.from({ length: 40 }, () => texts(call(link, 'echo'))))
      on.server.forget()
    }
  }
  await many(4_000)
  const before = await usedBytes()
  await many(20_000)
  const grown = (await usedBytes()) - before
  t.ok(grown < 1_000_000, `kept ${grown} bytes`)
})

t.test('an idle connection is closed after 4 s, however long the upstream would keep it', async t => {
  const { upstream, open } = await bench(t)
  const sockets = new Set<Socket>()
  upstream.options.intercept = request => {
    sockets.add(request.socket)
    return false
  }
  const link = await open()
  await texts(call(link, 'echo'))
  t.ok(sockets.size > 0)
  const began = performance.now()
  await until('they are closed', () => [...sockets].every(({ destroyed }) => destroyed), 8_000)
  t.ok(performance.now() - began > 2_000, 'not at once')
})
