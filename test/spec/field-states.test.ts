/** Field case MRT-01 and threat S7: what becomes of a `requestState` that is not what was given to this caller for this request. */
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { asking, form, modernScripted, serveModern } from '../helpers/modern-scripted.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { Scripted } from '../helpers/scripted.ts'
import { as, users } from '../helpers/users.ts'

failOnRejections(t)

const tools = JSON.stringify(['x', 'y'].map(name => ({ name, inputSchema: { type: 'object' } })))
const declined = { action: 'decline' }

/** Older: asks on the stream of the call. */
function older(): Scripted {
  const server = new Scripted()
  server.on('tools/list', turn => turn.answer(`{"tools":${tools}}`))
  server.on('tools/call', async turn => {
    await turn.ask('elicitation/create', { message: '?', requestedSchema: {} })
    turn.answer('{"content":[],"ended":true}')
  })
  return server
}

/** Of the revision: asks with a state of its own. */
function newer(state: string): Scripted {
  const server = modernScripted()
  server.on('tools/list', turn => turn.answer(`{"resultType":"complete","tools":${tools}}`))
  server.on('tools/call', turn => {
    const { requestState } = JSON.parse(turn.message.source.toString()).params
    const ended = JSON.stringify({ resultType: 'complete', content: [], ended: true, requestState })
    turn.answer(requestState == null ? asking({ 'input-1': form('?') }, { requestState: state }) : ended)
  })
  return server
}

const eras: Readonly<Record<string, (t: Test) => Promise<{ server: Scripted; config: object }>>> = {
  async older(t) {
    const server = older()
    return { server, config: (await serveModern(t, server, { sessions: true })).config }
  },
  async newer(t) {
    const server = newer('opaque-1')
    return { server, config: (await serveModern(t, server)).config }
  }
}

const bad = { error: { code: -32602, data: { reason: 'state' } } }

class Caller {
  readonly client: ModernClient
  readonly user: string
  constructor(url: string, user: string) {
    this.client = new ModernClient(url, { capabilities: { elicitation: {} } })
    this.user = user
  }

  async call(name: string, id?: string): Promise<any> {
    return lastOf(await this.client.call(name, {}, { headers: as(this.user), ...(id === undefined ? {} : { id }) }))
  }

  async retry(name: string, requestState: unknown, more: { id?: string; args?: object } = {}): Promise<any> {
    const { id, args = {} } = more
    const params = { name, arguments: args, inputResponses: { 'input-1': declined }, requestState }
    const saying = { headers: as(this.user), ...(id === undefined ? {} : { id }) }
    return lastOf(await this.client.request('tools/call', params, saying))
  }
}

