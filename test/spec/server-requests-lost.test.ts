/** The upstream loses its side: opened again once, set as it was, the client told to look again; what ran is not sent twice (SES-06, BKD-03, NTF-03). */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { stringParam } from '../../src/protocol/message.ts'
import { behind } from '../helpers/behind.ts'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { contractTools, Scripted } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

function serverOf(): Scripted {
  const server = contractTools(new Scripted())
  server.initializeResult =
    '{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true},"prompts":{"listChanged":false},' +
    '"resources":{"subscribe":true,"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}'
  for (const method of ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']) {
    server.on(method, turn => turn.answer('{}'))
  }
  return server
}

/** What was heard, in short. */
const said = (server: Scripted): string[] =>
  server.heard.map(message => {
    const of = stringParam(message, 'name') ?? stringParam(message, 'uri') ?? stringParam(message, 'level')
    return of === undefined ? `${message.method}` : `${message.method} ${of}`
  })

const isResponse = ({ result, error }: any): boolean => result !== undefined || error !== undefined

/** The response, whether it came as JSON or on a stream. */
const answerOf = async ({ json, events }: RawResponse): Promise<any> => json ?? events.message(isResponse)

const isChange = ({ method }: any): boolean => method?.endsWith('list_changed')

const changes = ['notifications/tools/list_changed', 'notifications/resources/list_changed']

t.test(
  'a lost session is opened again once, restored, and the calls that were refused are sent again (SES-06, B9)',
  async t => {
    const { url, server, http } = await behind(t, 'http', { server: serverOf() })
    const client = await RawClient.open(url)
    const channel = await client.get()
    await client.request('logging/setLevel', { level: 'error' })
    for (const uri of ['x:1', 'x:2']) await client.request('resources/subscribe', { uri })
    t.notOk(channel.events.messages.some(isChange))
    http.sessions.clear()
    server.heard.length = 0
    http.seen.length = 0
    const answers = await Promise.all(
      ['a', 'b', 'c'].map(id => client.post({ id, method: 'tools/call', params: { name: 'echo' } }))
    )
    t.match(
      answers.map(({ json }) => json),
      ['a', 'b', 'c'].map(id => ({ id, result: { content: Array } }))
    )
    const first = said(server).slice(0, 5)
    t.same(first.slice(0, 2), ['initialize', 'notifications/initialized'])
    t.same(first.slice(2).sort(), ['logging/setLevel error', 'resources/subscribe x:1', 'resources/subscribe x:2'])
    t.same(said(server).slice(5), ['tools/call echo', 'tools/call echo', 'tools/call echo'], 'each ran once')
    const initialize = http.seen.find(({ body }) => body.includes('"initialize"'))!
    t.equal(initialize.headers['mcp-session-id'], undefined)
    await channel.events.until(({ messages }) => messages.filter(isChange).length === 2)
    t.same(
      channel.events.messages.filter(isChange).map(({ method }) => method),
      changes
    )
    t.match((await client.call('echo')).json, { result: {} }, 'the session of the client goes on')
  }
)

t.test(
  'when it cannot be opened again that call has one error, the next call tries again, others go on (SES-06, B13)',
  async t => {
    const server = serverOf()
    let refuse = false
    const upstream = await HttpUpstream.start(server, {
      intercept(_request, response, body) {
        if (!refuse || !body.includes('"initialize"')) return false
        response.writeHead(500).end('secret')
        return true
      }
    })
    const other = await HttpUpstream.start(serverOf())
    t.teardown(() => Promise.all([upstream.close(), other.close()]))
    const { gateway } = await startGateway(t, {
      backends: { a: { kind: 'http', url: upstream.url }, b: { kind: 'http', url: other.url } }
    })
    const [a, b] = await Promise.all(['a', 'b'].map(name => RawClient.open(gateway.url(`/mcp/${name}`))))
    upstream.sessions.clear()
    refuse = true
    for (let i = 0; i < 2; i++) {
      const failed = await a!.call('echo')
      t.equal(failed.status, 200)
      t.match(failed.json, { id: a!.lastId, error: { code: -32603, data: { backend: 'a', reason: String } } })
      t.notMatch(failed.text, /secret|127\.0\.0\.1/)
      t.match((await b!.call('echo')).json, { result: {} })
    }
    refuse = false
    t.match((await a!.call('echo')).json, { result: {} })
    t.equal(server.heardOf('tools/call').length, 1)
  }
)

