/** Files of handlers that change while they are served: `watch: true` (LIF-03). */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { createModuleBackend, type ModuleBackend } from '../../../src/backends/module/backend.ts'
import { HandlersAt } from '../../../src/backends/module/handlers.ts'
import { createWorkerBackend } from '../../../src/backends/module/worker.ts'
import { configOf, startGateway } from '../../helpers/gateway.ts'
import { connect, notices } from '../../helpers/module-link.ts'
import { RawClient } from '../../helpers/raw-client.ts'
import { failOnRejections } from '../../helpers/rejections.ts'
import { until } from '../../helpers/until.ts'

failOnRejections(t)

async function folderOf(t: Test, files: Record<string, string>) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'causeway-handlers-')))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const put = async (name: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  for (const [name, text] of Object.entries(files)) await put(name, text)
  return { folder, put }
}

const tool = (name: string, says: string): string => `export default { name: '${name}', handler: () => '${says}' }\n`

const resource = (name: string): string => `export default { uri: 'x://y', name: '${name}', read: () => 'text' }\n`

const start = async (t: Test, path: string, options: { strict?: boolean } = {}) => {
  const backend = await createModuleBackend({ name: 'mod', path, watch: true, ...options })
  t.teardown(() => backend.close())
  return { backend, client: await connect(t, backend) }
}

const says = async (client: Awaited<ReturnType<typeof connect>>, name: string): Promise<string | undefined> =>
  (await client.ask('tools/call', { name, arguments: {} })).result?.content?.[0]?.text

const names = async (client: Awaited<ReturnType<typeof connect>>): Promise<string[]> =>
  (await client.ask('tools/list')).result.tools.map(({ name }: { name: string }) => name)

t.test(
  'a file that changes is served as it is now; sessions hear of lists that show something else, and of no others',
  async t => {
    const { folder, put } = await folderOf(t, {
      'a.mjs': tool('one', 'first'),
      'deep/b.mjs': tool('two', 'first'),
      'c.mjs': resource('x')
    })
    const { client } = await start(t, folder)
    const heard = (): string[] => client.received.flatMap(({ method }) => method ?? [])
    await put('a.mjs', tool('one', 'second'))
    await until('it says something else', async () => (await says(client, 'one')) === 'second')
    t.same(heard(), [], 'the list is the same')
    await put('deep/b.mjs', tool('renamed', 'second'))
    await until('sessions heard', () => heard().length > 0)
    t.same([heard(), await names(client)], [['notifications/tools/list_changed'], ['one', 'renamed']])
    await put('c.mjs', resource('y'))
    await until('sessions heard', () => heard().length > 1)
    t.same(heard().slice(1), ['notifications/resources/list_changed'])
    await rm(join(folder, 'a.mjs'))
    await until('sessions heard', () => heard().length > 2)
    t.same(await names(client), ['renamed'])
  }
)

t.test(
  'what a file imports of its folder is loaded anew too, required or imported; what is of others is not',
  async t => {
    const { folder, put } = await folderOf(t, {
      'tools.mjs': `
      import { text } from './_text.mjs'
      import cjs from './_text.cjs'
      import { count } from 'counted'
      export default { name: 'one', handler: () => [text, cjs.text, count].join() }
    `,
      '_text.mjs': "export const text = 'a'",
      '_text.cjs': "exports.text = 'b'",
      'node_modules/counted/package.json': '{ "type": "module", "exports": "./index.js" }',
      'node_modules/counted/index.js':
        'globalThis.causewayCounted = (globalThis.causewayCounted ?? 0) + 1\nexport const count = globalThis.causewayCounted'
    })
    const { client } = await start(t, join(folder, 'tools.mjs'))
    t.equal(await says(client, 'one'), 'a,b,1')
    await put('_text.mjs', "export const text = 'c'")
    await until('the one', async () => (await says(client, 'one')) === 'c,b,1')
    await put('_text.cjs', "exports.text = 'd'")
    await until('the other', async () => (await says(client, 'one')) === 'c,d,1')
  }
)

