/** Whom modern clients and servers may trust, and with what (S8, S11, S12, B8 of the threats). */
import t, { type Test } from 'tap'
import { startEdge } from '../helpers/edge.ts'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { asking, form, modernScripted, serveModern } from '../helpers/modern-scripted.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import type { Scripted, Turn } from '../helpers/scripted.ts'
import { names } from '../helpers/several.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'

failOnRejections(t)

const ways: Readonly<Record<string, (t: Test, server: Scripted) => Promise<object>>> = {
  http: async (t, server) => (await serveModern(t, server)).config,
  async stdio(t, server) {
    const { command, args, close } = await stdioUpstream(server)
    t.teardown(close)
    return { kind: 'stdio', command, args }
  }
}

const done = '{"resultType":"complete","content":[{"type":"text","text":"done"}]}'

t.test('a request in a stream of the modern era ends the call with one error, and the stream (B8)', async t => {
  const server = modernScripted()
  let turn: Turn | undefined
  server.on('tools/call:asks', call => {
    turn = call
    call.progress(1)
    call.raw('{"jsonrpc":"2.0","id":"s1","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}')
  })
  server.on('tools/call:fine', call => call.answer(done))
  const { upstream, config } = await serveModern(t, server)
  const cut = new Promise<void>(resolve => {
    upstream.options.intercept = (_, response, body) => {
      if (body.includes('"asks"')) response.on('close', resolve)
      return false
    }
  })
  const { url } = await startGateway(t, { backends: { docs: config } })
  const capabilities = { elicitation: {}, sampling: {}, roots: {} }
  for (const client of ['modern', 'legacy'] as const) {
    const call =
      client === 'modern'
        ? new ModernClient(url, { capabilities }).call('asks', {}, { meta: { progressToken: 1 } })
        : (await RawClient.open(url, { capabilities })).call('asks', {}, { progressToken: 1 })
    const { events } = await call
    const { messages } = await events.whole()
    t.match(messages, [
      { method: 'notifications/progress' },
      { error: { code: -32603, data: { reason: 'backend_invalid', backend: 'docs' } } }
    ])
    t.equal(messages.length, 2, 'nobody is asked')
    await cut
  }
  turn!.answer(done)
  t.match(await lastOf(await new ModernClient(url).call('fine')), { result: { content: [{ text: 'done' }] } })
  t.same(
    server.heard.filter(({ kind }) => kind === 'response'),
    []
  )
})

t.test('on a pipe it names no call: nobody answers it, its call ends in time, the others go on (B8)', async t => {
  const server = modernScripted()
  server.on('tools/call:asks', async turn => {
    await turn.ask('roots/list')
    turn.answer(done)
  })
  server.on('tools/call:goes_on', turn => {
    void turn.ask('ping')
    turn.answer(done)
  })
  const { url } = await startGateway(t, {
    backends: { docs: { ...(await ways.stdio!(t, server)), timeout: '500ms' } }
  })
  const client = new ModernClient(url, { capabilities: { roots: {} } })
  const asks = client.call('asks').then(lastOf)
  for (let i = 0; i < 3; i++) {
    t.match(await lastOf(await client.call('goes_on')), { result: { content: [{ text: 'done' }] } })
  }
  t.match(await asks, { error: { code: -32603, data: { reason: 'timeout', backend: 'docs' } } })
  t.same(
    server.heard.filter(({ kind }) => kind === 'response'),
    []
  )
})

const wishes = {
  name: form('name?'),
  model: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
}

