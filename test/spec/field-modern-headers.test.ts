/** Field cases of area 17: what modern clients say in headers, and what legacy ones do (M26-*; S10 of the threats). */
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import t, { type Test } from 'tap'
import { encodeHeader } from '../../src/protocol/sentinel.ts'
import { facts, type NoticeFact } from '../../src/telemetry/events.ts'
import { type Edge, initialize, isRefusal, startEdge } from '../helpers/edge.ts'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { modernScripted, serveModern } from '../helpers/modern-scripted.ts'
import { Random } from '../helpers/random.ts'
import { RawClient, send } from '../helpers/raw-client.ts'
import { Scripted } from '../helpers/scripted.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { until } from '../helpers/until.ts'
import { as, users } from '../helpers/users.ts'

const key = (name: string): string => `io.modelcontextprotocol/${name}`
const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const object = (properties: object) => ({ type: 'object', properties })

const deploy = {
  name: 'deploy',
  inputSchema: object({
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    dry: object({ run: { type: 'boolean', 'x-mcp-header': 'Dry-Run' } }),
    note: { type: 'string' }
  })
}

/** A backend that can be called in every way; `heard()` counts all that it was asked but for lists. */
async function start(t: Test): Promise<Edge & { client: ModernClient; heard(): number }> {
  const edge = await startEdge(t)
  const { server } = edge
  server.initializeResult = server.initializeResult.replace(
    '"tools":',
    '"prompts":{},"resources":{},"completions":{},"tools":'
  )
  server.on('tools/list', turn => turn.answer(JSON.stringify({ tools: [deploy] })))
  server.on('tools/call', turn => turn.answer('{"content":[]}'))
  server.on('resources/read', turn => turn.answer('{"contents":[]}'))
  server.on('prompts/get', turn => turn.answer('{"messages":[]}'))
  server.on('prompts/list', turn => turn.answer('{"prompts":[]}'))
  server.on('completion/complete', turn => turn.answer('{"completion":{"values":[]}}'))
  const own = new Set(['initialize', 'notifications/initialized', 'tools/list'])
  return {
    ...edge,
    client: new ModernClient(edge.url),
    heard: () => server.heard.filter(({ method }) => !own.has(method ?? '')).length
  }
}

const mismatches: Readonly<
  Record<string, [method: string, params: object, headers: Record<string, string | undefined>]>
> = {
  'a name that is not the URI': ['resources/read', { uri: 'a:b', name: 'a' }, { 'mcp-name': 'a' }],
  'another URI': ['resources/read', { uri: 'a:b' }, { 'mcp-name': 'a:B' }],
  'no name of a prompt': ['prompts/get', { name: 'greet' }, { 'mcp-name': undefined }],
  'another prompt': ['prompts/get', { name: 'greet' }, { 'mcp-name': 'Greet' }],
  'another method': ['prompts/list', {}, { 'mcp-method': 'tools/list' }],
  'an encoded version': [
    'tools/call',
    { name: 'deploy' },
    { 'mcp-protocol-version': `=?base64?${Buffer.from('2026-07-28').toString('base64')}?=` }
  ],
  'an older version': ['tools/call', { name: 'deploy' }, { 'mcp-protocol-version': '2025-11-25' }],
  'no version': ['tools/call', { name: 'deploy' }, { 'mcp-protocol-version': undefined }],
  'an empty name': ['tools/call', { name: 'deploy' }, { 'mcp-name': '' }],
  'an encoded name that is empty': ['tools/call', { name: 'deploy' }, { 'mcp-name': '=?base64??=' }],
  'Base64 without padding': ['tools/call', { name: 'a' }, { 'mcp-name': '=?base64?YQ?=' }],
  'no Base64': ['tools/call', { name: 'a' }, { 'mcp-name': '=?base64?a b?=' }],
  'the bytes of a name in UTF-8': ['tools/call', { name: 'ä' }, { 'mcp-name': Buffer.from('ä').toString('latin1') }],
  'the bytes of a name in Latin-1': ['tools/call', { name: 'ä' }, { 'mcp-name': 'ä' }]
}

for (const [what, [method, params, headers]] of Object.entries(mismatches)) {
  t.test(`${what}: 400 with -32020 and the id, and the backend hears nothing (M26-01, M26-03)`, async t => {
    const { client, heard } = await start(t)
    isRefusal(t, await client.request(method, { ...params }, { id: 1, headers }), 400, -32020, 1)
    t.equal(heard(), 0)
  })
}

