/** decisions: rows "initialize", "initialize carrying a session id", "Session id"; requirements R1-R7, R13, R14. */
import t from 'tap'
import { initialize, isRefusal } from '../helpers/edge.ts'
import { startLegacy } from '../helpers/legacy.ts'
import { RawClient, send } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const withVersion = (version: unknown): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 'i',
    method: 'initialize',
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  })

t.test('the version asked for, or the newest that is served; none that does not exist (R1, VER-05)', async t => {
  const { url } = await startLegacy(t)
  for (const [asked, answered] of [
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['1999-12-31', '2025-11-25'],
    ['2025-11-25 ', '2025-11-25'],
    ['2099-01-01', '2025-11-25'],
    ['', '2025-11-25']
  ] as const) {
    const { status, json, headers } = await send(url, { headers: usual, body: withVersion(asked) })
    t.equal(status, 200)
    t.equal(json.result.protocolVersion, answered, `${JSON.stringify(asked)} (R1, VER-05)`)
    t.match(headers['mcp-session-id'], /^[\x21-\x7e]{22,}$/)
  }
  for (const asked of [42, null, undefined, ['2025-11-25']]) {
    const response = await send(url, { headers: usual, body: withVersion(asked) })
    isRefusal(t, response, 200, -32602, 'i')
    t.equal(response.headers['mcp-session-id'], undefined, 'no session (VER-05)')
  }
})

t.test('a route that serves some versions answers its newest to the others (VER-01)', async t => {
  const { url } = await startLegacy(t, {
    file: { routes: { '/mcp': { backends: ['docs'], protocol: { versions: ['2025-03-26', '2025-06-18'] } } } }
  })
  for (const [asked, answered] of [
    ['2025-03-26', '2025-03-26'],
    ['2025-11-25', '2025-06-18'],
    ['2024-11-05', '2025-06-18']
  ] as const) {
    const { json } = await send(url, { headers: usual, body: withVersion(asked) })
    t.equal(json.result.protocolVersion, answered)
  }
})

t.test('the version header of initialize is not looked at (VER-01)', async t => {
  const { url } = await startLegacy(t)
  for (const [header, body] of [
    ['2099-01-01', '2099-01-01'],
    ['2099-01-01', '2025-06-18'],
    ['banana', '2025-11-25'],
    ['2025-06-18', '2025-11-25'],
    [undefined, '2025-11-25']
  ]) {
    const { status, headers } = await send(url, {
      headers: { ...usual, 'mcp-protocol-version': header },
      body: withVersion(body)
    })
    t.equal(status, 200, `${header} and ${body}`)
    t.ok(headers['mcp-session-id'])
  }
  const mixed = await send(url, {
    headers: { ...usual, 'mcp-protocol-version': '2026-07-28' },
    body: withVersion('2025-11-25')
  })
  isRefusal(t, mixed, 400, -32020, 'i')
})

t.test('the rest of the result is what the backend says; each leg speaks its own version (R2, R4, VER-06)', async t => {
  const { open, upstream } = await startLegacy(t)
  const client = await open({ version: '2025-03-26' })
  t.match(client.server, {
    protocolVersion: '2025-03-26',
    serverInfo: { name: 'scripted', version: '1' },
    instructions: 'do as told'
  })
  await client.call('echo')
  const handshake = /"(server\/discover|initialize)"/
  for (const { headers, body } of upstream.seenOf('POST').filter(({ body }) => !handshake.test(body))) {
    t.equal(headers['mcp-protocol-version'], '2025-11-25', body)
  }
})

t.test("the client's capabilities and description go up as they are (R4, R7)", async t => {
  const { url, server } = await startLegacy(t)
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: { form: {} }, experimental: { x: [1, null] } },
    clientInfo: { name: 'c', version: '1', description: 'described', icons: [] }
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await send(url, { headers: usual, body })
  const [heard] = server.heardOf('initialize')
  const { capabilities, clientInfo } = JSON.parse(heard!.source.toString()).params
  t.same({ capabilities, clientInfo }, { capabilities: params.capabilities, clientInfo: params.clientInfo })
})

