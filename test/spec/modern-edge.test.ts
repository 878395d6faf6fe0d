/** The edge of 2026-07-28: what is served, refused and answered with, over real sockets. */
import http from 'node:http'
import t from 'tap'
import { initialize, isRefusal, startEdge } from '../helpers/edge.ts'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { RawClient, send } from '../helpers/raw-client.ts'

const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

t.test('server/discover tells what the route is, with the id as it was sent (ERA-01)', async t => {
  const { url } = await startEdge(t)
  const { status, json, headers } = await new ModernClient(url).request('server/discover', {}, { id: 'discover-1' })
  t.equal(status, 200)
  t.equal(headers['mcp-session-id'], undefined)
  t.same(json, {
    jsonrpc: '2.0',
    id: 'discover-1',
    result: {
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      capabilities: { tools: { listChanged: true }, logging: {} },
      instructions: 'do as told',
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1' } }
    }
  })
})

t.test('several backends are one server to modern clients (ERA-01)', async t => {
  const { upstream } = await startEdge(t)
  upstream.server.on('tools/list', turn => turn.answer('{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}'))
  const { url } = await startGateway(t, {
    backends: {
      a: { kind: 'http', url: upstream.url },
      b: { kind: 'http', url: upstream.url }
    }
  })
  const client = new ModernClient(url)
  const { json } = await client.request('server/discover')
  t.match(json.result, { capabilities: { tools: {} }, instructions: '# a\n\ndo as told\n\n# b\n\ndo as told' })
  t.equal(json.result._meta['io.modelcontextprotocol/serverInfo'].name, 'causeway')
  const { json: list } = await client.request('tools/list')
  t.match(list.result, {
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
    tools: [{ name: 'a_echo' }, { name: 'b_echo' }]
  })
  t.match(await lastOf(await client.call('b_echo', { x: 1 })), { result: { content: [{ text: '{"x":1}' }] } })
  const unknown = await client.call('nobody')
  t.equal(unknown.status, 200)
  t.equal(unknown.json.error.code, -32602)
  t.equal((await client.request('vendor/method')).status, 404)
})

t.test(
  'a route without the revision tells its versions with no code of it: clients fall back (R9, ERA-01)',
  async t => {
    const versions = ['2025-06-18', '2025-11-25']
    const { url } = await startEdge(t, { routes: { '/mcp': { backends: ['docs'], protocol: { versions } } } })
    const response = await new ModernClient(url).request('server/discover', {}, { id: 5 })
    isRefusal(t, response, 400, -32600, 5)
    t.match(response.json.error.message, /2025-11-25/)
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await send(url, {
        method,
        headers: { accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28' }
      })
      t.equal(status, 405)
      t.equal(headers.allow, 'POST')
    }
  }
)

t.test('a route with the revision alone has no handshake, no sessions, no GET', async t => {
  const { url } = await startEdge(t, {
    routes: { '/mcp': { backends: ['docs'], protocol: { versions: ['2026-07-28'] } } }
  })
  const response = await send(url, { headers: usual, body: initialize() })
  isRefusal(t, response, 400, -32022, 1)
  t.same(response.json.error.data.supported, ['2026-07-28'])
  t.equal(response.headers['mcp-session-id'], undefined)
  for (const method of ['GET', 'DELETE']) {
    const { status } = await send(url, { method, headers: { accept: 'text/event-stream', 'mcp-session-id': 'x' } })
    t.equal(status, 405)
  }
  t.equal((await new ModernClient(url).call('echo')).status, 200)
})

t.test('versions of a route are told newest first, in whatever order they are configured', async t => {
  const versions = ['2025-11-25', '2026-07-28', '2024-11-05']
  const { url } = await startEdge(t, { routes: { '/mcp': { backends: ['docs'], protocol: { versions } } } })
  const newestFirst = ['2026-07-28', '2025-11-25', '2024-11-05']
  const { json } = await new ModernClient(url).request('server/discover')
  t.same(json.result.supportedVersions, newestFirst)
  const unknown = await new ModernClient(url, { version: '2026-12-31' }).call('echo', {}, { id: 1 })
  t.same(unknown.json.error.data.supported, newestFirst)
  const older = await send(url, { headers: usual, body: initialize('2020-01-01') })
  t.equal(older.json.result.protocolVersion, '2025-11-25')
})

t.test('initialize gets the newest legacy version, whatever is newer (R2)', async t => {
  const { url } = await startEdge(t)
  for (const version of ['2026-07-28', '2099-01-01']) {
    const { json, headers } = await send(url, { headers: usual, body: initialize(version) })
    t.equal(json.result.protocolVersion, '2025-11-25')
    t.ok(headers['mcp-session-id'])
  }
})

t.test('every check has its place: the first that fails is told (R9)', async t => {
  const { url, server } = await startEdge(t)
  const client = new ModernClient(url)
  const missing = { 'io.modelcontextprotocol/clientCapabilities': undefined }
  const other = { 'io.modelcontextprotocol/protocolVersion': '2026-07-29' }
  const bad = { 'mcp-method': 'tools/list' }
  isRefusal(t, await client.call('echo', {}, { id: 1, meta: { ...other, ...missing }, headers: bad }), 400, -32020, 1)
  const future = new ModernClient(url, { version: '2026-07-29' })
  isRefusal(t, await future.call('echo', {}, { id: 2, meta: missing, headers: bad }), 400, -32022, 2)
  isRefusal(t, await client.call('echo', {}, { id: 3, meta: missing, headers: bad }), 400, -32602, 3)
  isRefusal(t, await client.request('ping', {}, { id: 4, headers: bad }), 400, -32020, 4)
  isRefusal(t, await client.request('ping', {}, { id: 5 }), 404, -32601, 5)
  t.equal(server.heardOf('tools/call').length, 0)
})

