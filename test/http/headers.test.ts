import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { checkHeaders } from '../../src/http/headers.ts'

const request = (pairs: readonly (readonly [string, string])[], httpVersionMinor = 1): IncomingMessage =>
  ({
    rawHeaders: pairs.flat(),
    headers: Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value])),
    httpVersionMajor: 1,
    httpVersionMinor
  }) as unknown as IncomingMessage

const singletons: readonly (readonly [name: string, code: string, status: number, rpcCode: number])[] = [
  ['Origin', 'origin', 403, -32600],
  ['MCP-Protocol-Version', 'mismatch', 400, -32020],
  ['Mcp-Method', 'mismatch', 400, -32020],
  ['Mcp-Name', 'mismatch', 400, -32020],
  ['Host', 'header', 400, -32600],
  ['Authorization', 'header', 400, -32600],
  ['Content-Type', 'header', 400, -32600],
  ['Mcp-Session-Id', 'header', 400, -32600],
  ['Last-Event-ID', 'header', 400, -32600]
]

t.test('a singleton header that stands twice is refused, however it is spelt and whatever it says (R15)', async t => {
  for (const [name, code, status, rpcCode] of singletons) {
    const refusal = { code, status, rpcCode, headers: { connection: 'close' } }
    t.throws(
      () =>
        checkHeaders(
          request([
            [name, 'a'],
            ['X', 'y'],
            [name.toUpperCase(), 'a']
          ])
        ),
      refusal,
      name
    )
    t.throws(
      () =>
        checkHeaders(
          request([
            [name, 'a'],
            [name, 'b']
          ])
        ),
      refusal,
      name
    )
    t.doesNotThrow(() => checkHeaders(request([[name, 'a']])), name)
  }
})

t.test('values that two headers were joined to are refused as two headers are', async t => {
  const rows: readonly (readonly [name: string, value: string, refused: boolean])[] = [
    ['Origin', 'http://a, http://b', true],
    ['MCP-Protocol-Version', '2025-11-25, 2025-06-18', true],
    ['MCP-Protocol-Version', '2025-11-25,2025-11-25', true],
    ['Mcp-Method', 'tools/call,tools/list', true],
    ['Mcp-Session-Id', 'a,b', true],
    ['Last-Event-ID', 'a, b', true],
    ['Host', 'localhost, evil.test', true],
    ['Authorization', 'Bearer a, Bearer b', true],
    ['Authorization', 'Digest username="a", realm="b"', false],
    ['Content-Type', 'application/json, text/plain', true],
    ['Content-Type', 'application/json; x="a,b"', false],
    ['Mcp-Name', 'file:///a,b', false],
    ['Accept', 'a, b', false],
    ['Mcp-Session-Id', 'abc', false]
  ]
  for (const [name, value, refused] of rows) {
    const check = (): void => checkHeaders(request([[name, value]]))
    if (refused) t.throws(check, { name: 'GatewayError' }, `${name}: ${value}`)
    else t.doesNotThrow(check, `${name}: ${value}`)
  }
})

t.test('headers that may stand twice may', async t => {
  t.doesNotThrow(() =>
    checkHeaders(
      request([
        ['Accept', 'a'],
        ['Accept', 'b'],
        ['Cookie', 'a'],
        ['Cookie', 'b']
      ])
    )
  )
})

t.test('spellings without end cost no memory and no check', async t => {
  for (let i = 0; i < 2_000; i++) checkHeaders(request([[`X-${i}`, 'y']]))
  t.throws(
    () =>
      checkHeaders(
        request([
          ['oRiGiN', 'a'],
          ['OrIgIn', 'b']
        ])
      ),
    { code: 'origin' }
  )
})

t.test('more headers than Node keeps are refused, not cut off (H2)', async t => {
  const pairs = Array.from({ length: 101 }, (_, i) => [`x-${i}`, ''] as const)
  t.throws(() => checkHeaders(request(pairs)), { code: 'header', status: 400 })
  t.doesNotThrow(() => checkHeaders(request(pairs.slice(1))))
})

t.test('bodies are framed one way, and not encoded (H1, H13)', async t => {
  t.doesNotThrow(() => checkHeaders(request([['Transfer-Encoding', 'Chunked']])))
  t.throws(() => checkHeaders(request([['Transfer-Encoding', 'gzip, chunked']])), { code: 'header' })
  t.throws(() => checkHeaders(request([['Transfer-Encoding', 'chunked']], 0)), { code: 'header' })
  t.doesNotThrow(() => checkHeaders(request([['Content-Encoding', 'identity']])))
  for (const encoding of ['gzip', 'br', 'gzip, identity', 'x']) {
    t.throws(() => checkHeaders(request([['Content-Encoding', encoding]])), { code: 'media_type', status: 415 })
  }
})
