/** Field cases of area 18: discovery, and what the eras make of each other (ERA-*). */
import t from 'tap'
import { startModernHttp } from '../fixtures/modern/http.ts'
import {
  type Asked,
  discoverResult,
  legacy,
  modern,
  refusal,
  result,
  type Said,
  startAnswering
} from '../helpers/answering.ts'
import { startEdge } from '../helpers/edge.ts'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { asking, form, modernScripted, serveModern } from '../helpers/modern-scripted.ts'
import { Random } from '../helpers/random.ts'
import { RawClient, type RawResponse, send } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { Scripted } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'
import { as, users } from '../helpers/users.ts'

failOnRejections(t)

const key = (name: string): string => `io.modelcontextprotocol/${name}`
const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** `server/discover` as probes send it, whole or not. */
const probes: Readonly<Record<string, (url: string) => Promise<RawResponse>>> = {
  whole: url => probe(url),
  'of a version that is not served': url => probe(url, { version: '2099-01-01' }),
  'without the version header': url => probe(url, { headers: { 'mcp-protocol-version': undefined } }),
  'with the header of an older version': url => probe(url, { headers: { 'mcp-protocol-version': '2025-11-25' } }),
  'in a batch': url => {
    const headers = { ...usual, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' }
    return send(url, {
      headers,
      body: JSON.stringify([{ jsonrpc: '2.0', id: 'discover-1', method: 'server/discover' }])
    })
  }
}

const probe = (url: string, { version = '2026-07-28', headers = {} } = {}): Promise<RawResponse> =>
  new ModernClient(url, { version }).request('server/discover', {}, { id: 'discover-1', headers })

const every = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']
const routes: Readonly<
  Record<string, [versions: string[], expected: Record<string, [status: number, code?: number]>]>
> = {
  'of both eras': [
    every,
    {
      whole: [200],
      'of a version that is not served': [400, -32022],
      'without the version header': [400, -32020],
      'with the header of an older version': [400, -32020],
      'in a batch': [400, -32600]
    }
  ],
  'of the legacy era': [
    every.slice(0, -1),
    {
      whole: [400, -32600],
      'of a version that is not served': [400, -32600],
      'without the version header': [400, -32600],
      'with the header of an older version': [400, -32600],
      'in a batch': [400, -32600]
    }
  ],
  'of the modern era': [
    every.slice(-1),
    {
      whole: [200],
      'of a version that is not served': [400, -32022],
      'without the version header': [400, -32020],
      'with the header of an older version': [400, -32020],
      'in a batch': [400, -32600]
    }
  ]
}

for (const [kind, [versions, expected]] of Object.entries(routes)) {
  t.test(`server/discover at a route ${kind} gets a clean answer, however it is asked (ERA-01)`, async t => {
    const { url } = await startEdge(t, { routes: { '/mcp': { backends: ['docs'], protocol: { versions } } } })
    for (const [what, ask] of Object.entries(probes)) {
      const { status, json, headers } = await ask(url)
      const [expectedStatus, code] = expected[what]!
      t.same([status, json?.error?.code], [expectedStatus, code], what)
      t.equal(headers['content-type'], 'application/json')
      t.equal(json.id, what === 'in a batch' ? undefined : 'discover-1', 'never null')
      t.notOk('id' in json && json.id === null)
      if (code === undefined) {
        t.match(json.result, { resultType: 'complete', ttlMs: Number, cacheScope: String, capabilities: { tools: {} } })
        t.same(json.result.supportedVersions, versions.toReversed())
      }
    }
  })
}

t.test('who may not come in is told so before anything else, who may gets the discovery (ERA-01)', async t => {
  const server = new Scripted()
  const { config } = await serveModern(t, server, { sessions: true })
  const { url } = await startGateway(t, { backends: { docs: config } }, import.meta.dirname, { authenticator: users })
  const refused = await probe(url)
  t.equal(refused.status, 403)
  t.notOk('id' in refused.json, 'never null')
  const welcome = await probe(url, { headers: as('alice') })
  t.match([welcome.status, welcome.json.id, welcome.json.result.resultType], [200, 'discover-1', 'complete'])
})

/** A server of 2025-11-25 that answers `server/discover` all the same. */
const claiming = (discovered: object) =>
  legacy(asked => (asked.method === 'server/discover' ? result(asked, discovered) : refusal(asked, 200, -32601)))

const { supportedVersions: _, ...withoutVersions } = discoverResult
const claims: Readonly<Record<string, [answer: (asked: Asked) => Said, version: string]>> = {
  'older versions alone': [claiming({ ...discoverResult, supportedVersions: ['2025-11-25'] }), '2025-11-25'],
  'no version': [claiming({ ...discoverResult, supportedVersions: [] }), '2025-11-25'],
  'nothing of versions': [claiming(withoutVersions), '2025-11-25'],
  'versions that are no list': [claiming({ ...discoverResult, supportedVersions: '2026-07-28' }), '2025-11-25'],
  'a newer version alone': [claiming({ ...discoverResult, supportedVersions: ['2027-01-01'] }), '2025-11-25'],
  'one that is spoken beside a newer one': [
    modern(asked => result(asked, { resultType: 'complete', content: [] }), {
      supportedVersions: ['2027-01-01', '2026-07-28']
    }),
    '2026-07-28'
  ]
}

for (const [what, [answer, version]] of Object.entries(claims)) {
  t.test(`a backend whose discovery names ${what} is spoken to in ${version} (ERA-03)`, async t => {
    const upstream = await startAnswering(t, answer)
    const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
    for (let i = 0; i < 3; i++) {
      t.match(await lastOf(await new ModernClient(url).call('x')), { result: { content: [] } })
      t.match(await lastOf(await (await RawClient.open(url)).call('x')), { result: { content: [] } })
    }
    const calls = upstream.asked.filter(({ method }) => method === 'tools/call')
    t.same(new Set(calls.map(({ headers }) => headers['mcp-protocol-version'])), new Set([version]))
    t.equal(discoveries(upstream.methods()), 1, 'asked once')
  })
}

const discoveries = (methods: readonly string[]): number =>
  methods.filter(method => method === 'server/discover').length

t.test('a backend that changes its era while it runs is found out, with one question each time (ERA-03)', async t => {
  const upstream = await startAnswering(t, legacy())
  const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  const [old, fresh] = [await RawClient.open(url), new ModernClient(url)]
  const upgraded = modern(asked =>
    asked.headers['mcp-method'] === undefined
      ? refusal(asked, 400, -32020)
      : result(asked, { resultType: 'complete', content: [], upgraded: true })
  )
  let asked = 0
  for (const [answer, upgrade] of [
    [legacy(), undefined],
    [upgraded, true],
    [legacy(() => ({ status: 400 })), undefined],
    [upgraded, true]
  ] as const) {
    upstream.answer = answer
    for (let i = 0; i < 3; i++) {
      t.equal((await lastOf(await old.call('x'))).result?.upgraded, upgrade)
      t.equal((await lastOf(await fresh.call('x'))).result?.upgraded, upgrade)
    }
    const now = discoveries(upstream.methods())
    t.ok(now - asked <= 2, `${now - asked} questions`)
    asked = now
  }
})

t.test(
  'two replicas of different eras behind one address: each call has its one answer, and no storm (ERA-03)',
  async t => {
    const eras = [
      legacy(() => ({ status: 400 })),
      modern(asked => result(asked, { resultType: 'complete', content: [] }))
    ]
    const seed = Math.floor(Math.random() * 2 ** 31)
    const random = new Random(seed)
    const upstream = await startAnswering(t, asked => random.pick(eras)(asked))
    const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url, timeout: '2s' } } })
    const client = new ModernClient(url)
    const calls = 60
    let good = 0
    for (let i = 0; i < calls; i++) {
      const message = await lastOf(await client.call('x', {}, { id: i }))
      t.equal(message.id, i)
      t.ok(message.result !== undefined || message.error?.code === -32603, JSON.stringify(message))
      if (message.result !== undefined) good++
    }
    const { length } = upstream.methods()
    t.ok(good > calls / 10, `${good} of ${calls} calls were answered, seed ${seed}`)
    t.ok(length <= calls * 10, `${length} requests for ${calls} calls, seed ${seed}`)
  }
)