t.test('an upstream that loses every session is tried twice, not for ever (B13)', async t => {
  const { url, server, http } = await behind(t, 'http', { server: serverOf() })
  const client = await RawClient.open(url)
  http.options.intercept = (_request, response, body) => {
    if (!body.includes('tools/call')) return false
    response.writeHead(404).end()
    return true
  }
  const { json } = await client.call('echo')
  t.match(json, { error: { code: -32603, data: { reason: 'backend_session_lost', backend: 'docs' } } })
  t.equal(http.seen.filter(({ body }) => body.includes('tools/call')).length, 2)
  t.equal(server.heardOf('initialize').length, 2)
})

t.test('what reached the upstream is not sent twice, however the connection ends (B4)', async t => {
  const { url, server } = await behind(t, 'http', { server: serverOf() })
  const client = await RawClient.open(url)
  t.match(await answerOf(await client.call('die')), {
    id: client.lastId,
    error: { code: -32603, data: { reason: 'backend_broke', backend: 'docs' } }
  })
  t.equal(server.heardOf('tools/call').length, 1)
  t.match((await client.call('echo')).json, { result: {} })
  t.equal(server.heardOf('initialize').length, 1, 'the session is not lost')
})

t.test('who subscribed needs no call for the link to be opened again', async t => {
  const { url, server, http } = await behind(t, 'http', { server: serverOf() })
  const [client, idle] = [await RawClient.open(url), await RawClient.open(url)]
  await client.request('resources/subscribe', { uri: 'x:1' })
  const channel = await client.get()
  await until('it listens upstream', () => http.listening)
  server.heard.length = 0
  http.sessions.clear()
  http.hangUp()
  await until('it is subscribed again', () => server.heardOf('resources/subscribe').length === 1)
  await until('it listens again', () => http.listening)
  server.announce('notifications/resources/updated', { uri: 'x:1' })
  await channel.events.message(({ method }) => method === 'notifications/resources/updated')
  t.same(
    channel.events.messages.map(({ method }) => method),
    [...changes, 'notifications/resources/updated']
  )
  t.equal(server.heardOf('initialize').length, 1, 'the idle one waits for a call')
  t.match((await idle.call('echo')).json, { result: {} })
})

t.test('what cannot be set again does not stop the call', async t => {
  const server = serverOf()
  const { url, http } = await behind(t, 'http', { server })
  const client = await RawClient.open(url)
  await client.request('resources/subscribe', { uri: 'x:1' })
  await client.request('logging/setLevel', { level: 'info' })
  server.on('resources/subscribe', turn => turn.refuse(-32002, 'gone'))
  server.on('logging/setLevel', turn => turn.die())
  http.sessions.clear()
  t.match((await client.call('echo')).json, { result: {} })
})

