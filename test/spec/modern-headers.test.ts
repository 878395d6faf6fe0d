/** Headers of modern requests say what the body says, or nothing happens (2026-07-28 basic/transports/streamable-http, "Server Validation"). */
import t from 'tap'
import { encodeHeader } from '../../src/protocol/sentinel.ts'
import { modern, result, startAnswering } from '../helpers/answering.ts'
import { type Edge, isRefusal, startEdge } from '../helpers/edge.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { notices } from '../helpers/module-link.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { ask, wholeList } from '../helpers/several.ts'

const schema = (properties: object) => ({ type: 'object', properties })
const deploy = {
  name: 'deploy',
  inputSchema: schema({
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    dry: schema({ run: { type: 'boolean', 'x-mcp-header': 'Dry-Run' } })
  })
}
const broken = { name: 'broken', inputSchema: schema({ a: { type: 'number', 'x-mcp-header': 'A' } }) }
const plain = { name: 'plain', inputSchema: schema({}) }

async function start(
  t: Parameters<typeof startEdge>[0],
  file?: Record<string, unknown>
): Promise<Edge & { client: ModernClient }> {
  const edge = await startEdge(t, file)
  edge.server.on('tools/list', turn => turn.answer(JSON.stringify({ tools: [plain, broken, deploy] })))
  edge.server.on('tools/call', turn => turn.answer('{"content":[]}'))
  edge.server.on('resources/read', turn => turn.answer('{"contents":[]}'))
  edge.server.on('prompts/get', turn => turn.answer('{"messages":[]}'))
  return { ...edge, client: new ModernClient(edge.url) }
}

const called = ({ server }: Edge): number =>
  ['tools/call', 'resources/read', 'prompts/get'].reduce((sum, method) => sum + server.heardOf(method).length, 0)

const wrong: Readonly<Record<string, Record<string, string | undefined>>> = {
  'no Mcp-Method': { 'mcp-method': undefined },
  'Mcp-Method in another case': { 'mcp-method': 'Tools/Call' },
  'another Mcp-Method': { 'mcp-method': 'tools/list' },
  'an encoded Mcp-Method': { 'mcp-method': `=?base64?${Buffer.from('tools/call').toString('base64')}?=` },
  'no Mcp-Name': { 'mcp-name': undefined },
  'another Mcp-Name': { 'mcp-name': 'get_time' },
  'Mcp-Name in another case': { 'mcp-name': 'Plain' },
  'Mcp-Name with a quoted blank': { 'mcp-name': '"plain"' },
  'no version': { 'mcp-protocol-version': undefined }
}

for (const [what, headers] of Object.entries(wrong)) {
  t.test(`${what}: 400 with -32020, and the backend hears nothing (M26-01)`, async t => {
    const edge = await start(t)
    isRefusal(t, await edge.client.call('plain', {}, { id: 1, headers }), 400, -32020, 1)
    t.equal(called(edge), 0)
  })
}

t.test(
  'names of headers have no case, blanks around values do not count, others may have a name too (M26-01)',
  async t => {
    const { client } = await start(t)
    const odd = { 'mcp-method': undefined, 'MCP-METHOD': ' tools/call ', 'mcp-name': undefined, 'mCp-NaMe': '  plain ' }
    t.equal((await client.call('plain', {}, { headers: odd })).status, 200)
    t.equal((await client.request('tools/list', {}, { headers: { 'mcp-name': 'anything' } })).status, 200)
    const byUri = { headers: { 'mcp-name': 'a' } }
    isRefusal(t, await client.request('resources/read', { uri: 'a:b', name: 'a' }, { id: 1, ...byUri }), 400, -32020, 1)
    t.equal((await client.request('resources/read', { uri: 'a:b' })).status, 200)
    t.equal((await client.request('prompts/get', { name: 'greet' })).status, 200)
  }
)