for (const method of [
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/result',
  'tasks/list'
]) {
  t.test(`${method} is gone: 404, and no backend hears of it`, async t => {
    const { url, server } = await startEdge(t)
    isRefusal(t, await new ModernClient(url).request(method, { uri: 'a:b', level: 'info' }, { id: 1 }), 404, -32601, 1)
    t.equal(server.heard.length, 0)
  })
}

t.test('notifications are accepted, and that is all', async t => {
  const { url, server } = await startEdge(t)
  const body = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
  const { status, text } = await send(url, { headers: { ...usual, 'mcp-protocol-version': '2026-07-28' }, body })
  t.equal(status, 202)
  t.equal(text, '')
  t.equal(server.heard.length, 0)
})

t.test('a log level that nobody knows is refused (server/utilities/logging)', async t => {
  const { url } = await startEdge(t)
  const meta = { 'io.modelcontextprotocol/logLevel': 'loud' }
  isRefusal(t, await new ModernClient(url).call('echo', {}, { id: 1, meta }), 400, -32602, 1)
})

t.test('errors of a backend keep their codes where the revision has them, with the status of the code', async t => {
  const { url, server } = await startEdge(t)
  const client = new ModernClient(url)
  const told: readonly [code: number, seen: number, status: number][] = [
    [-32601, -32601, 404],
    [-32021, -32021, 400],
    [-32602, -32602, 200],
    [-32002, -32602, 200],
    [-32050, -32603, 200],
    [-32000, -32000, 200],
    [17, 17, 200]
  ]
  for (const [code, seen, status] of told) {
    server.on('resources/read', turn => turn.refuse(code, 'so it is', { uri: 'a:b' }))
    const response = await client.request('resources/read', { uri: 'a:b' })
    t.equal(response.status, status, `${code}`)
    t.match(response.json.error, { code: seen, message: 'so it is', data: { uri: 'a:b' } })
  }
})

t.test('a session id and an event id are not looked at: no session is touched or told of (M26-08)', async t => {
  const { url, server } = await startEdge(t)
  const own = await RawClient.open(url)
  const client = new ModernClient(url)
  const headers = { 'mcp-session-id': own.session, 'last-event-id': 'x_1' }
  const [one, two] = await Promise.all([
    client.call('echo', { n: 1 }, { id: 1, headers }),
    client.call('echo', { n: 2 }, { id: 1, headers })
  ])
  t.equal(one.json.result.content[0].text, '{"n":1}')
  t.equal(two.json.result.content[0].text, '{"n":2}')
  t.equal(one.headers['mcp-session-id'], undefined)
  t.equal((await client.call('echo', {}, { headers: { 'mcp-session-id': 'nobody' } })).status, 200)
  t.equal((await own.call('echo')).status, 200)
  t.equal(server.heardOf('initialize').length, 5, 'one for the session, one for lists, one for each call')
})

t.test('what passes between is as the backend wrote it, numbers to the last digit (R61)', async t => {
  const { url } = await startEdge(t)
  const { text } = await new ModernClient(url).call('odd')
  t.match(text, '"big":9007199254740993,"one":1.0,"tiny":-0,"huge":1e400,"empty":[],"none":{},"b":1,"a":2')
  t.match(text, '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"1"},"x/y":[1.50]}')
})

t.test('on one connection every request is judged by itself (M26-10)', async t => {
  const { url, server } = await startEdge(t)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  server.on('tools/call:log', turn => {
    turn.notify('notifications/message', { level: 'error', data: 'x' })
    turn.answer('{"content":[]}')
  })
  const say = (method: string, params: object, headers: Record<string, string>) =>
    send(url, {
      agent,
      headers: { ...usual, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    })
  const modern = (meta: object) => ({
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      ...meta
    }
  })
  const version = { 'mcp-protocol-version': '2026-07-28' }
  const call = (meta: object) =>
    say(
      'tools/call',
      { name: 'log', arguments: {}, ...modern(meta) },
      { ...version, 'mcp-method': 'tools/call', 'mcp-name': 'log' }
    )
  const loud = await call({ 'io.modelcontextprotocol/logLevel': 'debug' })
  t.equal((await loud.events.whole()).messages.length, 2)
  t.equal((await call({})).json.result.resultType, 'complete')
  t.equal((await say('server/discover', modern({}), { ...version, 'mcp-method': 'server/discover' })).status, 200)
  const legacy = await say('initialize', JSON.parse(initialize()).params, {})
  t.equal(legacy.json.result.protocolVersion, '2025-11-25')
  isRefusal(t, await say('tools/list', modern({}), { ...version, 'mcp-method': 'initialize' }), 400, -32020, 1)
  t.equal((await call({})).json.result.resultType, 'complete')
})

t.test('no new request is taken while the gateway drains', async t => {
  const { url, server, gateway } = await startEdge(t)
  const turn = Promise.withResolvers<void>()
  server.on('tools/call:held', async held => {
    turn.resolve()
    await held.cancelled
  })
  const held = new ModernClient(url).call('held').then(lastOf)
  await turn.promise
  const closing = gateway.close({ deadline: 200 })
  t.match(await held, { error: { code: -32603, data: { reason: 'shutdown' } } })
  await closing
})
