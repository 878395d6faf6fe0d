import type { ServerResponse } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Link } from '../../../src/backends/backend.ts'
import type { HttpBackendOptions } from '../../../src/backends/http/backend.ts'
import { type Bench, bench, call, failure, texts } from '../../helpers/http.ts'
import type { Scripted } from '../../helpers/scripted.ts'
import { until } from '../../helpers/until.ts'

const json = { 'content-type': 'application/json' }
const sse = { 'content-type': 'text/event-stream' }

/** A link whose calls (and nothing else) are answered by `answer`; `id` is the upstream's. */
async function answering(
  t: Test,
  answer: (response: ServerResponse, id: string) => void,
  options: Partial<HttpBackendOptions> = {}
): Promise<{ on: Bench; link: Link; server: Scripted }> {
  const on = await bench(
    t,
    {
      intercept: (request, response, body) => {
        if (request.method !== 'POST' || !body.includes('"tools/call"')) return false
        answer(response, String(JSON.parse(body).id))
        return true
      }
    },
    options
  )
  return { on, link: await on.open(), server: on.server }
}

const result = (id: string, text = '1'): string => `{"jsonrpc":"2.0","id":${id},"result":{"x":${text}}}`

t.test('an HTTP status that is no answer fails the call and relays nothing of it (B5, B10, H18)', async t => {
  const secret = { 'www-authenticate': 'Bearer realm="canary"', 'set-cookie': 'canary=1', location: 'http://canary/' }
  for (const status of [301, 302, 303, 307, 308, 304, 400, 401, 403, 404, 405, 406, 429, 500, 502, 503]) {
    const { on, link } = await answering(t, response =>
      response
        .writeHead(status, { ...secret, ...(status % 2 ? json : {}) })
        .end(status === 304 ? undefined : '{"canary":1}')
    )
    const error = await failure(call(link, 'echo'))
    t.equal(error.code, status === 404 ? 'backend_session_lost' : 'backend_status', `${status}`)
    if (status !== 404) t.match(error.data, { reason: 'backend_status', backend: 'docs', status })
    t.notMatch(JSON.stringify([error.message, error.data, error.headers]), /canary|127\.0\.0\.1/)
    t.equal(on.upstream.seen.filter(({ body }) => body.includes('tools/call')).length, 1, 'sent once')
  }
})

t.test('a redirect is not followed (B14)', async t => {
  const other = await bench(t)
  const { link } = await answering(t, response => response.writeHead(307, { location: other.upstream.url }).end())
  t.equal((await failure(call(link, 'echo'))).code, 'backend_status')
  t.same(other.upstream.seen, [])
})

t.test('a JSON-RPC error for this request is the response, whatever the status', async t => {
  for (const status of [400, 404, 500]) {
    const on = await bench(t, {
      sessions: false,
      intercept: (_request, response, body) => {
        if (!body.includes('tools/call')) return false
        const { id } = JSON.parse(body)
        response
          .writeHead(status, json)
          .end(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32602,"message":"no","data":1.0}}`)
        return true
      }
    })
    t.same(await texts(call(await on.open(), 'echo')), [
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":1.0}}'
    ])
  }
})

t.test('a JSON-RPC error for nobody or somebody else is none', async t => {
  for (const id of ['null', '4711']) {
    const { link } = await answering(t, response =>
      response.writeHead(400, json).end(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":"no"}}`)
    )
    t.equal((await failure(call(link, 'echo'))).code, 'backend_status')
  }
})

t.test('an error without id in the JSON answer of 200 can only be meant for the request', async t => {
  const { link } = await answering(t, response =>
    response.writeHead(200, json).end('{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}')
  )
  t.same(await texts(call(link, 'echo')), ['{"id":7,"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}'])
})