t.test('names that no header can have come encoded, and encoded ones are compared decoded (M26-03)', async t => {
  const edge = await start(t)
  const { client } = edge
  const read = (uri: string, name: string) =>
    client.request('resources/read', { uri }, { id: 1, headers: { 'mcp-name': name } })
  const uri = 'file:///Za\u0142\u0105czniki/\u00e4.pdf'
  t.equal((await read(uri, encodeHeader(uri))).status, 200)
  t.equal((await client.call(' padded ')).status, 200)
  const literal = '=?base64?dGVzdA==?='
  t.equal((await client.call(literal)).status, 200, 'itself encoded')
  t.equal((await read('a:b', '=?base64?YTpi?=')).status, 200, 'encoded without need')
  const before = called(edge)
  isRefusal(t, await client.call(literal, {}, { id: 1, headers: { 'mcp-name': literal } }), 400, -32020, 1)
  for (const name of ['=?BASE64?YTpi?=', '=?base64?YTp?=', '=?base64?/w==?=', '=?base64??=', 'a:b\u00e4']) {
    isRefusal(t, await read('a:b', name), 400, -32020, 1)
  }
  t.equal(called(edge), before)
})

t.test('Mcp-Param headers of annotated parameters say what the arguments say', async t => {
  const edge = await start(t)
  const { client } = edge
  const args = { region: 'eu', count: 42, dry: { run: true } }
  const right = { 'mcp-param-region': 'eu', 'MCP-Param-Count': '42', 'mcp-param-dry-run': 'true' }
  const call = (headers: Record<string, string | undefined>, given: unknown = args) =>
    client.call('deploy', given, { id: 1, headers })
  t.equal((await call(right)).status, 200, 'known before any list was asked for')
  t.equal((await call({ ...right, 'MCP-Param-Count': '42.0' })).status, 200, 'integers are compared as numbers')
  t.equal((await call({ ...right, 'mcp-param-region': '=?base64?ZXU=?=' })).status, 200)
  t.equal((await call({ ...right, 'mcp-param-other': 'x' })).status, 200, 'what is not known is not looked at')
  t.equal((await call({}, { region: null })).status, 200, 'null and absent have none')
  const before = called(edge)
  for (const bad of [
    { 'mcp-param-region': 'us' },
    { 'mcp-param-region': undefined },
    { 'mcp-param-region': 'EU' },
    { 'mcp-param-region': '=?base64?ZXU?=' },
    { 'MCP-Param-Count': '43' },
    { 'MCP-Param-Count': '0x2a' },
    { 'MCP-Param-Count': '' },
    { 'mcp-param-dry-run': '1' }
  ]) {
    isRefusal(t, await call({ ...right, ...bad }), 400, -32020, 1)
  }
  isRefusal(t, await call({ 'mcp-param-region': 'eu' }, {}), 400, -32020, 1)
  t.equal(called(edge), before)
})

t.test('integers beyond 2^53 are compared by their digits', async t => {
  const { client, server } = await start(t)
  server.on('tools/list', turn => turn.answer(JSON.stringify({ tools: [deploy] })))
  const near = await client.call(
    'deploy',
    { count: 2 ** 53 },
    { id: 1, headers: { 'mcp-param-count': '9007199254740993' } }
  )
  isRefusal(t, near, 400, -32020, 1)
})

t.test('the same holds where several backends are served, under the names that clients see', async t => {
  const edge = await start(t)
  const two = await startEdge(t, {
    backends: { a: { kind: 'http', url: edge.upstream.url }, b: { kind: 'http', url: edge.upstream.url } }
  })
  const client = new ModernClient(two.url)
  t.equal((await client.call('a_deploy', { region: 'eu' }, { headers: { 'mcp-param-region': 'eu' } })).status, 200)
  const bad = await client.call('b_deploy', { region: 'eu' }, { id: 1, headers: { 'mcp-param-region': 'us' } })
  isRefusal(t, bad, 400, -32020, 1)
})