for (const kind of ['stdio', 'stdio shared'] as const) {
  void t.test(
    `${kind}: a child that dies fails what is in flight, once each, and is started again (BKD-03)`,
    async t => {
      const { url, server } = await behind(t, kind, { server: serverOf(), file: { streams: { sseAfter: '50ms' } } })
      const clients = [await RawClient.open(url), await RawClient.open(url)]
      const [client, other] = clients as [RawClient, RawClient]
      const channels = await Promise.all(clients.map(one => one.get()))
      await client.request('logging/setLevel', { level: 'error' })
      await client.request('resources/subscribe', { uri: 'x:1' })
      if (kind === 'stdio shared') await other.request('resources/subscribe', { uri: 'x:2' })
      const calls = await Promise.all(Array.from({ length: 20 }, () => client.call('never')))
      server.heard.length = 0
      const last = await client.call('die')
      for (const { json, events } of [...calls, last]) {
        const responses = json === undefined ? (await events.whole()).messages.filter(isResponse) : [json]
        t.match(responses, [{ error: { code: -32603, data: { reason: 'backend_broke', backend: 'docs' } } }])
        t.equal(responses.length, 1)
      }
      t.match(await answerOf(await client.call('echo')), { result: {} })
      t.same(said(server).slice(0, 3), ['tools/call die', 'initialize', 'notifications/initialized'])
      const restored = kind === 'stdio' ? ['error', 'x:1'] : ['warning', 'x:1', 'x:2']
      const words = (text: string): string => text.split(' ')[1]!
      t.same(
        said(server)
          .slice(3, 3 + restored.length)
          .map(words)
          .sort(),
        restored.sort()
      )
      t.same(said(server).slice(3 + restored.length), ['tools/call echo'])
      t.equal(server.heardOf('initialize').length, 1, 'single flight')
      await channels[0]!.events.until(({ messages }) => messages.filter(isChange).length === 2)
      if (kind === 'stdio') {
        t.match(await answerOf(await other.call('echo')), { result: {} }, 'the child of the other lives')
        t.equal(server.heardOf('initialize').length, 1)
        t.notOk(channels[1]!.events.messages.some(isChange))
      } else await channels[1]!.events.until(({ messages }) => messages.filter(isChange).length === 2)
    }
  )
}

for (const kind of ['http', 'sse', 'stdio'] as const) {
  void t.test(`${kind}: asks of a conversation that is lost are over, and the client is told`, async t => {
    const { url, server, http } = await behind(t, kind, { server: serverOf(), file: { streams: { sseAfter: '50ms' } } })
    const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
    const channel = await client.get()
    await until('the upstream can ask', () =>
      server.outside('{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}')
    )
    const { id } = await channel.events.message(({ method }) => method === 'elicitation/create')
    if (kind === 'http') {
      http.sessions.clear()
      await client.call('echo')
    } else await answerOf(await client.call('die'))
    const notice = await channel.events.message(({ method }) => method === 'notifications/cancelled')
    t.match(notice.params, { requestId: id, reason: String })
    t.equal((await client.post({ id, result: { action: 'cancel' } })).status, 202)
    t.notOk(server.heard.some(({ kind }) => kind === 'response'))
  })

  void t.test(`${kind}: an ask of a call that breaks is over before its error is told`, async t => {
    const server = serverOf()
    server.on('tools/call:ask-and-die', turn => {
      void turn.ask('elicitation/create', { message: '?', requestedSchema: {} })
      turn.die()
    })
    const { url } = await behind(t, kind, { server })
    const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
    const { events } = await client.call('ask-and-die')
    await events.whole()
    const [ask, ...rest] = events.messages
    t.match(rest, [
      { method: 'notifications/cancelled', params: { requestId: ask.id } },
      { error: { code: -32603, data: { reason: 'backend_broke' } } }
    ])
  })
}

t.test('a child that dies while nobody calls is started by the next call, or for who subscribed', async t => {
  const server = serverOf()
  const { url } = await behind(t, 'stdio', { server })
  const client = await RawClient.open(url)
  await answerOf(await client.call('die'))
  server.heard.length = 0
  await sleep(50)
  t.equal(server.heardOf('initialize').length, 0)
  // A start right after a crash may be refused until the back-off is over.
  await until('it is started again by a call', async () => {
    const { json } = await client.request('resources/subscribe', { uri: 'x:1' })
    return json.error === undefined
  })
  t.equal(server.heardOf('initialize').length, 1)
  await answerOf(await client.call('die'))
  await until('it is started again', () => server.heardOf('resources/subscribe').length === 2)
})
