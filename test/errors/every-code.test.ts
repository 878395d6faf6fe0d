/** Every code of docs/errors.md, provoked over real sockets: the statuses and codes of its row, and where it is told (E6). */
import t, { type Test } from 'tap'
import { type ErrorCode, errorTable } from '../../src/errors.ts'
import { MemoryBus, MemoryPresence } from '../../src/instances/memory.ts'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import { eventId, newStream } from '../../src/streams/event-id.ts'
import { MemoryStreamLog } from '../../src/streams/memory.ts'
import { initialize, startEdge } from '../helpers/edge.ts'
import { startGateway } from '../helpers/gateway.ts'
import { saying, startLegacy } from '../helpers/legacy.ts'
import { ModernClient } from '../helpers/modern.ts'
import { freePorts } from '../helpers/ports.ts'
import { RawClient, type RawRequest, type RawResponse, send } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'
import { bodyOf, connect } from '../helpers/wire.ts'

/** What the client gets: the HTTP status, and the JSON-RPC error. */
interface Told {
  readonly status: number
  readonly json: any
  readonly headers?: RawResponse['headers']
}

const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** One HTTP request without a session. */
const request = async (t: Test, { headers = {}, ...rest }: RawRequest = {}, file = {}): Promise<RawResponse> =>
  send((await startEdge(t, file)).url, { body: initialize(), headers: { ...usual, ...headers }, ...rest })

/** A message in a session. */
async function message(t: Test, say: object, headers: RawRequest['headers'] = {}): Promise<RawResponse> {
  return (await RawClient.open((await startEdge(t)).url)).post(say, headers)
}

/** A call that the backend answers in a way of its own: HTTP status and body. */
async function answeredWith(t: Test, status: number, body: string): Promise<RawResponse> {
  const { url, upstream } = await startEdge(t)
  const client = await RawClient.open(url)
  upstream.options.intercept = (_request, response, text) => {
    if (!text.includes('tools/call')) return false
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    return true
  }
  return client.call('echo')
}

/** A request without a session, of a revision that has none. */
function modern(
  t: Test,
  meta: Record<string, unknown>,
  version = '2026-07-28',
  method = 'tools/list',
  headers: Record<string, string> = {}
): Promise<Told> {
  const all = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    ...meta
  }
  return message(
    t,
    { id: 1, method, params: { _meta: all } },
    { 'mcp-protocol-version': version, 'mcp-method': method, ...headers }
  )
}

/** The last message of a response, whichever way it came. */
async function last(response: RawResponse): Promise<Told> {
  if (response.json !== undefined) return response
  return { status: response.status, json: (await response.events.whole()).messages.at(-1) }
}

