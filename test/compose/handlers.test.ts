/** Module backends in a whole gateway, embedded in a program: what the config says of them, and what the program adds. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createGateway, type Gateway, loadConfig } from '../../src/index.ts'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'

const found = `
  export const tool = { name: 'found', handler: () => 'discovered' }
  export const note = { uri: 'x://note', name: 'note', read: () => 'discovered' }
  export const large = { name: 'large', handler: () => 'x'.repeat(5000) }
`
const config = (local: object, server: object = {}): string =>
  JSON.stringify({
    server: { port: 0, ...server },
    admin: false,
    logging: { level: 'silent' },
    backends: {
      local: { kind: 'module', path: 'handlers', ...local },
      far: { kind: 'http', url: 'http://127.0.0.1:1/' }
    }
  })

async function embedded(t: Test, local: object = {}, server?: object, more: object = {}): Promise<Gateway> {
  const folder = t.testdir({ 'causeway.yaml': config(local, server), handlers: { 'found.mjs': found, ...more } })
  const gateway = await createGateway(await loadConfig(join(folder, 'causeway.yaml')))
  t.teardown(() => gateway.close({ deadline: 0 }))
  return gateway
}

const textOf = async (client: RawClient, name: string): Promise<string> =>
  (await client.call(name)).json.result.content[0].text

const toolNames = async (client: RawClient): Promise<string[]> =>
  (await client.request('tools/list')).json.result.tools.map(({ name }: { name: string }) => name).sort()

t.test('R152, R153: what is added by code before the start, classes too, wins over what was found', async t => {
  const gateway = await embedded(t)
  gateway
    .handler('local')
    .addTool({ name: 'found', handler: () => 'by code' })
    .addResource(
      class {
        uri = 'x://note'
        name = 'note'
        read = () => 'by code'
      }
    )
  await gateway.listen()
  const client = await RawClient.open(gateway.url('/mcp/local'))
  t.equal(await textOf(client, 'found'), 'by code')
  t.match((await client.request('resources/read', { uri: 'x://note' })).json.result.contents, [{ text: 'by code' }])
  t.same(await toolNames(client), ['found', 'large'])
})

t.test(
  'R154: what is added and removed after the start is served, and every session of the backend is told',
  async t => {
    const gateway = await embedded(t)
    await gateway.listen()
    const clients = await Promise.all([1, 2].map(() => RawClient.open(gateway.url('/mcp/local'))))
    const channels = await Promise.all(clients.map(client => client.get()))
    const changed = ({ method }: { method: string }) => method === 'notifications/tools/list_changed'
    gateway.handler('local').addTool({ name: 'late', handler: () => 'here' })
    for (const channel of channels) await channel.events.message(changed)
    for (const client of clients) t.equal(await textOf(client, 'late'), 'here')
    t.ok(gateway.handler('local').removeTool('late'))
    t.same(await toolNames(clients[0]!), ['found', 'large'])
    for (const channel of channels) {
      await channel.events.until(({ messages }) => messages.filter(changed).length === 2)
      channel.destroy()
    }
  }
)

t.test('only module backends take handlers', async t => {
  const gateway = await embedded(t)
  for (const name of ['far', 'none']) {
    t.throws(() => gateway.handler(name), new TypeError(`there is no module backend "${name}" in this thread`))
  }
})

t.test('R155: strict in the config refuses to start, which otherwise leaves a broken file out', async t => {
  const broken = { 'broken.mjs': "throw new Error('on purpose')" }
  await t.rejects(embedded(t, { strict: true }, {}, broken), {
    message: /^backend "[\w-]+": \S+broken\.mjs cannot be loaded: on purpose/
  })
  const gateway = await embedded(t, {}, {}, broken)
  await gateway.listen()
  t.same(await toolNames(await RawClient.open(gateway.url('/mcp/local'))), ['found', 'large'])
})

t.test('server.limits.upstream bounds the answers of handlers', async t => {
  const gateway = await embedded(t, {}, { limits: { upstream: '4KiB' } })
  await gateway.listen()
  const { json } = await (await RawClient.open(gateway.url('/mcp/local'))).call('large')
  t.match(json.error, { code: -32603, data: { reason: 'backend_too_large', backend: 'local' } })
})

t.test('a config that is wrong is told whole', async t => {
  const folder = t.testdir({ 'x.yaml': 'backends: { a: { kind: module } }\nserver: { prot: 1 }' })
  await t.rejects(loadConfig(join(folder, 'x.yaml')), { name: 'ConfigError', message: /path[\s\S]*prot/ })
})

t.test('worker: a handler that blocks holds up nobody else, and is named in the metrics', async t => {
  const tool = (name: string, body: string) => `export default { name: '${name}', handler: () => ${body} }`
  const folder = t.testdir({ 'block.mjs': tool('block', '{ for (;;); }'), 'fine.mjs': tool('fine', "'fine'") })
  const backends = {
    apart: { kind: 'module', path: 'block.mjs', worker: true, memory: '128MiB', timeout: '3s' },
    local: { kind: 'module', path: 'fine.mjs' }
  }
  const { gateway, adminUrl } = await startGateway(t, { backends, streams: { response: 'json' } }, folder)
  t.throws(() => gateway.handler('apart'), TypeError)
  const [apart, local] = [
    await RawClient.open(gateway.url('/mcp/apart')),
    await RawClient.open(gateway.url('/mcp/local'))
  ]
  const blocked = apart.call('block')
  t.equal(await textOf(local, 'fine'), 'fine')
  t.match((await blocked).json.error, { code: -32603, data: { backend: 'apart' } })
  const counted = 'causeway_drops_total{reason="stuck_handler",backend="apart",name="block"} 1'
  await until('the metrics', async () => (await (await fetch(new URL('/metrics', adminUrl))).text()).includes(counted))
  await until('a thread again', async () => (await apart.request('tools/list')).json.result !== undefined)
})