t.test('a legacy client at a server of 2026-07-28 alone: everything that it can do (ERA-05)', async t => {
  const server = await startModernHttp({ legacy: 'reject' })
  t.teardown(server.stop)
  const { url } = await startGateway(t, { backends: { modern: { kind: 'http', url: server.url } } })
  const capabilities = { elicitation: {}, roots: { listChanged: true } }
  const client = await RawClient.open(url, { capabilities })
  t.match(client.server, { protocolVersion: '2025-11-25', serverInfo: { name: 'modern-fixture' } })
  t.same((await client.request('ping')).json.result, {})
  const { tools } = (await client.request('tools/list')).json.result
  t.ok(tools.some(({ name }: { name: string }) => name === 'steps'))
  const sent = (method: string) => server.heard.filter(({ body }) => body.method === method)
  const meta = (method: string): any => (sent(method).at(-1)!.body as any).params._meta

  t.same((await client.request('logging/setLevel', { level: 'debug' })).json.result, {})
  const steps = await client.call('steps', { count: 2 }, { progressToken: 'p' })
  const { messages } = await steps.events.whole()
  t.same(
    messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params.progress),
    [1, 2]
  )
  t.equal(messages.filter(({ params }) => params?.level === 'debug').length, 2, 'logs as loud as was asked for')
  t.match(meta('tools/call'), {
    [key('protocolVersion')]: '2026-07-28',
    [key('clientInfo')]: { name: 'raw', version: '1' },
    [key('clientCapabilities')]: { elicitation: {}, roots: {} },
    [key('logLevel')]: 'debug'
  })
  t.match(sent('tools/call').at(-1)!.headers, {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'steps'
  })

  const waiting = client.call('wait', { label: 'mine' }, { progressToken: 1 })
  const id = client.lastId
  const { events } = await waiting
  await events.message(({ method }) => method === 'notifications/progress')
  t.equal(server.open(), 1)
  await client.post({ method: 'notifications/cancelled', params: { requestId: id } })
  await until('closed upstream', () => server.open() === 0)

  const channel = await client.get()
  t.same((await client.request('resources/subscribe', { uri: 'note://one' })).json.result, {})
  const filter = (sent('subscriptions/listen').at(-1)!.body as any).params.notifications
  t.match(filter, { toolsListChanged: true, resourceSubscriptions: ['note://one'] })
  await until('one stream', () => server.open() === 1)
  await client.call('change')
  await channel.events.message(({ params }) => params?.uri === 'note://one')
  await channel.events.message(({ method }) => method === 'notifications/tools/list_changed')
  t.notOk(
    channel.events.messages.some(({ params }) => params?.uri === 'note://two'),
    'nobody subscribed to that'
  )

  const missing = await client.request('resources/read', { uri: 'other://nowhere' })
  t.match(missing.json, { error: { code: -32002, data: { uri: 'other://nowhere' } } })
  for (const [method, params] of [
    ['tools/list', {}],
    ['resources/read', { uri: 'note://one' }],
    ['tools/call', { name: 'echo', arguments: { message: 'x' } }]
  ] as const) {
    const { result } = await lastOf(await client.request(method, params))
    t.notOk('resultType' in result, `${method}: ${JSON.stringify(result).slice(0, 80)}`)
  }
  t.equal((await client.delete()).status, 204)
  await until('all is closed upstream', () => server.open() === 0)
  for (const method of ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'notifications/initialized']) {
    t.equal(sent(method).length, 0, `${method} is not sent`)
  }
  t.notOk(server.heard.some(({ headers }) => 'mcp-session-id' in headers))
  t.same(new Set(server.heard.map(({ method }) => method)), new Set(['POST']))
})