t.test('what is missing in the body is told as that: 400 with -32602 (M26-01)', async t => {
  const { client, url, heard } = await start(t)
  const headers = { ...usual, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'deploy' }
  for (const params of [{ name: 'deploy' }, { name: 'deploy', _meta: {} }]) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    isRefusal(t, await send(url, { headers, body }), 400, -32602, 1)
  }
  for (const meta of [{ [key('clientCapabilities')]: undefined }, { [key('clientCapabilities')]: 'all' }]) {
    isRefusal(t, await client.call('deploy', {}, { id: 1, meta }), 400, -32602, 1)
  }
  t.equal((await client.call('deploy', {}, { meta: { [key('clientInfo')]: undefined } })).status, 200, 'may be missing')
  t.equal(heard(), 1)
})

t.test('the version is looked at before everything else, so that clients get the list (M26-01)', async t => {
  const { url, heard } = await start(t)
  const future = new ModernClient(url, { version: '2027-01-01' })
  const headers = { 'mcp-method': 'tools/list', 'mcp-name': undefined }
  const response = await future.call('deploy', {}, { id: 1, headers })
  isRefusal(t, response, 400, -32022, 1)
  t.match(response.json.error.data, { supported: ['2026-07-28', '2025-11-25'], requested: '2027-01-01' })
  t.equal(heard(), 0)
})

/** A body with the headers that say it, and the same headers with one that does not. */
function mutated(random: Random): {
  method: string
  params: Record<string, unknown>
  headers: Record<string, string | undefined>
  what: string
} {
  const text = (): string =>
    Array.from({ length: 1 + random.below(8) }, () =>
      random.pick(['a', 'B', '7', '.', '/', ' ', '"', 'ä', '語', '=?base64?', '?=', '\n', '\\'])
    ).join('')
  const method = random.pick([
    'tools/call',
    'tools/call',
    'tools/call',
    'resources/read',
    'prompts/get',
    'prompts/list',
    'completion/complete'
  ])
  const right: Record<string, string> = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
  const params: Record<string, unknown> = {}
  // What a header can be changed to, in clear.
  const clear: Record<string, string> = { ...right }
  const absent: string[] = []
  /** A member that a header mirrors. */
  const mirrored = (header: string, members: Record<string, unknown>, name: string, value: unknown): void => {
    members[name] = value
    clear[header] = String(value)
    right[header] = encodeHeader(String(value))
  }
  if (method === 'resources/read') mirrored('mcp-name', params, 'uri', `x:${text()}`)
  if (method === 'prompts/get') mirrored('mcp-name', params, 'name', text())
  if (method === 'completion/complete') {
    Object.assign(params, { ref: { type: 'ref/prompt', name: text() }, argument: {} })
  }
  if (method === 'tools/call') {
    const args: Record<string, unknown> = { note: text() }
    const dry: Record<string, unknown> = {}
    mirrored('mcp-name', params, 'name', 'deploy')
    params.arguments = args
    const may = (header: string, members: Record<string, unknown>, name: string, value: unknown): void => {
      if (random.below(4) > 0) mirrored(header, members, name, value)
      else absent.push(header)
    }
    may('mcp-param-region', args, 'region', text())
    may('mcp-param-count', args, 'count', random.below(2_000_000) - 1_000_000)
    may('mcp-param-dry-run', dry, 'run', random.below(2) === 0)
    if (random.below(2) === 0 || 'run' in dry) args.dry = dry
  }
  const added = absent.length > 0 && random.below(5) === 0
  const name = added ? random.pick(absent) : random.pick(Object.keys(right))
  const was = clear[name] ?? ''
  const isCoded = name === 'mcp-name' || name.startsWith('mcp-param-')
  const other =
    name === 'mcp-param-count'
      ? String(Number(was || '1') + 1 + random.below(9))
      : `${was}${random.pick(['x', '0', 'ä', '?'])}`
  const loud = was.toUpperCase() === was ? `${was}x` : was.toUpperCase()
  const changes: Record<string, () => string | undefined> = {
    'to another value': () => (isCoded ? encodeHeader(other) : `${was}0`),
    'by a case': () => (isCoded ? encodeHeader(loud) : loud),
    'to half an encoding': () => `=?base64?${Buffer.from(`${was}x`).toString('base64').replace(/=+$/, '')}!?=`,
    'to bytes that are no UTF-8': () => '=?base64?/w==?=',
    'to characters beyond ASCII': () => `${name === 'mcp-param-count' ? '' : 'q'}\u00e9`
  }
  if (!added) changes['to nothing'] = () => undefined
  const what = random.pick(Object.keys(changes))
  return { method, params, headers: { ...right, [name]: changes[what]!() }, what: `${name} changed ${what}` }
}

