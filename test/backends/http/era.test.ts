/** Which era an HTTP upstream has, found by a modern request (decisions: "Which era a backend has"). */
import t, { type Test } from 'tap'
import { anonymous } from '../../../src/auth/principal.ts'
import type { Link, OpenOptions } from '../../../src/backends/backend.ts'
import { HttpBackend } from '../../../src/backends/http/backend.ts'
import { GatewayError } from '../../../src/errors.ts'
import { makeRequest } from '../../../src/protocol/make.ts'
import type { Message } from '../../../src/protocol/message.ts'
import { value } from '../../../src/protocol/write.ts'
import {
  type Answering,
  type Asked,
  legacy,
  modern,
  refusal,
  result,
  type Said,
  startAnswering
} from '../../helpers/answering.ts'
import { until } from '../../helpers/until.ts'

const info = '{"name":"the gateway","version":"9"}'

async function on(t: Test, answer: (asked: Asked) => Said, era: 'auto' | 'legacy' | 'modern' = 'auto') {
  const upstream = await startAnswering(t, answer)
  let now = 0
  const clock = {
    now: () => now,
    after: (ms: number, call: () => void) => {
      const timer = setTimeout(call, ms)
      return () => clearTimeout(timer)
    },
    random: () => 0.5
  }
  const backend = new HttpBackend({ name: 'docs', url: upstream.url, era, info, timeout: 400, clock })
  t.teardown(() => backend.close())
  const ended: Error[] = []
  const open = (options: Partial<OpenOptions> = {}): Promise<Link> =>
    backend.open({
      principal: anonymous,
      client: { version: '2025-11-25', capabilities: '{"roots":{}}', info: '{"name":"c","version":"1"}' },
      signal: new AbortController().signal,
      receive: () => {},
      ended: reason => ended.push(reason),
      ...options
    })
  return {
    upstream,
    backend,
    open,
    ended,
    pass: (ms: number): void => {
      now += ms
    }
  }
}

const discoveries = (upstream: Answering): number =>
  upstream.methods().filter(method => method === 'server/discover').length

const call = async (link: Link): Promise<Message> => {
  const exchange = link.exchange(makeRequest('"a"', 'tools/call', { name: 'x' }), { principal: anonymous })
  for await (const message of exchange) if (message.kind === 'response') return message
  throw new Error('no response')
}

t.test('a DiscoverResult with a version that is spoken here: modern, and asked once', async t => {
  const { upstream, open } = await on(t, modern())
  const link = await open()
  t.equal(link.era, 'modern')
  t.equal(link.server.version, '2026-07-28')
  t.same(link.server.capabilities, { tools: { listChanged: true } })
  t.same(JSON.parse(link.server.result), {
    protocolVersion: '2026-07-28',
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'upstream', version: '7' },
    instructions: 'do as told'
  })
  t.match(JSON.parse(link.server.discovered!), { supportedVersions: ['2026-07-28'] })
  const [{ headers, body }] = upstream.asked as [Asked]
  t.match(headers, {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'server/discover',
    accept: 'application/json, text/event-stream'
  })
  t.equal(headers['mcp-session-id'], undefined)
  t.same(body.params._meta, {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': JSON.parse(info),
    'io.modelcontextprotocol/clientCapabilities': {}
  })
  await open({ state: link.state! })
  t.same(upstream.methods(), ['server/discover'])
})

t.test('an upstream that says nothing of itself has the name of the backend', async t => {
  const { open } = await on(t, modern(undefined, { _meta: {}, capabilities: 'odd', instructions: 7 }))
  const { server } = await open()
  t.same(JSON.parse(server.result), {
    protocolVersion: '2026-07-28',
    capabilities: {},
    serverInfo: { name: 'docs', version: '0' }
  })
})

t.test('the discovery may come as an event stream', async t => {
  const { open } = await on(t, asked => {
    const said = modern()(asked) as { body: unknown }
    return { events: [said.body] }
  })
  t.equal((await open()).era, 'modern')
})

t.test('-32022 that lists the version: asked once more, and modern', async t => {
  let refused = false
  const { upstream, open } = await on(t, asked => {
    if (refused) return modern()(asked)
    refused = true
    return refusal(asked, 400, -32022, { supported: ['2027-01-01', '2026-07-28'], requested: '2026-07-28' })
  })
  t.equal((await open()).era, 'modern')
  t.same(upstream.methods(), ['server/discover', 'server/discover'])
})

const legacyAnswers: Readonly<Record<string, (asked: Asked) => Said>> = {
  '400 without a body': () => ({ status: 400 }),
  '400 with an error of old': asked => refusal(asked, 400, -32000),
  '404 with a page': () => ({ status: 404, body: '<h1>Not found</h1>' }),
  '405': () => ({ status: 405 }),
  '200 with -32601': asked => refusal(asked, 200, -32601),
  '200 with a result that is no discovery': asked => result(asked, { tools: [] }),
  '200 with a page': () => ({ status: 200, body: '<h1>Hello</h1>' }),
  '202': () => ({ status: 202 }),
  '401': () => ({ status: 401 }),
  '-32022 that lists versions of old alone': asked => refusal(asked, 400, -32022, { supported: ['2025-11-25'] })
}

