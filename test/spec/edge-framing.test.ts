/** Requests as no client should send them, byte by byte (H1, H2, H3, H4, H21; HTP-06): refused well-formed, or read one way only. */
import t from 'tap'
import { initialize, startEdge } from '../helpers/edge.ts'
import { bodyOf, connect, exchange, statuses } from '../helpers/wire.ts'

const body = initialize()
const size = body.length
const chunked = `${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`
const types = 'Host: localhost\r\nContent-Type: application/json\r\n'
const post = (headers: string, rest = body, version = '1.1'): string =>
  `POST /mcp HTTP/${version}\r\n${types}${headers}\r\n${rest}`

type Row = readonly [name: string, request: string, status: number]

/** Refused with this status, and the connection ends. */
const refused: readonly Row[] = [
  [
    'Content-Length and Transfer-Encoding',
    post(`Content-Length: ${size}\r\nTransfer-Encoding: chunked\r\n`, chunked),
    400
  ],
  [
    'Transfer-Encoding and Content-Length',
    post(`Transfer-Encoding: chunked\r\nContent-Length: ${size}\r\n`, chunked),
    400
  ],
  ['two lengths', post(`Content-Length: ${size}\r\nContent-Length: ${size + 1}\r\n`, `${body} `), 400],
  ['the same length twice', post(`Content-Length: ${size}\r\nContent-Length: ${size}\r\n`), 400],
  ['a length with a sign', post(`Content-Length: +${size}\r\n`), 400],
  ['a list of lengths', post(`Content-Length: ${size}, ${size}\r\n`), 400],
  ['a length in hex', post(`Content-Length: 0x${size.toString(16)}\r\n`), 400],
  ['a negative length', post('Content-Length: -1\r\n'), 400],
  ['a huge length', post('Content-Length: 99999999999999999999\r\n'), 400],
  ['a length with a blank inside', post('Content-Length: 1 0\r\n'), 400],
  ['Transfer-Encoding: xchunked', post('Transfer-Encoding: xchunked\r\n', chunked), 400],
  ['Transfer-Encoding: chunked, identity', post('Transfer-Encoding: chunked, identity\r\n', chunked), 400],
  ['Transfer-Encoding: gzip, chunked', post('Transfer-Encoding: gzip, chunked\r\n', chunked), 400],
  ['Transfer-Encoding: identity', post('Transfer-Encoding: identity\r\n', body), 400],
  ['Transfer-Encoding twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', chunked), 400],
  ['Transfer-Encoding with a vertical tab', post('Transfer-Encoding: \x0bchunked\r\n', chunked), 400],
  ['Transfer-Encoding before a blank and a colon', post('Transfer-Encoding : chunked\r\n', chunked), 400],
  ['a folded Transfer-Encoding', post('Transfer-Encoding:\r\n chunked\r\n', chunked), 400],
  ['Transfer-Encoding in HTTP/1.0', post('Transfer-Encoding: chunked\r\n', chunked, '1.0'), 400],
  [
    'a head with bare line feeds',
    `POST /mcp HTTP/1.1\n${types.replaceAll('\r', '')}Content-Length: ${size}\n\n${body}`,
    400
  ],
  ['a carriage return in a value', post(`X-A: a\rTransfer-Encoding: chunked\r\nContent-Length: ${size}\r\n`), 400],
  ['NUL in a value', post(`X-A: a\0b\r\nContent-Length: ${size}\r\n`), 400],
  ['a header without a name', post(`: x\r\nContent-Length: ${size}\r\n`), 400],
  ['a header without a colon', post(`X-A\r\nContent-Length: ${size}\r\n`), 400],
  ['a chunk size in the wrong base', post('Transfer-Encoding: chunked\r\n', `0x${chunked}`), 400],
  ['a chunk size that overflows', post('Transfer-Encoding: chunked\r\n', `ffffffffffffffff${chunked}`), 400],
  ['a chunk with a bare line feed', post('Transfer-Encoding: chunked\r\n', chunked.replaceAll('\r', '')), 400],
  [
    'a chunk extension that ends in a line feed',
    post('Transfer-Encoding: chunked\r\n', chunked.replace('\r\n', ';\n')),
    400
  ],
  ['more than the chunk size says', post('Transfer-Encoding: chunked\r\n', `1\r\n${body}\r\n0\r\n\r\n`), 400],
  ['a request line of two words', 'POST /mcp\r\n\r\n', 400],
  ['no HTTP', 'hello\r\n\r\n', 400],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  ['HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['a method in lower case', `post /mcp HTTP/1.1\r\n${types}\r\n`, 400],
  ['a method that does not exist', `NOPE /mcp HTTP/1.1\r\n${types}\r\n`, 400],
  ['a blank in the path', `POST /mcp x HTTP/1.1\r\n${types}\r\n`, 400],
  ['17 KiB of headers', post(`X-A: ${'a'.repeat(17 * 1024)}\r\nContent-Length: ${size}\r\n`), 431],
  ['a path of 20 KiB', `POST /${'a'.repeat(20 * 1024)} HTTP/1.1\r\n${types}\r\n`, 431],
  [
    '101 headers',
    post(`${Array.from({ length: 101 }, (_, i) => `a${i}:1\r\n`).join('')}Content-Length: ${size}\r\n`),
    431
  ],
  [
    '1,500 headers',
    post(`${Array.from({ length: 1500 }, (_, i) => `a${i}:1\r\n`).join('')}Content-Length: ${size}\r\n`),
    431
  ],
  ['chunk extensions of 20 KiB', post('Transfer-Encoding: chunked\r\n', `1;${'x'.repeat(20 * 1024)}\r\n`), 413]
]

