/** HTTP as it goes wrong in the field, where several backends share a route (HTP-01, HTP-03, HTP-05, HTP-06, HTP-08). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import type { CatalogOptions } from '../helpers/catalog.ts'
import { send } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { called, names, startSeveral, unavailable, wholeList } from '../helpers/several.ts'

failOnRejections(t)

const codings: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gzipSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  deflate: deflateSync,
  foo: body => body
}

/** A backend whose lists are encoded although identity was asked for. */
const encoding = (coding: string): CatalogOptions => ({
  tools: [`tool-${coding}`],
  http: {
    intercept: (request: IncomingMessage, response: ServerResponse, body: string) => {
      if (request.method !== 'POST' || !body.includes('"tools/list"')) return false
      const { id } = JSON.parse(body) as { id: unknown }
      const tools = [{ name: `tool-${coding}`, inputSchema: { type: 'object' } }]
      const encoded = codings[coding]!(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: { tools } })))
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-encoding': coding,
        'content-length': encoded.length
      })
      response.end(encoded)
      return true
    }
  }
})

t.test(
  'lists that are encoded in any way are merged; a coding that nobody knows costs that backend alone (HTP-01)',
  async t => {
    const of = Object.fromEntries(Object.keys(codings).map(coding => [coding, encoding(coding)]))
    const { open } = await startSeveral(t, { ...of, plain: { tools: ['plain'] } })
    const client = await open()
    for (const accepted of ['identity', 'gzip, br']) {
      const { json, headers } = await client.request('tools/list', {}, { 'accept-encoding': accepted })
      t.same(names(json.result.tools), ['tool-gzip', 'tool-br', 'tool-zstd', 'tool-deflate', 'plain'])
      t.same(unavailable(json.result), ['foo'])
      t.equal(headers['content-encoding'], undefined)
    }
  }
)

t.test('silence of one backend is no time-out of another, nor of the channel (HTP-03)', async t => {
  const { open, catalogs } = await startSeveral(
    t,
    { a: { tools: ['silent'] }, b: { tools: ['quick'] } },
    { backends: { b: { timeout: '300ms' } }, file: { streams: { sseAfter: '50ms', keepAlive: '100ms' } } }
  )
  catalogs.a.server.on('tools/call:silent', async turn => {
    await sleep(900)
    turn.answer('{"content":[],"from":"a"}')
  })
  const client = await open()
  const channel = await client.get()
  const call = await client.call('silent')
  t.match(await called(client, 'quick'), { result: { from: 'b' } })
  t.match(await call.events.message(({ result }) => result !== undefined), { result: { from: 'a' } })
  t.notOk(channel.events.ended)
})

t.test('a reader that is slow for one backend delays no answer of another (HTP-05)', async t => {
  const { open, catalogs } = await startSeveral(
    t,
    { a: { tools: ['flood'] }, b: { tools: ['quick'] } },
    { file: { streams: { sseAfter: '20ms', highWater: '16KiB' } } }
  )
  catalogs.a.server.on('tools/call:flood', turn => {
    const data = 'x'.repeat(100_000)
    for (let i = 0; i < 200; i++) turn.notify('notifications/message', { level: 'info', data })
    turn.answer('{"content":[],"from":"a"}')
  })
  const client = await open()
  const slow = await client.call('flood')
  slow.pause()
  for (let i = 0; i < 20; i++) {
    const began = performance.now()
    t.match(await called(client, 'quick'), { result: { from: 'b' } })
    t.ok(performance.now() - began < 1_000)
  }
  slow.resume()
  t.match(await slow.events.message(({ id }) => id === 1, 20_000), { result: { from: 'a' } })
})