const invalid: [string, (response: ServerResponse, id: string) => void][] = [
  ['202', response => response.writeHead(202).end()],
  ['204', response => response.writeHead(204).end()],
  ['200 without a body', response => response.writeHead(200, json).end()],
  ['an HTML page', response => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
  ['no content type', (response, id) => response.writeHead(200).end(result(id))],
  ['truncated JSON', (response, id) => response.writeHead(200, json).end(result(id).slice(0, -1))],
  ['invalid UTF-8', (response, id) => response.writeHead(200, json).end(Buffer.from(result(id, '"\u00e9"'), 'latin1'))],
  [
    'a result and an error',
    (response, id) => response.writeHead(200, json).end(`{"jsonrpc":"2.0","id":${id},"result":{},"error":{}}`)
  ],
  ['null', response => response.writeHead(200, json).end('null')],
  [
    'a notification alone',
    response => response.writeHead(200, json).end('{"jsonrpc":"2.0","method":"notifications/x"}')
  ],
  ['the response to another request', response => response.writeHead(200, json).end(result('4711'))],
  [
    'JSON that is too deep',
    (response, id) => response.writeHead(200, json).end(result(id, `${'['.repeat(70)}${']'.repeat(70)}`))
  ],
  ['a stream whose only message is broken', response => response.writeHead(200, sse).end('data: {"jsonrpc"\n\n')],
  [
    'an unknown coding',
    (response, id) => response.writeHead(200, { ...json, 'content-encoding': 'foo' }).end(result(id))
  ],
  [
    'two codings',
    (response, id) =>
      response.writeHead(200, { ...json, 'content-encoding': 'gzip, identity' }).end(gzipSync(result(id)))
  ],
  [
    'what is no gzip',
    (response, id) => response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(result(id))
  ],
  [
    'half a gzip',
    (response, id) =>
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(gzipSync(result(id)).subarray(0, 20))
  ]
]

for (const [what, answer] of invalid) {
  t.test(`${what} is backend_invalid, once, and the connection goes on (B5)`, async t => {
    const { link } = await answering(t, answer)
    const exchange = call(link, 'echo')
    const error = await failure(exchange)
    t.equal(error.code, 'backend_invalid')
    t.equal(error.backend, 'docs')
    t.equal((await exchange.next()).done, true)
  })
}

t.test('pretty-printed JSON with any line ends passes as it is', async t => {
  const pretty = (id: string): string =>
    `\r\n{\n  "jsonrpc": "2.0",\r\n\t"id": ${id},\r  "result": { "n": 9007199254740993 }\n}\n`
  const { link } = await answering(t, (response, id) =>
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(pretty(id))
  )
  t.same(await texts(call(link, 'echo')), [pretty('7')])
})

t.test('pretty-printed JSON over several data lines is one message', async t => {
  const { link } = await answering(t, (response, id) => {
    response.writeHead(200, sse)
    response.end(
      `event: message\r\ndata: {"jsonrpc": "2.0",\r\ndata: "id": ${id},\r\ndata: "result": {"n":1.0}}\r\n\r\n`
    )
  })
  t.same(await texts(call(link, 'echo')), ['{"jsonrpc": "2.0",\n"id": 7,\n"result": {"n":1.0}}'])
})

t.test('a stream with everything that has to be ignored delivers its response (SSE-03, SSE-11)', async t => {
  const { on, link } = await answering(t, (response, id) => {
    response.writeHead(200, { 'content-type': 'text/event-stream;charset=UTF-8' })
    response.write('\ufeff: hello\nid: s1_0\nretry: 500\ndata:\n\ndata: \n\nid: only\n\nid: a\0b\ndata: not json\n\n')
    response.write('event: ping\ndata: {}\n\nevent: error\ndata: {"jsonrpc":"2.0","method":"x"}\n\n')
    response.end(`data: ${result(id, '"\\n\\nevent: message\\ndata: forged\\n\\n"')}\n\n`)
  })
  const exchange = call(link, 'echo')
  t.same(await texts(exchange), [result('7', '"\\n\\nevent: message\\ndata: forged\\n\\n"')])
  t.same(on.drops, ['invalid_message'])
})

t.test('a 2025-03-26 upstream may put several messages into one array', async t => {
  const { link, on } = await answering(t, (response, id) => {
    const log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
    response.writeHead(200, json).end(`[${log},3,${result(id)},${result(id)}]`)
  })
  t.match(await texts(call(link, 'echo')), [/notifications\/message/, /"id":7/])
  t.same(on.drops, ['invalid_message'])
})

t.test('text survives any split of its bytes, in streams and in JSON (SSE-01)', async t => {
  const words = '"你好😀“\u2028\u0085"'
  for (const head of [sse, json]) {
    const { link } = await answering(t, async (response, id) => {
      response.writeHead(200, head)
      response.socket?.setNoDelay(true)
      const body = Buffer.from(head === sse ? `data: ${result(id, words)}\r\n\r\n` : result(id, words))
      for (let i = 0; i < body.length; i++) {
        response.write(body.subarray(i, i + 1))
        await new Promise(resolve => setImmediate(resolve))
      }
      response.end()
    })
    t.same(await texts(call(link, 'echo')), [result('7', words)])
  }
})

const codings: [string, (body: string) => Buffer][] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['identity', Buffer.from]
]

for (const [coding, encode] of codings) {
  t.test(`a body in ${coding} is decoded although identity was asked for (HTP-01)`, async t => {
    for (const head of [json, sse]) {
      const { link } = await answering(t, (response, id) => {
        const body = encode(head === json ? result(id, '1.0') : `data: ${result(id, '1.0')}\n\n`)
        response.writeHead(200, { ...head, 'content-encoding': coding, 'content-length': body.length }).end(body)
      })
      t.same(await texts(call(link, 'echo')), [result('7', '1.0')])
    }
  })
}

t.test('events of an encoded stream are not delayed, and a slow reader holds it', async t => {
  const { createGzip, constants } = await import('node:zlib')
  const finish = Promise.withResolvers<void>()
  const { link } = await answering(t, async (response, id) => {
    response.writeHead(200, { ...sse, 'content-encoding': 'gzip' })
    const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH })
    gzip.pipe(response)
    for (let i = 0; i < 100; i++) gzip.write(`data: {"jsonrpc":"2.0","method":"x","params":{"i":${i}}}\n\n`)
    await finish.promise
    gzip.end(`data: ${result(id)}\n\n`)
  })
  const exchange = call(link, 'echo')
  t.match((await exchange.next()).value, { method: 'x' })
  finish.resolve()
  t.equal((await texts(exchange)).length, 100)
})