const provoke: Readonly<Record<ErrorCode, (t: Test) => Promise<Told>>> = {
  parse: t => request(t, { body: '{"jsonrpc":' }),
  invalid: t => request(t, { body: '{"jsonrpc":"1.0","id":1,"method":"ping"}' }),
  params: t => request(t, { body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' }),
  method: t => message(t, { id: 1, method: 'notifications/initialized' }),
  header: t => request(t, { headers: { 'mcp-session-id': ['a', 'b'] } }),
  version: t => message(t, { id: 1, method: 'ping' }, { 'mcp-protocol-version': '2023-01-01' }),
  mismatch: t => modern(t, {}, undefined, 'tools/list', { 'mcp-method': 'tools/call' }),
  unsupported_version: t => modern(t, {}, '2026-08-01'),
  meta: t => modern(t, { 'io.modelcontextprotocol/clientCapabilities': undefined }),
  state: async t => {
    const { url } = await startEdge(t)
    const params = { name: 'echo', arguments: {}, requestState: 'AAAA' }
    return new ModernClient(url).request('tools/call', params)
  },
  capability: t => modern(t, {}, undefined, 'tasks/get'),
  unknown_method: t => modern(t, {}, undefined, 'ping'),
  host: t => request(t, { headers: { host: 'rebound.example.com' } }),
  origin: t => request(t, { headers: { origin: 'https://page.example.com' } }),
  path: t => request(t, { path: '/mcp/' }),
  session_required: t => request(t, { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' }),
  session: t => message(t, { id: 1, method: 'ping' }, { 'mcp-session-id': 'somebody-else' }),
  http_method: t => request(t, { method: 'PUT' }),
  not_acceptable: t => request(t, { headers: { accept: 'text/html' } }),
  too_large: t => request(t, { body: ' '.repeat(2_000) }, { server: { limits: { body: '1KiB' } } }),
  media_type: t => request(t, { headers: { 'content-type': 'text/plain' } }),
  async cursor(t) {
    return (await RawClient.open((await startEdge(t)).url)).get('never-given_1')
  },
  not_asked: t => message(t, { id: 'never asked', result: {} }),
  async full(t) {
    const { url } = await startEdge(t, { sessions: { max: 1 } })
    await RawClient.open(url)
    return new RawClient(url).post(initialize())
  },
  async overloaded(t) {
    const { url } = await startEdge(t, { server: { limits: { body: '1KiB' } } })
    const half = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1024\r\n\r\n{`
    for (let i = 0; i < 64; i++) (await connect(t, url)).write(half)
    let told: Told | undefined
    await until('the next one is refused', async () => {
      const wire = await connect(t, url)
      wire.write(half)
      await wire.until(/\}$/, 200).catch(() => {})
      if (wire.text === '') return false
      told = { status: Number(wire.text.split(' ')[1]), json: bodyOf(wire.text), headers: { 'retry-after': '1' } }
      return true
    })
    return told!
  },
  async store(t) {
    const store = new MemorySessionStore()
    t.teardown(() => store.close())
    const { open } = await startLegacy(t, { parts: { store } })
    const client = await open()
    store.get = async () => {
      throw new Error('the store is away')
    }
    return client.request('ping')
  },
  async shutdown(t) {
    const { open, gateway, held, status } = await startLegacy(t)
    const client = await open()
    const call = client.call('held')
    const turn = await held()
    const closing = gateway.close({ deadline: 5_000 })
    await until('it drains', async () => (await status()).state === 'draining')
    const refused = await client.request('ping')
    turn.answer(saying('done'))
    await call
    await closing
    return refused
  },
  async backend_unavailable(t) {
    const [port] = await freePorts(1)
    const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: `http://127.0.0.1:${port}/mcp` } } })
    return new RawClient(url).post(initialize())
  },
  async backend_broke(t) {
    const client = await RawClient.open((await startEdge(t)).url)
    return last(await client.call('die'))
  },
  backend_session_lost: t => answeredWith(t, 404, ''),
  backend_invalid: t => answeredWith(t, 200, '{"jsonrpc":"2.0","id":'),
  async backend_too_large(t) {
    const client = await RawClient.open((await startEdge(t, { server: { limits: { upstream: '4KiB' } } })).url)
    return client.call('large', { size: 5_000 })
  },
  backend_status: t => answeredWith(t, 503, 'away for lunch'),
  async timeout(t) {
    const { upstream } = await startEdge(t)
    const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url, timeout: '100ms' } } })
    return (await RawClient.open(url)).call('never')
  },
  async input_timeout(t) {
    // It is the backend that gets this error; the tool says which.
    const { url } = await startEdge(t, { input: { timeout: '100ms' } })
    const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
    const { events, status } = await client.call('ask')
    const { result } = (await events.whole()).messages.at(-1)
    return { status, json: { jsonrpc: '2.0', id: client.lastId, error: JSON.parse(result.content[0].text) } }
  },
  async response_gone(t) {
    const { open, held, status } = await startLegacy(t, { file: { streams: { retain: '1ms' } } })
    const client = await open()
    const call = client.call('held', {}, { progressToken: 1 })
    const turn = await held()
    turn.progress(1)
    const { events, destroy } = await call
    const cursor = (await events.until(({ all }) => all.find(({ id }) => id !== undefined))).id
    destroy()
    turn.answer(saying('done'))
    await until('it is over', async () => (await status()).backends[0]!.inflight === 0)
    return last(await client.get(cursor))
  },
  async instance_gone(t) {
    const log = new MemoryStreamLog({ events: 10, bytes: 1_000, total: 10_000, retainMs: 60_000 }, 'dead')
    const shared = { presence: new MemoryPresence(), bus: new MemoryBus(), key: Buffer.alloc(32) }
    const { open } = await startLegacy(t, { parts: { log, shared } })
    const client = await open()
    const stream = newStream()
    await log.open({ session: client.session!, stream }, '{"ids":["1"]}')
    return last(await client.get(eventId(stream, 0)))
  },
  async internal(t) {
    const authenticator = {
      authenticate: () => {
        throw new TypeError('a secret of the gateway')
      }
    }
    const { url } = await startLegacy(t, { parts: { authenticator } })
    return new RawClient(url).post(initialize())
  }
}

/** Of a backend: the code alone says too little. */
const namesBackend = (code: string): boolean => code.startsWith('backend_') || code === 'timeout'

/** Codes of refusals that say when, or how, to try again. */
const headersOf: Partial<Record<ErrorCode, Record<string, RegExp>>> = {
  http_method: { allow: /POST/ },
  full: { 'retry-after': /^\d+$/ },
  overloaded: { 'retry-after': /^\d+$/ },
  store: { 'retry-after': /^\d+$/ },
  shutdown: { 'retry-after': /^\d+$/, connection: /^close$/ }
}

for (const code of Object.keys(errorTable) as ErrorCode[]) {
  t.test(`\`${code}\` is what a client is told, as docs/errors.md says`, async t => {
    const { status, json, headers } = await provoke[code](t)
    const row = errorTable[code]
    t.equal(status, row.status)
    t.match(json, { jsonrpc: '2.0', error: { code: row.rpc, message: String, data: { reason: code } } })
    t.ok(json.error.message.length > 0)
    t.equal('id' in json && json.id === null, false, 'no id: null')
    if (namesBackend(code)) t.equal(json.error.data.backend, 'docs')
    for (const [name, value] of Object.entries(headersOf[code] ?? {})) t.match(headers?.[name], value)
    t.notMatch(JSON.stringify(json), /secret|lunch|stack|\.ts/, 'nothing inner is told')
  })
}