t.test('a file that is broken is what it was, with the reason in the log; the others change', async t => {
  const { folder, put } = await folderOf(t, { 'a.mjs': tool('one', 'first'), 'b.mjs': tool('two', 'first') })
  const told = notices(t)
  const { client } = await start(t, folder)
  const errors = (): string[] => told.filter(({ level }) => level === 'error').map(({ text }) => text)
  await put('a.mjs', 'export default {')
  await until('it is told', () => errors().length === 1)
  t.match(errors()[0], /a\.mjs cannot be loaded, what it was before goes on: /)
  await put('b.mjs', tool('two', 'second'))
  await until('the other changed', async () => (await says(client, 'two')) === 'second')
  t.equal(await says(client, 'one'), 'first')
  await put('a.mjs', tool('one', 'mended'))
  await until('it is mended', async () => (await says(client, 'one')) === 'mended')
  await rm(folder, { recursive: true })
  await until('it is told', () => errors().some(text => /no such file/.test(text)))
  t.equal(await says(client, 'one'), 'mended')
})

t.test('a file that waits for ever is given up, and the next change is taken', async t => {
  const { folder, put } = await folderOf(t, { 'a.mjs': tool('one', 'first') })
  const at = new HandlersAt({ name: 'mod', path: folder, loading: 100 })
  const told = notices(t)
  await at.load(false)
  await put('a.mjs', 'await new Promise(() => {})')
  t.equal(await at.reload(), undefined)
  t.match(told[0]?.text, /took longer than 100 ms.*what it was before goes on/)
  await put('a.mjs', tool('one', 'second'))
  t.equal((await at.reload())?.[0]?.tools.get('one')?.handler({}, {} as never), 'second')
})

t.test('strict: what cannot be served is not taken at all', async t => {
  const { folder, put } = await folderOf(t, { 'a.mjs': tool('one', 'first') })
  const told = notices(t)
  const { client } = await start(t, folder, { strict: true })
  await put('a.mjs', "export default [{ name: 'new', inputSchema: { type: 'string' }, handler: () => '' }]")
  await until('it is told', () =>
    told.some(({ text }) => /"new" cannot be served.*what was served before goes on/.test(text))
  )
  t.equal(await says(client, 'one'), 'first')
})

t.test('a call that runs goes on with what it began with', async t => {
  const wait = (says: string): string =>
    `export default { name: 'one', handler: () => new Promise(done => { globalThis.causewayDone = () => done('${says}') }) }`
  const { folder, put } = await folderOf(t, { 'a.mjs': wait('old') })
  const { client } = await start(t, folder)
  const calling = says(client, 'one')
  await until('it runs', () => 'causewayDone' in globalThis)
  await put('a.mjs', tool('two', 'new'))
  await until('it changed', async () => (await says(client, 'two')) === 'new')
  ;(globalThis as { causewayDone?: () => void }).causewayDone!()
  t.equal(await calling, 'old')
})

t.test('in a thread of its own too', async t => {
  const { folder, put } = await folderOf(t, { 'a.mjs': tool('one', 'first') })
  const backend = await createWorkerBackend({ name: 'mod', path: folder, watch: true })
  t.teardown(() => backend.close())
  const client = await connect(t, backend as ModuleBackend)
  t.equal(await says(client, 'one'), 'first')
  await put('a.mjs', tool('two', 'second'))
  await until('sessions heard', () => client.received.length > 0)
  t.same([await names(client), await says(client, 'two')], [['two'], 'second'])
})

t.test('`watch` in the config does it, and without it nothing is looked at', async t => {
  const { folder, put } = await folderOf(t, { 'a.mjs': tool('one', 'first') })
  const [watched, not] = [
    { kind: 'module', path: folder, watch: true },
    { kind: 'module', path: folder }
  ]
  const { gateway, url } = await startGateway(t, { backends: { watched, not } })
  const open = (path: string) => RawClient.open(new URL(path, url).href)
  const [one, other] = [await open('/mcp/watched'), await open('/mcp/not')]
  const { events } = await one.get()
  await put('a.mjs', tool('two', 'second'))
  await events.message(({ method }) => method === 'notifications/tools/list_changed')
  t.equal((await one.call('two')).json.result.content[0].text, 'second')
  t.equal((await other.call('one')).json.result.content[0].text, 'first')
  const { backends } = await gateway.reload(configOf({ backends: { watched, not: { ...not, watch: true } } }))
  t.same(backends.changed, ['not'])
  t.equal((await other.call('two')).json.result.content[0].text, 'second', 'as its file is now')
})
