/** Field cases of area 19, first part: what is kept of lists and of rounds (CCH-02, MRT-03). */
import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { asking, form, modernScripted, serveModern } from '../helpers/modern-scripted.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { names, startSeveral, unavailable } from '../helpers/several.ts'
import { until } from '../helpers/until.ts'
import { as, users } from '../helpers/users.ts'

failOnRejections(t)

const lists = { a: { tools: ['one', 'both'], prompts: ['p'] }, b: { tools: ['two', 'both'] }, c: { tools: ['three'] } }
const toolsOf = async (url: string): Promise<any> =>
  (await lastOf(await new ModernClient(url).request('tools/list'))).result

t.test(
  'the order of tools is that of the config and of the backends, always and on every instance (CCH-02)',
  async t => {
    const { url, config } = await startSeveral(t, lists)
    const file = {
      backends: Object.fromEntries(
        config.backends.map(one => [one.name, { kind: 'http', url: (one as { url: string }).url }])
      )
    }
    const other = await startGateway(t, { ...file, routes: { '/mcp': { backends: ['a', 'b', 'c'] } } })
    const expected = ['one', 'a_both', 'two', 'b_both', 'three']
    for (let i = 0; i < 5; i++) {
      t.same(names((await toolsOf(url)).tools), expected)
      t.same(names((await toolsOf(other.url)).tools), expected)
    }
  }
)

t.test('those who ask at the same time are answered by one reading of each backend (CCH-02)', async t => {
  const { url, catalogs } = await startSeveral(t, lists)
  const all = await Promise.all(Array.from({ length: 30 }, () => toolsOf(url)))
  t.equal(new Set(all.map(({ tools }) => JSON.stringify(tools))).size, 1)
  for (const catalog of Object.values(catalogs)) t.equal(catalog.heard('tools/list'), 1)
})

t.test(
  'a backend that is gone when its list is old: left out and named, nothing old is passed off as new (CCH-02)',
  async t => {
    const { url, catalogs } = await startSeveral(t, lists, { route: { listTtl: '100ms' } })
    t.equal((await toolsOf(url)).tools.length, 5)
    await catalogs.b.goDown()
    await until('its list is old', async () => (await toolsOf(url)).tools.length === 3)
    const result = await toolsOf(url)
    t.same(names(result.tools), ['one', 'a_both', 'three'], 'names stay what they were')
    t.same(unavailable(result), ['b'])
    t.match(result, { ttlMs: 0, cacheScope: 'private' })
    t.match(await lastOf(await new ModernClient(url).call('two')), { error: { code: -32603, data: { backend: 'b' } } })
    await catalogs.b.comeBack()
    await until('it is there again', async () => (await toolsOf(url)).tools.length === 5, 10_000)
  }
)

const refusals: Readonly<Record<string, (catalogs: { a: any }) => void>> = {
  'with an error': () => {},
  'in a result': ({ a }) => {
    a.server.on('tools/call', (turn: any) =>
      turn.answer(
        JSON.stringify({
          content: [{ type: 'text', text: `MCP error -32602: Tool ${turn.name} not found` }],
          isError: true
        })
      )
    )
  }
}

for (const [how, prepare] of Object.entries(refusals)) {
  t.test(`a tool that its backend has no more, and says so ${how}: the list is read again (CCH-02)`, async t => {
    const { url, catalogs, open } = await startSeveral(t, lists)
    prepare(catalogs)
    const session = await open()
    await session.request('tools/list')
    const channel = await session.get()
    t.ok(names((await toolsOf(url)).tools).includes('one'))
    // Without a word of it.
    catalogs.a.lists.tools = [{ name: 'both', inputSchema: { type: 'object' } }]
    const before = catalogs.a.heard('tools/list')
    const client = new ModernClient(url)
    t.match(JSON.stringify(await lastOf(await client.call('one'))), /one/)
    await until('it is read again', async () => !names((await toolsOf(url)).tools).includes('one'))
    t.match(await lastOf(await client.call('one')), { error: { code: -32602, message: /unknown tool/ } })
    await channel.events.message(({ method }) => method === 'notifications/tools/list_changed')
    channel.destroy()
    for (let i = 0; i < 50; i++) await client.call('a_both')
    t.ok(catalogs.a.heard('tools/list') - before <= 6, 'not again for each call')
  })
}

t.test(
  'what a retry brings is for who sent it: nobody else gets it, and what asks says nothing of keeping (MRT-03)',
  async t => {
    const server = modernScripted()
    server.on('resources/read', turn => {
      const { inputResponses } = JSON.parse(turn.message.source.toString()).params
      if (inputResponses === undefined) turn.answer(asking({ pin: form('PIN?') }, { requestState: 's', ttlMs: 60_000 }))
      else {
        const contents = [{ uri: 'a:b', text: JSON.stringify(inputResponses.pin.content) }]
        turn.answer(JSON.stringify({ resultType: 'complete', contents, ttlMs: 60_000, cacheScope: 'public' }))
      }
    })
    const { config } = await serveModern(t, server)
    const { url } = await startGateway(t, { backends: { docs: config } }, import.meta.dirname, { authenticator: users })
    const client = new ModernClient(url, { capabilities: { elicitation: {} } })
    const read = async (user: string, more: object = {}): Promise<any> =>
      (await lastOf(await client.request('resources/read', { uri: 'a:b', ...more }, { headers: as(user) }))).result
    for (let round = 0; round < 2; round++) {
      const asked = await read('alice')
      t.equal(asked.resultType, 'input_required')
      t.notOk('ttlMs' in asked)
      const inputResponses = { pin: { action: 'accept', content: { pin: round } } }
      const got = await read('alice', { inputResponses, requestState: asked.requestState })
      t.match(got, { contents: [{ text: `{"pin":${round}}` }], ttlMs: 60_000, cacheScope: 'public' })
      t.equal((await read('bob')).resultType, 'input_required', 'asked himself')
      t.equal((await read('alice')).resultType, 'input_required', 'and so is she')
    }
    t.equal(server.heardOf('resources/read').length, 8)
  }
)

t.test(
  'a modern backend that says how long its list holds is asked again when that is over, whoever asks (CCH-02)',
  async t => {
    const server = modernScripted()
    let reads = 0
    server.on('tools/list', turn => {
      const tools = [{ name: `t${++reads}`, inputSchema: { type: 'object' } }]
      turn.answer(JSON.stringify({ resultType: 'complete', tools, ttlMs: 150, cacheScope: 'private' }))
    })
    const { config } = await serveModern(t, server)
    const { url } = await startSeveral(t, { old: { tools: ['x'] } }).then(({ catalogs }) =>
      startGateway(t, {
        backends: { docs: config, old: catalogs.old.config },
        routes: { '/mcp': { backends: ['docs', 'old'] } }
      })
    )
    t.same(names((await toolsOf(url)).tools), ['t1', 'x'])
    t.same(names((await toolsOf(url)).tools), ['t1', 'x'])
    await until('read again', async () => names((await toolsOf(url)).tools)[0] !== 't1')
    const legacy = await RawClient.open(url)
    t.equal((await legacy.request('tools/list')).json.result.tools.length, 2)
  }
)