t.test(
  'requests that could be read two ways are refused in the words of JSON-RPC, and the connection ends (H1, H2)',
  async t => {
    const { url, server } = await startEdge(t)
    for (const [name, request, status] of refused) {
      await t.test(name, async t => {
        const text = await exchange(t, url, request)
        t.same(statuses(text), [status])
        t.match(text, /\r\nconnection: close\r\n/i)
        t.match(text, /\r\ncontent-type: application\/json\r\n/i)
        t.match(bodyOf(text), { jsonrpc: '2.0', error: { code: -32600, message: String } })
        t.notOk('id' in bodyOf(text))
        const length = Number(/content-length: (\d+)/i.exec(text)![1])
        t.equal(text.length - text.indexOf('\r\n\r\n') - 4, length)
      })
    }
    t.same(server.heard, [])
  }
)

/** Read, one way. */
const read: readonly Row[] = [
  ['a body in chunks', post('Connection: close\r\nTransfer-Encoding: Chunked\r\n', chunked), 200],
  [
    'a chunk extension',
    post('Connection: close\r\nTransfer-Encoding: chunked\r\n', chunked.replace('\r\n', ';a=b\r\n')),
    200
  ],
  [
    'trailers, which count for nothing',
    post(
      'Connection: close\r\nTransfer-Encoding: chunked\r\n',
      chunked.replace(/\r\n$/, 'Origin: https://evil.test\r\nMcp-Session-Id: x\r\n\r\n')
    ),
    200
  ],
  ['HTTP/1.0', post(`Content-Length: ${size}\r\n`, body, '1.0'), 200],
  ['Expect: 100-continue', post(`Connection: close\r\nExpect: 100-continue\r\nContent-Length: ${size}\r\n`), 200],
  ['no space after the colon', post(`Connection:close\r\nContent-Length:${size}\r\n`), 200],
  ['empty lines before it', `\r\n\r\n${post(`Connection: close\r\nContent-Length: ${size}\r\n`)}`, 200],
  [
    'headers for the hop',
    post(`Connection: close, mcp-session-id\r\nKeep-Alive: x\r\nTE: trailers\r\nContent-Length: ${size}\r\n`),
    200
  ]
]

t.test('what the grammar allows is read, one way (H1, HTP-06)', async t => {
  const { url, server } = await startEdge(t)
  for (const [name, request, status] of read) {
    await t.test(name, async t => {
      const text = await exchange(t, url, request)
      t.equal(statuses(text).at(-1), status)
      t.match(text, /"protocolVersion":"2025-11-25"/)
    })
  }
  t.equal(server.heardOf('initialize').length, read.length)
})

t.test('an expectation that nobody can meet is 417', async t => {
  const { url, server } = await startEdge(t)
  const text = await exchange(t, url, post(`Expect: miracles\r\nContent-Length: ${size}\r\n`))
  t.same(statuses(text), [417])
  t.match(bodyOf(text), { jsonrpc: '2.0', error: { code: -32600 } })
  t.same(server.heard, [])
})