for (const [what, unknown] of Object.entries(legacyAnswers)) {
  t.test(`${what}: initialize, and legacy once that succeeded`, async t => {
    const { upstream, open } = await on(t, legacy(unknown))
    t.equal((await open()).era, 'legacy')
    t.equal((await open()).era, 'legacy')
    t.same(upstream.methods(), [
      'server/discover',
      'initialize',
      'notifications/initialized',
      'initialize',
      'notifications/initialized'
    ])
  })
}

t.test('401 to initialize too: nothing is remembered', async t => {
  const { upstream, open } = await on(t, () => ({ status: 401 }))
  for (let i = 0; i < 2; i++) await t.rejects(open(), { code: 'backend_status' })
  t.same(upstream.methods(), ['server/discover', 'initialize', 'server/discover', 'initialize'])
})

const transient: Readonly<Record<string, readonly [answer: (asked: Asked) => Said, code: string]>> = {
  '500': [() => ({ status: 500 }), 'backend_status'],
  '503 with an error of the protocol': [asked => refusal(asked, 503, -32603), 'backend_status'],
  'a reset': [() => 'reset', 'backend_broke'],
  silence: [() => 'hang', 'timeout']
}

for (const [what, [answer, code]] of Object.entries(transient)) {
  t.test(`${what} is taken for no era, and the next opening asks again`, async t => {
    const { upstream, open } = await on(t, answer)
    await t.rejects(open(), { code })
    t.same(upstream.methods(), ['server/discover'], 'nothing but the question')
    upstream.answer = modern()
    t.equal((await open()).era, 'modern')
  })
}

t.test('an upstream that cannot be reached is taken for no era', async t => {
  const { backend } = await on(t, modern())
  const gone = new HttpBackend({ name: 'gone', url: 'http://127.0.0.1:9/mcp', era: 'auto', timeout: 400 })
  t.teardown(() => gone.close())
  const options = {
    principal: anonymous,
    client: { version: '2025-11-25', capabilities: '{}', info },
    signal: new AbortController().signal,
    receive: () => {},
    ended: () => {}
  }
  await t.rejects(gone.open(options), { code: 'backend_unavailable' })
  t.not(backend.identity, gone.identity)
})

for (const code of [-32020, -32021]) {
  t.test(`${code} is modern and of no use: no initialize`, async t => {
    const { upstream, open } = await on(t, asked => refusal(asked, 400, code))
    await t.rejects(open(), { code: 'backend_invalid' })
    t.same(upstream.methods(), ['server/discover'])
  })
}

t.test('however many open at once, it is asked once; one who gives up ends the question for no other', async t => {
  const { upstream, open } = await on(t, modern())
  const controller = new AbortController()
  const first = open({ signal: controller.signal })
  const others = Array.from({ length: 20 }, () => open())
  controller.abort(new GatewayError('session', 'enough'))
  await t.rejects(first, { code: 'session' })
  for (const { era } of await Promise.all(others)) t.equal(era, 'modern')
  t.equal(discoveries(upstream), 1)
})

t.test('a modern verdict holds for a minute, or as long as the upstream says', async t => {
  const { upstream, open, pass } = await on(t, modern())
  await open()
  pass(59_000)
  await open()
  t.equal(discoveries(upstream), 1)
  upstream.answer = modern(undefined, { ttlMs: 600_000 })
  pass(2_000)
  await open()
  t.equal(discoveries(upstream), 2)
  pass(590_000)
  await open()
  t.equal(discoveries(upstream), 2)
})

t.test(
  'links that are open say what their upstream said last; it is asked when that does not hold any more',
  async t => {
    const { upstream, open, pass } = await on(t, modern())
    const links = [await open(), await open()] as const
    const before = links[0].server
    upstream.answer = modern(undefined, { capabilities: { tools: {}, prompts: {} } })
    await links[0].renew!()
    t.equal(discoveries(upstream), 1, 'it holds')
    t.equal(links[0].server, before)
    pass(61_000)
    await Promise.all(links.map(link => link.renew!()))
    t.equal(discoveries(upstream), 2)
    for (const link of links) t.same(link.server.capabilities, { tools: {}, prompts: {} })
    t.equal((await open()).server, links[0].server)
    upstream.answer = () => 'hang'
    pass(61_000)
    await t.rejects(links[0].renew!(), { code: 'timeout' })
    t.same(links[0].server.capabilities, { tools: {}, prompts: {} }, 'what it said last')
  }
)

t.test('a legacy verdict holds for ten minutes', async t => {
  const { upstream, open, pass } = await on(t, legacy())
  await open()
  pass(590_000)
  await open()
  t.equal(discoveries(upstream), 1)
  pass(20_000)
  upstream.answer = modern()
  t.equal((await open()).era, 'modern')
})

