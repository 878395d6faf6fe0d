/** Bodies: JSON, envelope, sizes, depth, duplicate keys (R25; RPC-05, RPC-11, RPC-13; H5, H6, H8-H10, H20). */
import t from 'tap'
import { errorTable } from '../../src/errors.ts'
import { initialize, isRefusal, startEdge } from '../helpers/edge.ts'
import { RawClient, send } from '../helpers/raw-client.ts'
import { bodyOf, connect, exchange, statuses } from '../helpers/wire.ts'

const call = (rest: string, id: string | number = 1): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":${rest}}}`
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const flags = (text: string): Buffer => Buffer.from(text, 'latin1')

t.test(
  'what is not JSON in UTF-8 is 400 -32700, what is no message 400 -32600, without an id that was not there (R25, RPC-11)',
  async t => {
    const { url, server } = await startEdge(t)
    const client = await RawClient.open(url)
    const heard = server.heard.length
    const rows: readonly (readonly [name: string, body: string | Buffer, code: number, id?: string | number])[] = [
      ['an open brace', '{', -32700],
      ['nothing', '', -32700],
      ['a space', ' ', -32700],
      ['NaN', '{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', -32700],
      ['a comment', '{"jsonrpc":"2.0",/**/"id":1,"method":"x"}', -32700],
      ['single quotes', "{'jsonrpc':'2.0'}", -32700],
      ['a trailing comma', '{"jsonrpc":"2.0","id":1,"method":"ping",}', -32700],
      ['two values', '{"jsonrpc":"2.0","id":1,"method":"ping"}{"b":2}', -32700],
      ['a leading zero', '{"jsonrpc":"2.0","id":01,"method":"ping"}', -32700],
      ['a control character in a string', '{"jsonrpc":"2.0","id":1,"method":"a\nb"}', -32700],
      ['a byte order mark', `\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}`, -32700],
      ['UTF-16', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}', 'utf16le'), -32700],
      ['a byte that is no UTF-8', flags('{"jsonrpc":"2.0","id":1,"method":"a\xff"}'), -32700],
      ['an overlong slash', flags('{"jsonrpc":"2.0","id":1,"method":"a\xc0\xaf"}'), -32700],
      ['half a character', flags('{"jsonrpc":"2.0","id":1,"method":"a\xe2\x82"}'), -32700],
      ['a surrogate in UTF-8', flags('{"jsonrpc":"2.0","id":1,"method":"a\xed\xa0\x80"}'), -32700],
      ['null', 'null', -32600],
      ['a string', '"x"', -32600],
      ['a number', '42', -32600],
      ['an empty object', '{}', -32600],
      ['no version', '{"id":1,"method":"ping"}', -32600, 1],
      ['version 1.0', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1],
      ['version as a number', '{"jsonrpc":2.0,"id":"a","method":"ping"}', -32600, 'a'],
      ['no method', '{"jsonrpc":"2.0","id":1}', -32600, 1],
      ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1],
      ['an empty method', '{"jsonrpc":"2.0","id":1,"method":""}', -32600, 1],
      ['method and result', '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', -32600, 1],
      ['result and error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', -32600, 1],
      ['a result without an id', '{"jsonrpc":"2.0","result":{}}', -32600],
      ['params as a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600, 1],
      ['params null', '{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', -32600, 1],
      ['_meta as a string', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":"x"}}', -32600, 1],
      ['id null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
      ['id a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
      ['id with an exponent', '{"jsonrpc":"2.0","id":1e2,"method":"ping"}', -32600],
      ['id a boolean', '{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600],
      ['id an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
      ['id a list', '{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600],
      ['id of 10 KB', `{"jsonrpc":"2.0","id":"${'x'.repeat(10_000)}","method":"ping"}`, -32600]
    ]
    for (const [name, body, code, id] of rows) {
      await t.test(name, async t => {
        isRefusal(t, await send(url, { headers: client.headers as Record<string, string>, body }), 400, code, id)
      })
    }
    t.equal(server.heard.length, heard, 'nothing ran')
    t.equal((await client.request('ping')).status, 200, 'the session is usable')
  }
)

t.test('a response that nobody asked for is 400 and forwarded to nobody', async t => {
  const { url, server } = await startEdge(t)
  const client = await RawClient.open(url)
  const heard = server.heard.length
  isRefusal(t, await client.post({ id: 1, result: {} }), 400, -32600)
  isRefusal(t, await client.post({ id: 'ask-1', error: { code: 1, message: 'x' } }), 400, -32600)
  t.equal(server.heard.length, heard)
})

t.test(
  'requests without an id do not run and are not answered; notifications with one are unknown methods (RPC-05)',
  async t => {
    const { url, server } = await startEdge(t)
    const client = await RawClient.open(url)
    const { status, text } = await client.post({ method: 'tools/call', params: { name: 'echo', arguments: {} } })
    t.equal(status, 202)
    t.equal(text, '')
    isRefusal(
      t,
      await send(url, { headers: { 'content-type': 'application/json' }, body: initialize().replace('"id":1,', '') }),
      400,
      -32600
    )
    const odd = await client.post({ id: 9, method: 'notifications/initialized' })
    t.match(odd.json, { id: 9, error: { code: -32601 } })
    await client.request('ping')
    t.same(server.heardOf('tools/call'), [])
  }
)

t.test('ids come back as they were written: type, digits, escapes (H10)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  for (const id of [
    '0',
    '-1',
    '9007199254740993',
    '123456789012345678901234567890',
    '""',
    '"1"',
    '"\\u0041\\/"',
    '"é😀"'
  ]) {
    t.ok((await client.post(call('{}', id))).text.includes(`"id":${id}`), id)
    t.ok((await client.post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)).text.includes(`"id":${id}`), `ping ${id}`)
    const stream = await client.post(call('{}', id), { accept: 'text/event-stream' })
    await stream.events.whole()
    t.ok(stream.events.all.at(-1)!.data!.includes(`"id":${id}`), `stream ${id}`)
  }
})

t.test(
  'up to the limit a body is taken, beyond it 413, by Content-Length and in chunks, and the connection ends (H5, R25)',
  async t => {
    const limit = 20_000
    const { url, server } = await startEdge(t, { server: { limits: { body: `${limit}B` } } })
    const client = await RawClient.open(url)
    const sized = (size: number): string => {
      const around = call(JSON.stringify({ pad: '' })).length
      return call(JSON.stringify({ pad: 'x'.repeat(size - around) }))
    }
    t.equal((await client.post(sized(limit))).status, 200)
    const heard = server.heard.length
    const big = await client.post(sized(limit + 1))
    isRefusal(t, big, 413, -32600)
    t.equal(big.headers.connection, 'close')

    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: ${client.session}\r\n`
    const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
    const exact = sized(limit)
    const chunked = await exchange(
      t,
      url,
      `${head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(exact.slice(0, 7))}${chunk(exact.slice(7))}0\r\n\r\n`
    )
    t.same(statuses(chunked), [200])
    const endless = await connect(t, url)
    endless.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
    for (let i = 0; i < 3; i++) endless.write(chunk('x'.repeat(10_000)))
    await endless.whole()
    t.same(statuses(endless.text), [413])
    t.match(bodyOf(endless.text), { error: { code: -32600 } })

    const promised = await exchange(t, url, `${head}Content-Length: 99999999\r\n\r\n{`)
    t.same(statuses(promised), [413], 'before any of it was read')
    t.equal(server.heard.length, heard + 1)
    t.equal((await client.request('ping')).status, 200, 'the session is usable')
  }
)

t.test('a request that follows a refused body is never served as part of it (H21)', async t => {
  const { url, server } = await startEdge(t, { server: { limits: { body: '1KiB' } } })
  const inner = initialize()
  const smuggled = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`
  for (const framing of [`Content-Length: ${smuggled.length + 2000}`, 'Transfer-Encoding: chunked']) {
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`
    const body = 'x'.repeat(2000) + smuggled
    const text = await exchange(
      t,
      url,
      framing.startsWith('C') ? head + body : `${head}${body.length.toString(16)}\r\n${body}\r\n`
    )
    t.same(statuses(text), [413], framing)
  }
  t.same(server.heard, [])
})

t.test('a client that sends all of a body that is too large reads why, not a reset (H5)', async t => {
  const { url } = await startEdge(t)
  const body = 'x'.repeat(6 * 1024 * 1024)
  for (let i = 0; i < 5; i++) {
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    t.equal(response.status, 413)
    t.match(await response.json(), { error: { code: -32600 } })
  }
})

t.test('the default takes what messages with base64 need (RPC-11)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  const { status, json } = await client.call('echo', { pad: 'x'.repeat(1_200_000) })
  t.equal(status, 200)
  t.equal(json.result.content[0].text.length, 1_200_010)
})

t.test('depth is bounded before anything is built; deep input kills nothing (H6, RPC-11)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  t.equal((await client.post(call(`{"a":${nested(61)}}`))).status, 200)
  for (const depth of [62, 101, 5_000, 100_000, 500_000]) {
    isRefusal(t, await client.post(call(`{"a":${nested(depth)}}`)), 400, -32600)
  }
  isRefusal(t, await client.post('{"a":'.repeat(100_000)), 400, -32600)
  isRefusal(t, await client.post('['.repeat(100_000)), 400, -32600)
  t.equal((await client.request('ping')).status, 200)
})

t.test('members that the gateway decides on may not stand twice, however they are written (H9, RPC-13)', async t => {
  const { url, server } = await startEdge(t)
  const client = await RawClient.open(url)
  const heard = server.heard.length
  const rows = [
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"echo"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","\\u006dethod":"tools/call"}',
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    '{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"never"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","n\\u0061me":"never"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"params":{"name":"never"}}',
    '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a","uri":"b"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1,"progressToken":2}}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","x":1,"x":1}'
  ]
  for (const body of rows) await t.test(body, async t => isRefusal(t, await client.post(body), 400, -32600))
  t.equal(server.heard.length, heard)
  const inside = await client.post(call('{"a":1,"a":2,"\\u0061":3}'))
  t.equal(inside.json.result.content[0].text, '{"a":1,"a":2,"\\u0061":3}', "arguments are the backend's affair")
})

t.test('names of the language mean nothing in a message (H8)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  const prototype = Object.getOwnPropertyNames(Object.prototype).join()
  const args = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1}'
  t.equal((await client.post(call(args))).json.result.content[0].text, args)
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
    t.match((await client.request(name)).json, { error: { code: -32601 } }, `method ${name}`)
    t.equal((await client.post(`{"jsonrpc":"2.0","id":1,"method":"ping","${name}":{}}`)).status, 200)
    isRefusal(t, await client.post({ id: 1, method: 'ping' }, { 'mcp-session-id': name }), 404, -32600, 1)
  }
  t.equal(Object.getOwnPropertyNames(Object.prototype).join(), prototype)
  t.equal(({} as Record<string, unknown>).polluted, undefined)
})

t.test('multi-byte characters survive any cut between packets (R25)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  const body = Buffer.from(call('{"a":"€😀é"}'))
  const wire = await connect(t, url)
  wire.socket.setNoDelay(true)
  wire.write(
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Mcp-Session-Id: ${client.session}\r\nContent-Length: ${body.length}\r\n\r\n`
  )
  for (const byte of body) {
    wire.write(Buffer.from([byte]))
    await new Promise(resolve => setImmediate(resolve))
  }
  t.match(Buffer.from((await wire.whole()).text, 'latin1').toString(), /€😀é/)
})

t.test('a lone surrogate escape is valid JSON and passes as it is (RPC-11)', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  const { text } = await client.post(call('{"a":"\\ud800"}'))
  t.ok(text.includes('\\\\ud800'))
})

t.test('no code of ours is one that belongs to others (H20)', async t => {
  const standard = new Set([-32700, -32600, -32601, -32602, -32603])
  const modern: Readonly<Record<string, number>> = {
    mismatch: -32020,
    capability: -32021,
    unsupported_version: -32022
  }
  for (const [code, { rpc }] of Object.entries(errorTable)) {
    t.ok(standard.has(rpc) || modern[code] === rpc, `${code}: ${rpc}`)
  }
})