t.test(
  'whatever the body, and whichever of its headers is changed: 400 with -32020, nothing reaches a backend (M26-01, S10)',
  async t => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const random = new Random(seed)
    const { client, heard, server } = await start(t)
    t.equal((await client.call('deploy', { region: 'eu' }, { headers: { 'mcp-param-region': 'eu' } })).status, 200)
    const [before, lists] = [heard(), server.heardOf('tools/list').length]
    const wrong: unknown[] = []
    const lane = async (_: unknown, of: number): Promise<void> => {
      for (let i = of; i < 600; i += 6) {
        const { method, params, headers, what } = mutated(random)
        const { status, json } = await client.request(method, params, { id: `m${i}`, headers })
        if (status !== 400 || json?.error?.code !== -32020 || json.id !== `m${i}`) {
          wrong.push({ what, method, params, headers, status, json })
        }
      }
    }
    await Promise.all(Array.from({ length: 6 }, lane))
    t.same(wrong.slice(0, 3), [], `seed ${seed}`)
    t.equal(heard(), before)
    t.equal(server.heardOf('tools/list').length, lists)
  }
)

t.test('a tool that clients see under another name: body and header are rewritten together (S10)', async t => {
  const server = modernScripted()
  server.on('tools/list', turn => turn.answer(JSON.stringify({ resultType: 'complete', tools: [deploy] })))
  server.on('tools/call', turn => turn.answer('{"resultType":"complete","content":[]}'))
  const { upstream, config } = await serveModern(t, server)
  const { url } = await startGateway(t, {
    backends: { a: config, b: config },
    routes: { '/mcp': { backends: ['a', 'b'] } }
  })
  const client = new ModernClient(url)
  const headers = { 'mcp-param-region': 'eu', 'mcp-param-other': 'x', 'mcp-param-count': '7' }
  t.equal((await client.call('b_deploy', { region: 'eu', count: 7 }, { headers })).status, 200)
  const { headers: sent, body } = upstream.seen.findLast(({ body }) => body.includes('tools/call'))!
  t.equal(JSON.parse(body).params.name, 'deploy')
  t.match(sent, { 'mcp-name': 'deploy', 'mcp-method': 'tools/call', 'mcp-param-region': 'eu', 'mcp-param-count': '7' })
  t.notOk('mcp-param-other' in sent, 'written anew from the body')
  const wrong = { ...headers, 'mcp-name': 'deploy' }
  isRefusal(t, await client.call('b_deploy', { region: 'eu', count: 7 }, { id: 1, headers: wrong }), 400, -32020, 1)
})

const annotated = (name: string, schema: object): string =>
  `{"name":"${name}", "inputSchema":{"type":"object","properties":${JSON.stringify(schema)},"x-odd":1.50,"big":9007199254740993}}`

const string = (header: unknown) => ({ type: 'string', 'x-mcp-header': header })

const dangerous: Readonly<Record<string, object>> = {
  empty: { a: string('') },
  blank: { a: string('a b') },
  lines: { a: string('X\r\nSet-Cookie: z=1') },
  twice: { a: string('Region'), b: string('region') },
  number: { a: { type: 'number', 'x-mcp-header': 'A' } },
  whole: { a: { type: 'object', 'x-mcp-header': 'A' } },
  items: { a: { type: 'array', items: string('A') } },
  one_of: { a: { oneOf: [string('A')] } },
  reference: { a: { $ref: '#/$defs/a', 'x-mcp-header': 'A' } }
}

const harmless = annotated('harmless', { token: string('Authorization'), region: string('Region') })

const over: Readonly<Record<string, (t: Test) => Promise<object>>> = {
  async 'a modern server over HTTP'(t) {
    return (await serveModern(t, listing(modernScripted()))).config
  },
  async 'an older server over HTTP'(t) {
    return (await serveModern(t, listing(new Scripted()), { sessions: true })).config
  },
  async 'a modern program'(t) {
    const { command, args, close } = await stdioUpstream(listing(modernScripted()))
    t.teardown(close)
    return { kind: 'stdio', command, args }
  }
}