t.test('a decompression bomb is stopped at the limit (H13)', async t => {
  const bomb = gzipSync(result('2', `"${'x'.repeat(100_000_000)}"`))
  const { link } = await answering(
    t,
    response => {
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb)
    },
    { limits: { upstream: 100_000 } }
  )
  const before = process.memoryUsage().rss
  t.equal((await failure(call(link, 'echo'))).code, 'backend_too_large')
  t.ok(process.memoryUsage().rss - before < 50_000_000)
})

const endless = (response: ServerResponse): void => {
  if (response.destroyed) return
  response.write('x'.repeat(10_000))
  setTimeout(endless, 1, response)
}

t.test('an answer that says it is too large is refused before its body comes (B6)', async t => {
  const { link } = await answering(
    t,
    response => response.writeHead(200, { ...json, 'content-length': 2_000_000 }).flushHeaders(),
    { limits: { upstream: 100_000 } }
  )
  t.equal((await failure(call(link, 'echo'))).code, 'backend_too_large')
})

t.test('an answer that grows too large is cut, and so is a refusal (B6)', async t => {
  for (const [status, code] of [
    [200, 'backend_too_large'],
    [500, 'backend_status']
  ] as const) {
    const { link } = await answering(t, response => endless(response.writeHead(status, json)), {
      limits: { upstream: 100_000 }
    })
    t.equal((await failure(call(link, 'echo'))).code, code)
  }
})

t.test('a stream may be longer than one message may be; a line without an end is stopped (SSE-06)', async t => {
  let forever = false
  const { link } = await answering(
    t,
    (response, id) => {
      response.writeHead(200, sse)
      for (let i = 0; i < 30; i++)
        response.write(`data: {"jsonrpc":"2.0","method":"x","params":"${'x'.repeat(10)}"}\n\n`)
      for (let i = 0; i < 30; i++)
        response.write(`data: {"jsonrpc":"2.0","method":"x","params":{"p":"${'x'.repeat(9_000)}"}}\n\n`)
      if (!forever) return void response.end(`data: ${result(id)}\n\n`)
      response.write('data: ')
      endless(response)
    },
    { limits: { upstream: 100_000 } }
  )
  t.equal((await texts(call(link, 'echo'))).length, 31)
  forever = true
  const exchange = call(link, 'echo')
  t.match((await exchange.next()).value, { method: 'x' }, 'what came first is delivered')
  t.equal((await failure(exchange)).code, 'backend_too_large')
})

t.test('a line of 20 MB is delivered (SSE-06)', async t => {
  const { link } = await answering(t, (response, id) => {
    response.writeHead(200, sse).end(`data: ${result(id, `"${'x'.repeat(20 * 1024 * 1024)}"`)}\n\n`)
  })
  const begun = performance.now()
  t.equal((await texts(call(link, 'echo')))[0]!.length, result('7', '""').length + 20 * 1024 * 1024)
  t.ok(performance.now() - begun < 5_000)
})

t.test('what follows the response is thrown away, and the connection is used again', async t => {
  const ports = new Set<number | undefined>()
  const { on, link } = await answering(t, (response, id) => {
    ports.add(response.socket?.remotePort)
    response.writeHead(200, sse)
    response.write(`data: ${result(id)}\n\n`)
    response.write('data: {"jsonrpc":"2.0","method":"x"}\n\nid: 3\nretry: 4\ndata: {"jsonrpc":"2.0","method":"y"}\n\n')
    setTimeout(() => response.end(), 5)
  })
  for (let i = 0; i < 5; i++) {
    t.same(await texts(call(link, 'echo')), [result('7')])
    await until('the rest', () => on.drops.length === 2 * (i + 1))
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  t.ok(ports.size < 3, `${ports.size} connections`)
  t.ok(on.drops.every(reason => reason === 'late_message'))
})

t.test('an upstream that keeps its stream open after the response is cut off', async t => {
  const open = new Set<ServerResponse>()
  const { link } = await answering(t, (response, id) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    response.writeHead(200, sse).write(`data: ${result(id)}\n\n`)
  })
  await texts(call(link, 'echo'))
  t.equal(open.size, 1)
  await until('the cut', () => open.size === 0, 6_000)
})

t.test('requests of the upstream keep their ids', async t => {
  const { link } = await answering(t, (response, id) => {
    response.writeHead(200, sse)
    response.write('data: {"jsonrpc":"2.0","id":9007199254740993,"method":"roots/list"}\n\n')
    response.end(`data: ${result(id)}\n\n`)
  })
  t.same((await texts(call(link, 'echo')))[0], '{"jsonrpc":"2.0","id":9007199254740993,"method":"roots/list"}')
})