for (const [way, start] of Object.entries(ways)) {
  t.test(`over ${way}: a call that needs two capabilities says so at once, with all that is missing (S8)`, async t => {
    const server = modernScripted()
    server.on('tools/call:both', turn => turn.answer(asking(wishes)))
    const { url } = await startGateway(t, { backends: { docs: await start(t, server) } })
    const both = { elicitation: { form: {} }, sampling: {} }
    const cases: readonly [capabilities: object, missing: object | undefined][] = [
      [{}, both],
      [{ roots: {} }, both],
      [{ elicitation: { form: {} } }, { sampling: {} }],
      [{ sampling: {} }, { elicitation: { form: {} } }],
      [both, undefined]
    ]
    for (const [capabilities, missing] of cases) {
      const { status, json } = await new ModernClient(url, { capabilities }).call('both')
      if (missing === undefined) t.same(json.result.inputRequests, wishes)
      else t.same([status, json.error?.code, json.error?.data], [400, -32021, { requiredCapabilities: missing }])
    }
  })
}

t.test('who a client or a server says that it is decides nothing (S11)', async t => {
  const { url, server } = await startEdge(t)
  server.on('tools/list', turn => turn.answer('{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}'))
  server.on('tools/call', turn => turn.answer('{"content":[],"ran":true}'))
  const guarded = await startGateway(t, {
    backends: {
      docs: { kind: 'http', url: (await serveModern(t, forged())).upstream.url, tools: { deny: ['drop*'] } }
    },
    sessions: { perAddress: 2 }
  })
  const infos: unknown[] = [
    undefined,
    { name: 'admin', version: '1' },
    { name: 'causeway', version: '1' },
    { name: '../../etc', version: '<img src=x onerror=alert(1)>', title: '\u202eevil\r\nX: y' },
    { name: 'x'.repeat(10_000), version: '1' },
    { name: 'a', version: '1', isAdmin: true, scope: 'tools:*' }
  ]
  const key = 'io.modelcontextprotocol/clientInfo'
  const seen = new Set<string>()
  for (const [i, info] of infos.entries()) {
    const saying = { meta: { [key]: info }, id: 1 }
    const client = new ModernClient(guarded.url)
    const listed = await lastOf(await client.request('tools/list', {}, saying))
    const denied = await lastOf(await client.call('drop_all', {}, saying))
    const allowed = await lastOf(await client.call('read', {}, saying))
    seen.add(JSON.stringify([listed, denied, allowed]))
    const legacy = await new RawClient(url).post({
      id: i,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info ?? { name: 'x', version: '1' } }
    })
    t.equal(legacy.status, 200)
    t.match(await lastOf(await new ModernClient(url).call('who', {}, saying)), { result: { ran: true } })
  }
  t.equal(seen.size, 1, 'all are answered alike')
  const [listed, denied, allowed] = JSON.parse([...seen][0]!)
  t.same(names(listed.result.tools), ['read'])
  t.match(denied, { error: { code: -32602 } })
  t.match(allowed, { result: { content: [{ text: 'done' }] } })
  const streams = []
  for (let i = 0; i < 2; i++) streams.push(await listen(guarded.url, infos[i + 1]))
  t.equal((await listen(guarded.url, infos[5])).status, 503, 'what is bounded is counted by address')
  for (const stream of streams) stream.destroy()
})

/** A server that says that it is somebody else. */
function forged(): Scripted {
  const server = modernScripted({
    _meta: {
      'io.modelcontextprotocol/serverInfo': { name: 'causeway', version: '99', websiteUrl: 'https://evil.test' }
    }
  })
  const tools = ['read', 'drop_all'].map(name => ({ name, inputSchema: { type: 'object' } }))
  server.on('tools/list', turn => turn.answer(JSON.stringify({ resultType: 'complete', tools })))
  server.on('tools/call', turn => turn.answer(done))
  server.on('subscriptions/listen', turn =>
    turn.notify('notifications/subscriptions/acknowledged', {
      notifications: { toolsListChanged: true },
      _meta: { 'io.modelcontextprotocol/subscriptionId': JSON.parse(turn.message.id!) }
    })
  )
  return server
}

const listen = (url: string, info: unknown) =>
  new ModernClient(url).request(
    'subscriptions/listen',
    { notifications: { toolsListChanged: true } },
    { meta: { 'io.modelcontextprotocol/clientInfo': info } }
  )
