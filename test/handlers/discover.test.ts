import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createModuleBackend } from '../../src/backends/module/backend.ts'
import { GatewayError } from '../../src/errors.ts'
import { discover } from '../../src/handlers/discover.ts'
import { connect, notices } from '../helpers/module-link.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/handlers/${name}`, import.meta.url))

t.test('R150, R151: a folder and its sub-folders become one server, tests and declarations ignored', async t => {
  const told = notices(t)
  const backend = await createModuleBackend({ name: 'mod', path: fixture('folder') })
  const client = await connect(t, backend)
  t.teardown(() => backend.close())
  const names = async (method: string, key: string): Promise<string[]> =>
    (await client.ask(method)).result[key].map((entry: { name: string }) => entry.name)
  t.same((await names('tools/list', 'tools')).sort(), ['first', 'from_class', 'from_handler', 'second'])
  t.same((await names('prompts/list', 'prompts')).sort(), ['from_named', 'from_plain'])
  t.same(await names('resources/list', 'resources'), ['named'])
  t.same(await names('resources/templates/list', 'resourceTemplates'), ['template'])
  t.match(await client.result('from_class'), { content: [{ text: 'class' }] })
  t.match((await client.ask('resources/read', { uri: 'y://1' })).result, { contents: [{ text: 'template' }] })
  t.match(JSON.parse(client.link.server.result).serverInfo, { name: 'folder', version: '2.0.0' })
  t.same(
    told.map(notice => notice.text),
    ['4 tools, 1 resources, 1 resource templates, 2 prompts']
  )
})

t.test('R155: a broken module is told of with file and reason, and the others are served', async t => {
  const told = notices(t)
  const backend = await createModuleBackend({ name: 'mod', path: fixture('broken') })
  t.teardown(() => backend.close())
  const client = await connect(t, backend)
  t.match(await client.result('good'), { content: [{ text: 'good' }] })
  const errors = told.filter(notice => notice.level === 'error').map(notice => notice.text)
  t.equal(errors.length, 3)
  for (const reason of [
    /broken.nothing\.ts .*exports no handler/,
    /broken.throws\.ts .*broken on purpose/,
    /broken.wrong\.ts .*default export is no handler/
  ]) {
    t.ok(
      errors.some(text => reason.test(text)),
      String(reason)
    )
  }
})

t.test('R155: strict refuses to start', async t => {
  await t.rejects(createModuleBackend({ name: 'mod', path: fixture('broken'), strict: true }), {
    code: 'backend_unavailable',
    backend: 'mod',
    message: /nothing\.ts/
  })
  const handlers = (await discover(fixture('folder'), 'x')).handlers
  handlers[0]?.addTool({ name: 'bad', inputSchema: { type: 'string' }, handler: () => '' })
  await t.rejects(createModuleBackend({ name: 'mod', handlers, strict: true }), { message: /"bad"/ })
})

t.test('handlers may come with a copy of the package of their own', async t => {
  const told = notices(t)
  const backend = await createModuleBackend({ name: 'mod', path: fixture('copy.ts') })
  t.teardown(() => backend.close())
  const client = await connect(t, backend)
  t.match(JSON.parse(client.link.server.result).serverInfo, { name: 'copy' })
  t.strictSame(await client.result('tool_error'), { content: [{ type: 'text', text: 'so' }], isError: true })
  t.match((await client.ask('tools/call', { name: 'protocol_error' })).error, { code: -32000, message: 'no' })
  t.notOk(told.some(notice => notice.level === 'error'))
})

t.test('a path without any handler is refused, naming it', async t => {
  const empty = await mkdtemp(join(tmpdir(), 'causeway-handlers-'))
  t.teardown(() => rm(empty, { recursive: true }))
  for (const path of [fixture('nowhere'), fixture('broken/throws.ts'), empty]) {
    const error = await createModuleBackend({ name: 'mod', path }).catch((error: unknown) => error)
    t.ok(error instanceof GatewayError)
    t.match(error, { code: 'backend_unavailable', message: path })
  }
})

t.test('R155: everything found is told to the operator by name', async t => {
  const told = notices(t)
  const backend = await createModuleBackend({ name: 'mod', path: fixture('folder/list.ts') })
  t.teardown(() => backend.close())
  t.match(told, [{ level: 'info', backend: 'mod', data: { tools: ['first', 'second'], resources: [], prompts: [] } }])
})