const state = '{"n":1.0,"é":"/"} =?base64?'

/** Asks for two things at once, `rounds` times; then says what it was told. */
function curious(rounds = 1): Scripted {
  const server = modernScripted()
  let round = 0
  server.on('tools/call:two', turn => {
    const { inputResponses, requestState } = JSON.parse(turn.message.source.toString()).params
    if (round++ < rounds) {
      turn.answer(asking({ b: form('second'), a: form('first') }, { requestState: `${state}${round}` }))
      return
    }
    const structuredContent = { inputResponses, requestState }
    turn.answer(JSON.stringify({ resultType: 'complete', content: [], structuredContent }))
  })
  return server
}

t.test(
  'two questions of a modern backend reach a legacy client on its stream, and go back by their keys (ERA-06)',
  async t => {
    const server = curious()
    const { upstream, config } = await serveModern(t, server)
    const { url } = await startGateway(t, { backends: { docs: config } })
    const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
    const { events } = await client.call('two', { big: 1 })
    await events.until(({ messages }) => messages.length === 2)
    const asked = events.messages
    t.same(
      asked.map(({ method, params }) => [method, params.message]),
      [
        ['elicitation/create', 'second'],
        ['elicitation/create', 'first']
      ]
    )
    for (const { id, params } of asked.toReversed()) {
      await client.post({ id, result: { action: 'accept', content: { said: params.message } } })
    }
    const { messages } = await events.whole()
    t.same(messages.at(-1).result.structuredContent, {
      inputResponses: {
        a: { action: 'accept', content: { said: 'first' } },
        b: { action: 'accept', content: { said: 'second' } }
      },
      requestState: `${state}1`
    })
    const rounds = upstream.seen.filter(({ body }) => body.includes('tools/call')).map(({ body }) => JSON.parse(body))
    t.equal(new Set(rounds.map(({ id }) => id)).size, 2, 'a new id for each round')
    t.same(rounds[0].params.arguments, rounds[1].params.arguments)
  }
)