t.test('the body of a GET is no request (H1)', async t => {
  const { url, server } = await startEdge(t)
  const inner = post(`Content-Length: ${size}\r\n`)
  const text = await exchange(
    t,
    url,
    `GET /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${inner.length}\r\n\r\n${inner}GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
  )
  t.same(statuses(text), [405, 404])
  t.same(server.heard, [])
})

t.test("the backend gets one request with a framing of its own, whatever the client's was (H1)", async t => {
  const { url, upstream } = await startEdge(t)
  await exchange(
    t,
    url,
    post(
      'Connection: close\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\nTrailer: X\r\n',
      chunked.replace('\r\n', ';a=b\r\n')
    )
  )
  const [first] = upstream.seenOf('POST')
  t.equal(first!.headers['transfer-encoding'], undefined)
  t.equal(Number(first!.headers['content-length']), Buffer.byteLength(first!.body))
  t.equal(first!.headers.te, undefined)
  t.equal(first!.headers.trailer, undefined)
})

t.test('garbage after a request costs the connection, and is no answer to it (H21)', async t => {
  const { url } = await startEdge(t, { streams: { sseAfter: '10s' } })
  const opened = await exchange(t, url, post(`Connection: close\r\nContent-Length: ${size}\r\n`))
  const session = /mcp-session-id: (\S+)/i.exec(opened)![1]!
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never"}}'
  const wire = await connect(t, url)
  wire.write(`${post(`Mcp-Session-Id: ${session}\r\nContent-Length: ${call.length}\r\n`, call)}garbage\r\n\r\n`)
  await wire.whole()
  t.equal(wire.text, '', 'a 400 here would pass for the answer to the call')
})

t.test('heads and bodies that do not arrive in time are 408, and the connection ends (H2, H3)', async t => {
  const { url } = await startEdge(t, { server: { limits: { headersTimeout: '200ms', requestTimeout: '400ms' } } })
  const head = await connect(t, url)
  head.write('POST /mcp HTTP/1.1\r\nHost: loc')
  const slow = await connect(t, url)
  slow.write(post(`Content-Length: ${size}\r\n`, '{'))
  const drip = setInterval(() => slow.write(' '), 50)
  t.teardown(() => clearInterval(drip))
  const good = await exchange(t, url, post(`Connection: close\r\nContent-Length: ${size}\r\n`))
  t.same(statuses(good), [200])
  for (const wire of [head, slow]) {
    await wire.whole(3_000)
    t.same(statuses(wire.text), [408])
    t.match(bodyOf(wire.text), { jsonrpc: '2.0', error: { code: -32600 } })
  }
})

t.test('the time for a request is not the time for its answer (H3, HTP-03)', async t => {
  const { url } = await startEdge(t, {
    server: { limits: { headersTimeout: '100ms', requestTimeout: '100ms' } },
    streams: { keepAlive: '50ms', sseAfter: '10ms' }
  })
  const opened = await exchange(t, url, post(`Connection: close\r\nContent-Length: ${size}\r\n`))
  const session = /mcp-session-id: (\S+)/i.exec(opened)![1]!
  const wire = await connect(t, url)
  wire.write(`GET /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: ${session}\r\n\r\n`)
  await wire.until(({ text }) => text.split(':\n\n').length > 8)
  t.notOk(wire.ended)
})

t.test('beyond the most connections new ones are dropped, and the others go on (H4)', async t => {
  const { url, adminUrl } = await startEdge(t, { server: { limits: { maxConnections: 2 } } })
  const first = await connect(t, url)
  const second = await connect(t, url)
  const third = await connect(t, url)
  await third.whole()
  t.equal(third.text, '')
  t.equal((await fetch(new URL('/healthz', adminUrl))).status, 200, 'operators have a listener of their own')
  first.write(post(`Connection: close\r\nContent-Length: ${size}\r\n`))
  t.same(statuses((await first.whole()).text), [200])
  const fourth = await connect(t, url)
  fourth.write(post(`Connection: close\r\nContent-Length: ${size}\r\n`))
  t.same(statuses((await fourth.whole()).text), [200])
  second.socket.destroy()
})