t.test('a client that takes only an event stream gets its result and its session there', async t => {
  const { url } = await startLegacy(t)
  const response = await send(url, { headers: { ...usual, accept: 'text/event-stream' }, body: initialize() })
  t.ok(response.headers['mcp-session-id'])
  await response.events.whole()
  t.match(response.events.messages, [{ id: 1, result: { protocolVersion: '2025-11-25' } }])
})

t.test('a session only when the backend agrees; its failure is an error in 200 (R13)', async t => {
  const { url, server, status } = await startLegacy(t)
  server.on('initialize', turn => turn.refuse(-32603, 'not today'))
  const { status: code, json, headers } = await send(url, { headers: usual, body: initialize() })
  t.equal(code, 200)
  t.match(json, { id: 1, error: { data: { backend: 'docs' } } })
  t.equal(headers['mcp-session-id'], undefined)
  t.equal((await status()).sessions, 0)
})

t.test('the id stands on no other response (R13)', async t => {
  const { open } = await startLegacy(t)
  const client = await open()
  const responses = [
    await client.post({ method: 'notifications/initialized' }),
    await client.call('echo'),
    await client.call('progress', {}, { progressToken: 1 }),
    await client.get(),
    await client.get('nonsense'),
    await client.delete(),
    await client.call('echo')
  ]
  for (const { headers } of responses) t.equal(headers['mcp-session-id'], undefined)
})

t.test('initialize carrying an id: a dead one is no hindrance, a live one is refused (R14, SES-16)', async t => {
  const { open, url, server } = await startLegacy(t)
  const client = await open()
  const live = await client.post(initialize())
  isRefusal(t, live, 400, -32600, 1)
  t.equal(server.heardOf('initialize').length, 1)
  t.equal((await client.call('echo')).status, 200, 'the session goes on')
  await client.delete()
  const dead = await client.post(initialize())
  t.equal(dead.status, 200)
  const anew = dead.headers['mcp-session-id']
  t.ok(anew !== undefined && anew !== client.session)
  const unknown = await send(url, { headers: { ...usual, 'mcp-session-id': 'never-was' }, body: initialize() })
  t.equal(unknown.status, 200)
  t.not(unknown.headers['mcp-session-id'], anew)
})

t.test('initialize without an id makes no session (RPC-05)', async t => {
  const { url, status } = await startLegacy(t)
  const response = await send(url, { headers: usual, body: '{"jsonrpc":"2.0","method":"initialize","params":{}}' })
  isRefusal(t, response, 400, -32600)
  t.equal((await status()).sessions, 0)
})

t.test('requests between initialize and initialized are served: clients race (R6)', async t => {
  const { open } = await startLegacy(t)
  const client = await open({ operating: false })
  t.equal((await client.request('ping')).status, 200)
  t.match((await client.call('echo')).json, { result: { content: [{ text: '{}' }] } })
  t.equal((await client.post({ method: 'notifications/initialized' })).status, 202)
  t.equal((await client.post({ method: 'notifications/initialized' })).status, 202)
})

t.test('two sessions of different versions live side by side (R2)', async t => {
  const { open, held } = await startLegacy(t)
  const [old, young] = [await open({ version: '2025-03-26' }), await open({ version: '2025-11-25' })]
  const batch = [{ id: 1, method: 'ping' }]
  t.equal((await old.post(batch)).status, 200)
  t.equal((await young.post(batch)).status, 400)
  for (const [client, primed] of [
    [old, false],
    [young, true]
  ] as const) {
    const response = client.call('held', {}, { progressToken: 1 })
    const turn = await held()
    turn.progress(1)
    const { events } = await response
    await events.message(({ method }) => method === 'notifications/progress')
    t.equal(events.all[0]?.message === undefined, primed, 'the priming event')
    turn.answer('{}')
    await events.whole()
  }
})

t.test('old clients and new ones share a gateway with clients that say nothing of themselves', async t => {
  const { url } = await startLegacy(t)
  const body = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}'
  const { json, headers } = await send(url, { headers: usual, body })
  t.equal(json.result.protocolVersion, '2024-11-05')
  const client = new RawClient(url)
  client.session = headers['mcp-session-id'] as string
  t.equal((await client.call('echo', {}, undefined)).status, 200, 'with a header of another served version')
})