function listing(server: Scripted): Scripted {
  const tools = [...Object.entries(dangerous).map(([name, schema]) => annotated(name, schema)), harmless].join(' , ')
  return server
    .on('tools/list', turn => turn.answer(`{"resultType":"complete","tools":[${tools}]}`))
    .on('tools/call', turn => turn.answer('{"resultType":"complete","content":[]}'))
}

for (const [way, begin] of Object.entries(over)) {
  t.test(
    `annotations of ${way} that are dangerous: those tools go, and are told of, the others stay (M26-05)`,
    async t => {
      const notices: NoticeFact[] = []
      t.teardown(facts.notice.subscribe(notice => notices.push(notice)))
      const { url } = await startGateway(t, { backends: { docs: await begin(t) } })
      const { text, json } = await new ModernClient(url).request('tools/list')
      t.same(
        json.result.tools.map(({ name }: { name: string }) => name),
        ['harmless']
      )
      t.match(text, harmless, 'byte for byte')
      for (const name of Object.keys(dangerous)) {
        t.ok(
          notices.some(({ level, text }) => level === 'warn' && text.includes(`"${name}"`)),
          name
        )
      }
    }
  )
}

t.test('a parameter called like a credential is a parameter, and line ends in values are encoded (M26-05)', async t => {
  const server = listing(modernScripted())
  const { upstream, config } = await serveModern(t, server)
  const { url } = await startGateway(t, { backends: { docs: config } })
  const args = { token: 'Bearer x', region: 'eu\r\nX-Evil: 1' }
  const headers = {
    'mcp-param-authorization': 'Bearer x',
    'mcp-param-region': encodeHeader(args.region),
    authorization: 'Bearer mine'
  }
  t.equal((await new ModernClient(url).call('harmless', args, { headers })).status, 200)
  const { headers: sent, body } = upstream.seen.findLast(({ body }) => body.includes('tools/call'))!
  t.equal(sent.authorization, undefined)
  t.equal(sent['mcp-param-authorization'], 'Bearer x')
  t.equal(sent['mcp-param-region'], `=?base64?${Buffer.from(args.region).toString('base64')}?=`)
  t.equal(sent['x-evil'], undefined)
  t.same(JSON.parse(body).params.arguments, args)
})

t.test(
  'what may be called is decided by the body, whatever the routing headers of a legacy request say (M26-06)',
  async t => {
    const edge = await startEdge(t)
    const ran: (string | undefined)[] = []
    const tools = ['allowed_tool', 'forbidden_tool'].map(name => ({ name, inputSchema: { type: 'object' } }))
    edge.server.on('tools/list', turn => turn.answer(JSON.stringify({ tools })))
    edge.server.on('tools/call', turn => {
      ran.push(turn.name)
      turn.answer('{"content":[]}')
    })
    const { url } = await startGateway(t, {
      backends: { docs: { kind: 'http', url: edge.upstream.url, tools: { deny: ['forbidden_*'] } } }
    })
    for (const version of ['2025-06-18', undefined]) {
      const client = await RawClient.open(url, { version: version ?? '2025-03-26' })
      const headers = { 'mcp-name': 'allowed_tool', 'mcp-method': 'tools/list', 'mcp-protocol-version': version }
      const denied = await client.request('tools/call', { name: 'forbidden_tool', arguments: {} }, headers)
      t.match(denied.json, { error: { code: -32602 } }, `${version}`)
      const swapped = { ...headers, 'mcp-name': 'forbidden_tool' }
      const allowed = await client.request('tools/call', { name: 'allowed_tool', arguments: {} }, swapped)
      t.match(allowed.json, { result: { content: [] } })
    }
    t.same(ran, ['allowed_tool', 'allowed_tool'])
  }
)