const notModern: Readonly<Record<string, (asked: Asked) => Said>> = {
  '400 without an error': () => ({ status: 400 }),
  '404 with a page': () => ({ status: 404, body: '<h1>No</h1>' }),
  '400 with an error of old without an id': () => ({
    status: 400,
    body: { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Bad Request: Server not initialized' } }
  }),
  '400 with an error of old': asked => refusal(asked, 400, -32600),
  '-32022': asked => refusal(asked, 400, -32022, { supported: ['2025-11-25'] })
}

for (const [what, unknown] of Object.entries(notModern)) {
  t.test(`a modern upstream that turns legacy (${what}): the call may be sent again, the link is over`, async t => {
    const { upstream, open, ended } = await on(t, modern())
    const [link, other] = [await open(), await open()]
    await call(link)
    upstream.answer = legacy(unknown)
    await t.rejects(call(link), { code: 'backend_session_lost' })
    await until('both have ended', () => ended.length === 2)
    const again = await open()
    t.equal(again.era, 'legacy')
    t.match(value(await call(again)), { result: { content: [] } })
    await t.rejects(call(other))
  })
}

for (const [what, refuse] of Object.entries(notModern)) {
  t.test(`a modern upstream that refuses one call like that (${what}) is asked, and stays what it is`, async t => {
    const { upstream, open, ended } = await on(t, modern())
    const link = await open()
    upstream.answer = modern(refuse)
    const outcome = await call(link).then(value, (error: GatewayError) => error)
    if (outcome instanceof GatewayError) t.match(outcome.code, /^backend_(status|invalid)$/)
    else t.match(outcome, { id: 'a', error: { code: -32600 } })
    t.same(ended, [], 'for nobody else anything changes')
    t.ok(discoveries(upstream) > 1)
    upstream.answer = modern()
    t.match(value(await call(link)), { id: 'a', result: {} })
  })
}

t.test('a modern upstream that cannot be asked again stays what it is', async t => {
  const { upstream, open, ended } = await on(t, modern())
  const link = await open()
  upstream.answer = ({ method }) => ({ status: method === 'server/discover' ? 500 : 400 })
  await t.rejects(call(link), { code: 'backend_status' })
  t.same(ended, [])
})

t.test('a call that is cancelled while its upstream is asked again tells nothing more', async t => {
  const { upstream, open } = await on(t, modern())
  const link = await open()
  upstream.answer = ({ method }) => (method === 'server/discover' ? 'hang' : { status: 400 })
  const exchange = link.exchange(makeRequest('1', 'tools/list'), { principal: anonymous })
  const read = exchange.next()
  await until('asked', () => discoveries(upstream) === 2)
  exchange.cancel()
  t.same(await read, { done: true, value: undefined })
})

t.test('a legacy upstream that turns modern: hands cannot be shaken, it is asked again', async t => {
  const { upstream, open } = await on(t, legacy())
  await open()
  upstream.answer = modern()
  t.equal((await open()).era, 'modern')
})

t.test('a legacy upstream that turns modern: a request with a code of that era ends the link', async t => {
  const { upstream, open, ended } = await on(t, legacy())
  const link = await open()
  upstream.answer = modern(asked => refusal(asked, 400, -32022, { supported: ['2026-07-28'] }))
  await t.rejects(call(link), { code: 'backend_session_lost' })
  t.equal(ended.length, 1)
  t.equal((await open()).era, 'modern')
})

for (const status of [401, 403, 413, 429]) {
  t.test(`${status} to a modern call is that call's error, and says nothing of the era`, async t => {
    const { upstream, open, ended } = await on(t, modern())
    const link = await open()
    upstream.answer = () => ({ status })
    await t.rejects(call(link), { code: 'backend_status' })
    t.same(ended, [])
  })
}

t.test('an error of a modern upstream passes as it is', async t => {
  const { upstream, open } = await on(t, modern())
  const link = await open()
  for (const [status, code] of [
    [404, -32601],
    [400, -32021],
    [400, -32602],
    [500, -32603]
  ] as const) {
    upstream.answer = asked => refusal(asked, status, code, { why: 1 })
    t.match(value(await call(link)), { id: 'a', error: { code, data: { why: 1 } } })
  }
})

t.test('an error without an id answers the one request that it can be about', async t => {
  const { upstream, open } = await on(t, modern())
  const link = await open()
  upstream.answer = () => ({ status: 400, body: { jsonrpc: '2.0', error: { code: -32021, message: 'no' } } })
  t.match(value(await call(link)), { id: 'a', error: { code: -32021 } })
})

t.test('era: legacy asks nothing', async t => {
  const { upstream, open } = await on(t, legacy(), 'legacy')
  t.equal((await open()).era, 'legacy')
  t.same(upstream.methods(), ['initialize', 'notifications/initialized'])
})

t.test('era: modern never shakes hands, and takes refusals for what they are', async t => {
  const { upstream, open, ended } = await on(t, legacy(), 'modern')
  await t.rejects(open(), { code: 'backend_unavailable', message: /modern/ })
  t.same(upstream.methods(), ['server/discover'])
  upstream.answer = modern(() => ({ status: 400 }))
  const link = await open()
  await t.rejects(call(link), { code: 'backend_status' })
  t.same(ended, [])
})