t.test('a tool whose annotations are not valid is left out of lists, and logged once (M26-05)', async t => {
  const told = notices(t)
  const edge = await start(t)
  for (const _ of [1, 2]) t.same((await edge.client.request('tools/list')).json.result.tools, [plain, deploy])
  const warnings = () => told.filter(({ text }) => text.startsWith('the tool "broken" is left out at /mcp'))
  t.match(warnings(), [{ level: 'warn', backend: 'docs', text: /is no string, integer or boolean/ }])
  t.equal(warnings().length, 1)
  t.equal((await ask(await RawClient.open(edge.url), 'tools/list')).result.tools.length, 3, 'nothing to older clients')
})

t.test('of merged lists too, on every page, under the name that clients see (M26-05)', async t => {
  const told = notices(t)
  const edge = await start(t)
  const modernBackend = await startAnswering(
    t,
    modern(asked => result(asked, { resultType: 'complete', tools: [broken, plain] }))
  )
  const two = await startEdge(t, {
    backends: {
      a: { kind: 'http', url: edge.upstream.url },
      b: { kind: 'http', url: modernBackend.url },
      c: { kind: 'http', url: edge.upstream.url }
    },
    routes: { '/mcp': { backends: ['a', 'b', 'c'], page: 2 } }
  })
  const client = new ModernClient(two.url)
  const list = async (): Promise<string[]> => {
    const names: string[] = []
    let cursor: string | undefined
    do {
      const { result } = await lastOf(await client.request('tools/list', cursor === undefined ? {} : { cursor }))
      names.push(...result.tools.map(({ name }: { name: string }) => name))
      cursor = result.nextCursor
    } while (cursor !== undefined)
    return names
  }
  const valid = ['a_plain', 'a_deploy', 'b_plain', 'c_plain', 'c_deploy']
  for (const _ of [1, 2]) t.same(await list(), valid)
  const texts = told.map(({ text }) => text).filter(text => text.includes('is left out'))
  t.match(texts.sort(), [
    /^the tool "a_broken" .* at \/mcp/,
    /^the tool "broken" is left out: /,
    /^the tool "c_broken" /
  ])
  t.equal(texts.length, 3)
  const older = (await wholeList(await RawClient.open(two.url), 'tools/list')).map(({ name }) => name)
  t.same(older, ['a_plain', 'a_broken', 'a_deploy', 'b_plain', 'c_plain', 'c_broken', 'c_deploy'])
})

t.test(
  'Mcp-Name of a method that is not known here is for the backend to judge, that of others is not passed on',
  async t => {
    const upstream = await startAnswering(t, modern())
    const { url } = await startEdge(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
    const client = new ModernClient(url)
    const seen = async (method: string, name: string | undefined): Promise<unknown> => {
      t.equal((await client.request(method, { name: 'x' }, { headers: { 'mcp-name': name } })).status, 200)
      const asked = upstream.asked.findLast(one => one.method === method)!
      t.equal(asked.headers['mcp-method'], method)
      return asked.headers['mcp-name']
    }
    t.equal(await seen('vendor/thing', ' any thing '), 'any thing')
    t.equal(await seen('vendor/thing', '=?base64?YTpi?='), '=?base64?YTpi?=')
    t.equal(await seen('vendor/thing', undefined), undefined)
    t.equal(await seen('completion/complete', 'anything'), undefined)
    const before = upstream.asked.length
    const bad = { id: 1, headers: { 'mcp-name': '=?base64?YTp?=' } }
    isRefusal(t, await client.request('vendor/thing', {}, bad), 400, -32020, 1)
    t.equal(upstream.asked.length, before)
  }
)

t.test('legacy requests are judged by their bodies, whatever routing headers they carry (M26-06)', async t => {
  const edge = await startEdge(t)
  const client = await RawClient.open(edge.url)
  const { json } = await client.request(
    'tools/call',
    { name: 'echo', arguments: { a: 1 } },
    { 'mcp-name': 'other', 'mcp-method': 'tools/list' }
  )
  t.equal(json.result.content[0].text, '{"a":1}')
})