t.test(
  'rounds without an end are ended; a client that cannot be asked is not, and nothing is sent twice (ERA-06)',
  async t => {
    const server = curious(Number.POSITIVE_INFINITY)
    const { config } = await serveModern(t, server)
    const { url } = await startGateway(t, { backends: { docs: config }, input: { rounds: 3 } })
    const mute = await RawClient.open(url)
    const { error } = (await mute.call('two')).json
    t.ok([-32602, -32021].includes(error.code), JSON.stringify(error))
    t.equal(server.heardOf('tools/call').length, 1)
    const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
    const { events } = await client.call('two')
    for (let answered = 0; !events.ended; ) {
      await events.until(({ messages, ended }) => ended || messages.length > answered)
      for (const { id, method } of events.messages.slice(answered)) {
        if (method === 'elicitation/create') await client.post({ id, result: { action: 'decline' } })
      }
      answered = events.messages.length
    }
    t.match(events.messages.at(-1), { error: { code: -32603, data: { reason: 'backend_invalid' } } })
    t.equal(server.heardOf('tools/call').length, 1 + 4)
  }
)

t.test(
  'a call that waits on another instance: one clear error, nothing runs again; who never returns is freed (ERA-06)',
  async t => {
    const server = new Scripted()
    let cancelled = 0
    server.on('tools/list', turn => turn.answer('{"tools":[]}'))
    server.on('tools/call:ask', async turn => {
      void turn.cancelled.then(() => cancelled++)
      await turn.ask('elicitation/create', { message: '?', requestedSchema: {} })
      turn.answer('{"content":[]}')
    })
    const { upstream, config } = await serveModern(t, server, { sessions: true })
    const key = Buffer.alloc(32, 5).toString('base64url')
    const file = { backends: { docs: config }, secrets: { key }, input: { timeout: '500ms' } }
    const [one, two] = [await startGateway(t, file), await startGateway(t, file)]
    const asked = await lastOf(await new ModernClient(one.url, { capabilities: { elicitation: {} } }).call('ask'))
    const { requestState } = asked.result
    const params = { name: 'ask', arguments: {}, inputResponses: { 'input-1': { action: 'decline' } }, requestState }
    const other = new ModernClient(two.url, { capabilities: { elicitation: {} } })
    t.match(await lastOf(await other.request('tools/call', params)), {
      error: { code: -32603, data: { reason: 'owner' } }
    })
    t.equal(server.heardOf('tools/call').length, 1)
    await until('it is cancelled upstream', () => cancelled === 1)
    const open = new Set(
      upstream.seen.filter(({ body }) => body.includes('tools/call')).map(({ headers }) => headers['mcp-session-id'])
    )
    await until('its session is over', () => [...open].every(session => !upstream.sessions.has(String(session))))
  }
)