t.test('a session id on a modern request does not keep the session, whosever it is (M26-08)', async t => {
  const { url, adminUrl } = await startEdge(t, { sessions: { idle: '300ms' } })
  const [mine, yours] = [await RawClient.open(url), await RawClient.open(url)]
  const client = new ModernClient(url)
  await until(
    'the session is over, for all the modern requests with its id',
    async () => {
      const headers = { 'mcp-session-id': mine.session, 'last-event-id': '1_1' }
      const [one, two] = await Promise.all([
        client.call('echo', { n: 1 }, { id: 1, headers }),
        client.call('echo', { n: 2 }, { id: 1, headers: { ...headers, 'mcp-session-id': yours.session } })
      ])
      t.equal(one.json.result.content[0].text, '{"n":1}')
      t.equal(two.json.result.content[0].text, '{"n":2}')
      t.equal(one.headers['mcp-session-id'] ?? two.headers['mcp-session-id'], undefined)
      const response = await fetch(new URL('/readyz?verbose', adminUrl))
      return ((await response.json()) as { sessions: number }).sessions === 0
    },
    10_000
  )
  t.equal((await mine.call('echo')).status, 404)
})

t.test('GET and DELETE with the version are 405, a GET without it has its channel (M26-08)', async t => {
  const { url } = await startEdge(t)
  const session = await RawClient.open(url)
  for (const method of ['GET', 'DELETE']) {
    const { status, headers } = await send(url, {
      method,
      headers: { ...session.headers, accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28' }
    })
    t.same([status, headers.allow], [405, 'POST'])
  }
  const channel = await session.get()
  t.equal(channel.status, 200)
  channel.destroy()
})

t.test('on one connection no request has what another one declared, or is another user (M26-10)', async t => {
  const server = new Scripted()
  server.on('tools/list', turn => turn.answer('{"tools":[]}'))
  server.on('tools/call:ask', async turn => {
    const { error } = await turn.ask('elicitation/create', { message: '?', requestedSchema: {} })
    turn.answer(JSON.stringify({ content: [], refused: error?.code }))
  })
  server.on('tools/call:who', turn => turn.answer('{"content":[]}'))
  const { upstream, config } = await serveModern(t, server, { sessions: true })
  const { url } = await startGateway(t, { backends: { docs: config } }, import.meta.dirname, { authenticator: users })
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const call = (name: string, user: string, capabilities: object) =>
    new ModernClient(url, { capabilities, agent }).call(name, {}, { headers: as(user) })
  for (let round = 0; round < 3; round++) {
    const asked = await lastOf(await call('ask', 'alice', { elicitation: {} }))
    t.equal(asked.result.resultType, 'input_required')
    t.match(await lastOf(await call('ask', 'alice', {})), { result: { refused: -32601 } })
    for (const user of ['alice', 'bob']) t.equal((await call('who', user, {})).status, 200)
    const legacy = await send(url, { agent, headers: { ...usual, ...as('bob') }, body: initialize() })
    t.equal(legacy.json.result.protocolVersion, '2025-11-25')
    t.equal((await send(url, { agent, headers: usual, body: initialize() })).status, 403, 'nobody')
  }
  const sessionsOf = (name: string) =>
    upstream.seen.filter(({ body }) => body.includes(`"${name}"`)).map(({ headers }) => headers['mcp-session-id'])
  t.equal(new Set(sessionsOf('who')).size, 2, 'one for each user')
})

t.test('a discovery and a handshake sent in one go are answered each by itself (M26-10)', async t => {
  const { url } = await startEdge(t)
  const { port, host } = new URL(url)
  const socket = net.connect(Number(port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  const post = (body: string, headers: string): string =>
    `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n` +
    `${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const _meta = { [key('protocolVersion')]: '2026-07-28', [key('clientCapabilities')]: {} }
  const discover = JSON.stringify({ jsonrpc: '2.0', id: 'd', method: 'server/discover', params: { _meta } })
  const version = 'MCP-Protocol-Version: 2026-07-28\r\n'
  socket.write(
    post(discover, `${version}Mcp-Method: server/discover\r\n`) +
      post(initialize(), 'Mcp-Method: initialize\r\n') +
      post(discover, `${version}Mcp-Method: initialize\r\n`)
  )
  let text = ''
  socket.setEncoding('utf8').on('data', data => {
    text += data
  })
  await until('three answers', () => text.split('HTTP/1.1 ').length === 4 && text.endsWith('}'))
  const answers = text.split('HTTP/1.1 ').slice(1)
  t.same(
    answers.map(answer => answer.slice(0, 3)),
    ['200', '200', '400']
  )
  t.match(answers[0], '"id":"d"')
  t.match(answers[1], '"protocolVersion":"2025-11-25"')
  t.match(answers[2], '-32020')
  socket.end()
  await once(socket, 'close')
})
