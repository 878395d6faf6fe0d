/**
 * What a modern backend calls `requestState`, on its way through a modern client (2026-07-28 basic/patterns/mrtr, "Server
 * Requirements"; decisions: "`input_required` of a modern backend").
 */
import t, { type Test } from 'tap'
import { type Authenticator, anonymous } from '../../src/auth/principal.ts'
import { type Answering, type Asked, modern, result, type Said, startAnswering } from '../helpers/answering.ts'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'

/** Who says no name is nobody. */
const authenticator: Authenticator = {
  authenticate({ authorization: user }) {
    return user === undefined ? anonymous : { key: `issuer ${user}`, issuer: 'issuer', subject: user }
  }
}

/** One that another writer of JSON would write in another way. */
const written = '"{\\"n\\":1.0,\\"\\u0065\\":\\"\\/\\"}"'
const state: string = JSON.parse(written)

/** Asks once; then answers with the state that came back. Tools and prompts, resources and their lists alike. */
const asking =
  (tools: readonly string[] = []) =>
  (asked: Asked): Said => {
    const { method, body } = asked
    if (method === 'tools/list') {
      return result(asked, { resultType: 'complete', tools: tools.map(name => ({ name, inputSchema: {} })) })
    }
    if (method.endsWith('/list')) return { status: 200, body: { jsonrpc: '2.0', id: body.id, error: { code: -32601 } } }
    if (body.params.requestState !== undefined) {
      const text = body.params.requestState
      return result(asked, { resultType: 'complete', content: [{ type: 'text', text }] })
    }
    const inputs =
      '{"confirm":{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{}}}}'
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: {
        toJSON: () => ({
          jsonrpc: '2.0',
          id: body.id,
          result: { resultType: 'input_required', inputRequests: JSON.parse(inputs), requestState: state }
        })
      }
    }
  }

interface Started {
  readonly url: string
  readonly upstreams: Readonly<Record<string, Answering>>
}

async function start(t: Test, names: readonly string[], tools: (name: string) => readonly string[]): Promise<Started> {
  const upstreams: Record<string, Answering> = {}
  for (const name of names) upstreams[name] = await startAnswering(t, modern(asking(tools(name))))
  const { url } = await startGateway(
    t,
    {
      backends: Object.fromEntries(names.map(name => [name, { kind: 'http', url: upstreams[name]!.url }])),
      routes: { '/mcp': { backends: names } }
    },
    import.meta.dirname,
    { authenticator }
  )
  return { url, upstreams }
}

const clientOf = (url: string): ModernClient => new ModernClient(url, { capabilities: { elicitation: {} } })
const as = (user: string) => ({ headers: { authorization: user } })
const answers = { confirm: { action: 'accept', content: {} } }

const callsAt = ({ asked }: Answering): Asked[] => asked.filter(({ method }) => method === 'tools/call')

t.test('to who is nobody it passes as it is, both ways', async t => {
  const { url, upstreams } = await start(t, ['a'], () => ['x'])
  const client = clientOf(url)
  const { requestState } = (await lastOf(await client.call('x'))).result
  t.equal(requestState, state)
  const retry = await client.request('tools/call', { name: 'x', inputResponses: answers, requestState })
  t.match(await lastOf(retry), { result: { content: [{ text: state }] } })
  t.match(callsAt(upstreams.a!)[1], { body: { params: { requestState: state, inputResponses: answers } } })
})

t.test('to who is somebody it is sealed, and comes back to the backend as it was', async t => {
  const { url, upstreams } = await start(t, ['a'], () => ['x'])
  const client = clientOf(url)
  for (const params of [
    { method: 'tools/call', name: 'x' },
    { method: 'prompts/get', name: 'p' },
    { method: 'resources/read', uri: 'a:b' }
  ]) {
    const { method, ...own } = params
    const { requestState, inputRequests } = (await lastOf(await client.request(method, own, as('ada')))).result
    t.notMatch(requestState, state)
    t.match(inputRequests, { confirm: { method: 'elicitation/create' } })
    const again = { ...own, inputResponses: answers, requestState }
    t.match((await lastOf(await client.request(method, again, as('ada')))).result, { content: [{ text: state }] })
    // Nothing is remembered: it is the backend's to say how often it is good.
    t.match((await lastOf(await client.request(method, again, as('ada')))).result, { content: [{ text: state }] })
  }
  t.equal(callsAt(upstreams.a!).length, 3)
})

t.test(
  'to the caller, method and name it was given to alone: else -32602, and no backend hears of it (S7)',
  async t => {
    const { url, upstreams } = await start(t, ['a', 'b'], name => (name === 'a' ? ['x', 'y'] : ['z']))
    const client = clientOf(url)
    const { requestState } = (await lastOf(await client.call('x', {}, as('ada')))).result
    const heard = (): number => upstreams.a!.asked.length + upstreams.b!.asked.length
    const refused = async (what: string, method: string, params: object, saying: object): Promise<void> => {
      const before = heard()
      const response = await client.request(method, { inputResponses: answers, requestState, ...params }, saying)
      t.equal(response.status, 200)
      t.match(await lastOf(response), { error: { code: -32602, message: /requestState is not good/ } }, what)
      t.equal(heard(), before, `${what}: nobody was asked`)
    }
    await refused('another caller', 'tools/call', { name: 'x' }, as('eve'))
    await refused('another tool', 'tools/call', { name: 'y' }, as('ada'))
    await refused('a tool of another backend', 'tools/call', { name: 'z' }, as('ada'))
    await refused('another method', 'prompts/get', { name: 'x' }, as('ada'))
    await refused('the bare state', 'tools/call', { name: 'x', requestState: state }, as('ada'))
    await refused('nobody’s state', 'tools/call', { name: 'x', requestState: 'no' }, as('ada'))
    const changed = requestState.slice(0, -2) + (requestState.endsWith('AA') ? 'BB' : 'AA')
    await refused('a changed one', 'tools/call', { name: 'x', requestState: changed }, as('ada'))
    const good = { name: 'x', inputResponses: answers, requestState }
    t.match(await lastOf(await client.request('tools/call', good, as('ada'))), {
      result: { content: [{ text: state }] }
    })
  }
)

t.test('of several backends the one that asked gets the retry, under its own name for the tool', async t => {
  const { url, upstreams } = await start(t, ['a', 'b'], () => ['x'])
  const client = clientOf(url)
  for (const [name, user] of [
    ['a_x', 'ada'],
    ['b_x', 'ada'],
    ['b_x', undefined]
  ] as const) {
    const own = upstreams[name[0]!]!
    const saying = user === undefined ? {} : as(user)
    const { requestState } = (await lastOf(await client.call(name, {}, saying))).result
    const retry = { name, inputResponses: answers, requestState }
    t.match(await lastOf(await client.request('tools/call', retry, saying)), { result: { content: [{ text: state }] } })
    t.match(callsAt(own).at(-1), { body: { params: { name: 'x', requestState: state } } })
  }
  t.same([callsAt(upstreams.a!).length, callsAt(upstreams.b!).length], [2, 4])
})