for (const [era, start] of Object.entries(eras)) {
  t.test(
    `over a server of ${era} revisions: a state with any one byte changed is refused, and nobody asked (S7)`,
    async t => {
      const { server, config } = await start(t)
      const { url } = await startGateway(t, { backends: { docs: config } }, import.meta.dirname, {
        authenticator: users
      })
      const alice = new Caller(url, 'alice')
      const { requestState } = (await alice.call('x')).result
      const before = server.heard.length
      const wrong: string[] = []
      const lane = async (_: unknown, from: number): Promise<void> => {
        for (let i = from; i < requestState.length; i += 8) {
          const other = String.fromCharCode(requestState.charCodeAt(i) ^ 1)
          const message = await alice.retry('x', requestState.slice(0, i) + other + requestState.slice(i + 1))
          if (message.error?.code !== -32602) wrong.push(JSON.stringify([i, message]))
        }
      }
      await Promise.all(Array.from({ length: 8 }, lane))
      t.ok(requestState.length > 100)
      t.same(wrong, [])
      t.equal(server.heard.length, before)
      t.match(await alice.retry('x', requestState), { result: { ended: true } }, 'and was good all the while')
    }
  )

  t.test(
    `over a server of ${era} revisions: of another caller, tool, route, gateway; never given (MRT-01)`,
    async t => {
      const { server, config } = await start(t)
      const parts = { authenticator: users }
      const file = { backends: { docs: config, more: (await start(t)).config }, input: { timeout: '1m' } }
      const routes = { '/mcp': { backends: ['docs'] }, '/more': { backends: ['more'] } }
      const { url, gateway } = await startGateway(t, { ...file, routes }, import.meta.dirname, parts)
      const [alice, bob] = [new Caller(url, 'alice'), new Caller(url, 'bob')]
      const { requestState } = (await alice.call('x', 'same')).result
      const before = server.heardOf('tools/call').length
      t.match(await bob.retry('x', requestState), bad, 'of another caller')
      t.match(await alice.retry('y', requestState), bad, 'of another tool')
      t.match(await new Caller(gateway.url('/more'), 'alice').retry('x', requestState), bad, 'of another backend')
      const elsewhere = await startGateway(t, { ...file, routes }, import.meta.dirname, parts)
      t.match(await new Caller(elsewhere.url, 'alice').retry('x', requestState), bad, 'of a gateway with another key')
      t.match(await alice.retry('x', 'opaque-1'), bad, 'never given')
      t.match(await alice.retry('x', ''), bad)
      t.match(await alice.retry('x', 'A'.repeat(65_536)), bad, '64 KB')
      t.match(await alice.retry('x', 7), { error: { code: -32602 } })
      t.equal(server.heardOf('tools/call').length, before, 'no backend heard of it')
      t.match(
        await alice.retry('x', requestState, { id: 'same' }),
        { result: { ended: true } },
        'the id of before is free'
      )
      t.equal((await alice.retry('x', null)).result.resultType, 'input_required', 'null is none')
    }
  )

  t.test(`over a server of ${era} revisions: old ones (MRT-01)`, async t => {
    const { server, config } = await start(t)
    const file = { backends: { docs: config }, input: { timeout: '150ms' } }
    const { url } = await startGateway(t, file, import.meta.dirname, { authenticator: users })
    const alice = new Caller(url, 'alice')
    const { requestState } = (await alice.call('x')).result
    await new Promise(resolve => setTimeout(resolve, 200))
    const before = server.heardOf('tools/call').length
    t.match(await alice.retry('x', requestState), bad)
    t.equal(server.heardOf('tools/call').length, before)
  })
}

t.test(
  'a state that a call waits for is good once; one that a backend made is good as often as the backend says (MRT-01)',
  async t => {
    for (const [era, again] of [
      ['older', bad],
      ['newer', { result: { ended: true } }]
    ] as const) {
      const { config } = await eras[era]!(t)
      const { url } = await startGateway(t, { backends: { docs: config } }, import.meta.dirname, {
        authenticator: users
      })
      const alice = new Caller(url, 'alice')
      const { requestState } = (await alice.call('x')).result
      t.match(await alice.retry('x', requestState), { result: { ended: true } })
      t.match(await alice.retry('x', requestState), again, era)
    }
  }
)

t.test(
  'what backends made reaches them bit by bit, 64 KB of it, through every instance that has the key (MRT-01)',
  async t => {
    const own = `{"n":1.0,"é":"\\/"} =?base64?${'ü'.repeat(32_000)}`
    const server = newer(own)
    const { config } = await serveModern(t, server)
    const file = { backends: { docs: config }, secrets: { key: Buffer.alloc(32, 9).toString('base64url') } }
    const parts = { authenticator: users }
    const [one, two] = [
      await startGateway(t, file, import.meta.dirname, parts),
      await startGateway(t, file, import.meta.dirname, parts)
    ]
    const { requestState } = (await new Caller(one.url, 'alice').call('x')).result
    t.notMatch(requestState, '=?base64?')
    t.match(await new Caller(two.url, 'alice').retry('x', requestState), { result: { requestState: own } })
    t.match(await new Caller(two.url, 'bob').retry('x', requestState), bad)
    const open = await startGateway(t, { backends: { docs: config } })
    const nobody = new ModernClient(open.url, { capabilities: { elicitation: {} } })
    const given = (await lastOf(await nobody.call('x'))).result.requestState
    t.equal(given, own, 'to who is nobody as it is')
    const params = { name: 'x', arguments: {}, inputResponses: { 'input-1': declined }, requestState: given }
    t.match(await lastOf(await nobody.request('tools/call', params)), { result: { requestState: own } })
  }
)