t.test('a stream of one backend that breaks is one error of that call alone (HTP-05)', async t => {
  const { open, catalogs } = await startSeveral(
    t,
    { a: { tools: ['dies'] }, b: { tools: ['slow'] } },
    { file: { streams: { sseAfter: '20ms' } } }
  )
  catalogs.a.server.on('tools/call:dies', turn => {
    turn.notify('notifications/message', { level: 'info', data: 'still here' })
    turn.die()
  })
  catalogs.b.server.on('tools/call:slow', async turn => {
    await sleep(200)
    turn.answer('{"content":[],"from":"b"}')
  })
  const client = await open()
  const [dying, slow] = await Promise.all([client.call('dies'), client.call('slow')])
  await dying.events.whole()
  t.match(dying.events.messages.at(-1), { id: 1, error: { code: -32603, data: { backend: 'a' } } })
  t.match(await slow.events.message(({ id }) => id === 2), { result: { from: 'b' } })
})

t.test('nothing of one side, and nothing of one backend, reaches another (HTP-06)', async t => {
  const answering = (name: string): CatalogOptions => ({
    tools: [`tool-${name}`],
    http: {
      intercept: (_: IncomingMessage, response: ServerResponse) => {
        response.setHeader('set-cookie', `of=${name}`)
        response.setHeader('server', name)
        response.setHeader('access-control-allow-origin', '*')
        response.setHeader('x-of', name)
        return false
      }
    }
  })
  const { open, catalogs } = await startSeveral(
    t,
    { a: answering('a'), b: answering('b') },
    { backends: { a: { headers: { authorization: 'Bearer of-a' } }, b: { headers: { 'x-key': 'of-b' } } } }
  )
  const client = await open()
  const own = {
    authorization: 'Bearer client',
    cookie: 'client=1',
    'x-forwarded-for': '1.2.3.4',
    'proxy-authorization': 'Basic client',
    te: 'trailers',
    'x-client': 'client'
  }
  for (const [method, params] of [
    ['tools/list', {}],
    ['tools/call', { name: 'tool-a' }],
    ['tools/call', { name: 'tool-b' }]
  ] as const) {
    const { headers } = await client.request(method, params, own)
    for (const name of ['set-cookie', 'server', 'access-control-allow-origin', 'x-of', 'mcp-session-id'])
      t.equal(headers[name], undefined, `${method}: ${name}`)
  }
  const seen = (name: 'a' | 'b'): string => JSON.stringify(catalogs[name].upstream.seen)
  for (const name of ['a', 'b'] as const) {
    const other = name === 'a' ? 'b' : 'a'
    t.notMatch(seen(name), /client=1|Bearer client|1\.2\.3\.4|Basic client|x-client/, 'what a client shows')
    for (const secret of [`of=${other}`, `of-${other}`, ...catalogs[other].upstream.sessions])
      t.notOk(seen(name).includes(secret), `${name} gets nothing of ${other}`)
    t.notOk(seen(name).includes(client.session!), 'nor the session of the client')
  }
})

t.test('errors of a route with several backends are JSON-RPC, and tell nothing inner (HTP-08)', async t => {
  const { url, open, catalogs } = await startSeveral(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const client = await open()
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const session = { ...json, 'mcp-session-id': client.session }
  for (const [status, request] of [
    [405, { method: 'HEAD', headers: session }],
    [400, { body: '{"jsonrpc":', headers: session }],
    [415, { body: '{}', headers: { ...session, 'content-type': 'text/plain' } }],
    [404, { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', headers: { ...json, 'mcp-session-id': 'nobody' } }],
    [404, { path: '/mcp/a', body: '{}', headers: session }],
    [413, { body: `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"${'x'.repeat(5_000_000)}"}}`, headers: session }]
  ] as const) {
    const response = await send(url, request)
    t.equal(response.status, status)
    if (response.text !== '') t.match(response.json, { jsonrpc: '2.0', error: { code: Number, message: String } })
    t.notMatch(response.text, /\.ts|node_modules|127\.0\.0\.1:|at .*\(/)
  }
  for (const name of ['a', 'b'] as const) t.equal(catalogs[name].channels.size, 0, 'HEAD opens no stream')
  t.equal((await wholeList(client, 'tools/list')).length, 2)
})
