/** Nobody gets what is another's: 64 clients that use the same ids and tokens, sessions of other principals, state per session (S6, S15, SES-08, BKD-08, R100e, R141). */
import t from 'tap'
import type { Authenticator } from '../../src/auth/principal.ts'
import { GatewayError } from '../../src/errors.ts'
import { behind, type Kind } from '../helpers/behind.ts'
import { startGateway } from '../helpers/gateway.ts'
import { owners } from '../helpers/owners.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { contractTools, Scripted } from '../helpers/scripted.ts'
import { fixture } from '../helpers/stdio.ts'

/** Children are processes: fewer sessions, each with more calls at once. More of it: `npm run isolation`. */
const loads: Readonly<Record<Kind, readonly [clients: number, atOnce: number, calls: number]>> = {
  http: [64, 1, 1_280],
  sse: [64, 1, 640],
  stdio: [8, 8, 1_280],
  'stdio shared': [64, 1, 1_280]
}

for (const [kind, [clients, atOnce, calls]] of Object.entries(loads) as [Kind, (typeof loads)[Kind]][]) {
  void t.test(`${kind}: ${clients} clients that all use id 1 and token 1 get their own answers (S15)`, async t => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    t.same(await owners(t, kind, { clients, atOnce, calls, seed }), { wrong: [], calls }, `seed ${seed}`)
  })
}

t.test(
  'state of one session is not seen by another, unless the backend is shared by configuration (BKD-08)',
  async t => {
    const config = { kind: 'stdio', command: process.execPath, args: [fixture('server.mjs')] }
    const { gateway } = await startGateway(t, {
      backends: { own: config, shared: { ...config, scope: 'shared', env: { X: '1' } } }
    })
    const counted = async (client: RawClient): Promise<string> =>
      (await client.call('increment')).json.result.content[0].text
    for (const [name, expected] of [
      ['own', ['1', '2', '3', '1']],
      ['shared', ['1', '2', '3', '4']]
    ] as const) {
      const url = gateway.url(`/mcp/${name}`)
      const [one, two] = [await RawClient.open(url), await RawClient.open(url)]
      const counts = [await counted(one), await counted(one), await counted(one), await counted(two)]
      t.same(counts, expected, name)
    }
  }
)

t.test('each session reaches its own upstream session, whatever others do', async t => {
  const server = contractTools(new Scripted())
  const { url, http } = await behind(t, 'http', { server })
  const clients = await Promise.all([1, 2, 3].map(() => RawClient.open(url)))
  http.seen.length = 0
  for (let i = 0; i < 5; i++) await Promise.all(clients.map((client, c) => client.call('echo', { c })))
  const sessions = clients.map(
    (_, c) =>
      new Set(
        http.seen.filter(({ body }) => body.includes(`{"c":${c}}`)).map(({ headers }) => headers['mcp-session-id'])
      )
  )
  t.same(
    sessions.map(({ size }) => size),
    [1, 1, 1]
  )
  t.equal(new Set(sessions.flatMap(set => [...set])).size, 3)
})

/** Bearer tokens that are the name of their user, with a number that changes at renewal. */
const authenticator: Authenticator = {
  authenticate({ authorization }) {
    const user = /^Bearer ([a-z]+)-\d+$/.exec(authorization ?? '')?.[1]
    if (user === undefined) throw new GatewayError('origin', 'who are you?')
    return { key: `issuer ${user}`, issuer: 'issuer', subject: user }
  }
}

class User extends RawClient {
  token: string
  constructor(url: string, token: string) {
    super(url)
    this.token = token
  }
  override get headers(): Record<string, string | undefined> {
    return { ...super.headers, authorization: `Bearer ${this.token}` }
  }
  async initialize(): Promise<this> {
    const { headers } = await this.post({
      id: 'i',
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: { elicitation: {} },
        clientInfo: { name: 'c', version: '1' }
      }
    })
    this.session = headers['mcp-session-id'] as string
    await this.post({ method: 'notifications/initialized' })
    return this
  }
}

t.test("another principal's session does not exist, whatever is tried with it (SES-08, S5, S6, R141)", async t => {
  const server = contractTools(new Scripted())
  const { url } = await behind(t, 'http', {
    server,
    parts: { authenticator },
    file: { streams: { sseAfter: '50ms' } }
  })
  t.equal((await new User(url, 'nobody').post({ id: 1, method: 'ping' })).status, 403)
  const alice = await new User(url, 'alice-1').initialize()
  const channel = await alice.get()
  const call = await alice.post({ id: 'slow', method: 'tools/call', params: { name: 'ask' } })
  const { id } = await call.events.message(({ method }) => method === 'elicitation/create')
  const cursor = call.events.all[0]!.id
  server.heard.length = 0

  const bob = await new User(url, 'bob-1').initialize()
  const own = server.heard.length
  bob.session = alice.session
  for (const [what, attempt] of Object.entries({
    'POST a request': () => bob.post({ id: 1, method: 'tools/list' }),
    'POST a notification': () => bob.post({ method: 'notifications/cancelled', params: { requestId: 'slow' } }),
    'POST a response': () => bob.post({ id, result: { action: 'accept' } }),
    GET: () => bob.get(),
    'GET with Last-Event-ID': () => bob.get(cursor),
    DELETE: () => bob.delete()
  })) {
    const { status, json, headers } = await attempt()
    t.equal(status, 404, what)
    t.equal(headers['content-type'], 'application/json')
    t.match(json, { error: { data: { reason: 'session' } } })
  }
  t.equal(server.heard.length, own, 'the upstream heard nothing of it')
  t.notOk(channel.events.ended)
  t.notOk(call.events.ended)

  alice.token = 'alice-2'
  t.equal(
    (await alice.post({ id, result: { action: 'decline' } })).status,
    202,
    'a renewed token is the same principal'
  )
  const { messages } = await call.events.whole()
  t.match(messages.at(-1), { id: 'slow', result: { content: [{ text: '{"action":"decline"}' }] } })
})
