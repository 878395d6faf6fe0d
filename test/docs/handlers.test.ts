/** docs/handlers.md and the example in config/examples are one: the page shows its files, and here they run. */
import { execFile } from 'node:child_process'
import { cp, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { Context } from '../../src/handlers/context.ts'
import { createGateway, loadConfig } from '../../src/index.ts'
import { testHandler } from '../../src/testing.ts'
import { startChild } from '../helpers/child.ts'
import { readText, root, tablesOf } from '../helpers/docs.ts'
import { lastOf } from '../helpers/modern.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { taskClient, taskIn } from '../helpers/task-backends.ts'

const run = promisify(execFile)
const examples = fileURLToPath(new URL('config/examples', root))
const sources = fileURLToPath(new URL('test/fixtures/own-package.ts', root))
const page = await readText('docs/handlers.md')
const blocks = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, text = '']) => {
  const [, path] = /^\/\/ (config\/examples\/\S+)\n/.exec(text) ?? []
  return { path, text: path === undefined ? text : text.slice(text.indexOf('\n') + 1) }
})

process.env.PORT = '0'

t.test('every block of TypeScript that names a file of the example is that file, and no file is missing', async t => {
  const shown = blocks.filter(({ path }) => path !== undefined)
  for (const { path = '', text } of shown) t.equal(text, await readText(path), path)
  const handlers = (await readdir(join(examples, 'handlers'))).filter(name => !name.startsWith('_'))
  const expected = [...handlers.map(name => `handlers/${name}`), 'embed.ts'].map(path => `config/examples/${path}`)
  t.same(shown.map(({ path }) => path).sort(), expected.sort())
})

t.test('the other blocks run as they are beside the handlers of the example', async t => {
  const others = blocks.filter(({ path }) => path === undefined)
  t.equal(others.length, 1)
  for (const { text } of others) {
    const folder = t.testdir()
    await cp(join(examples, 'handlers'), folder, { recursive: true })
    await writeFile(join(folder, 'whole.ts'), text)
    await using client = await testHandler(join(folder, 'whole.ts'))
    t.match(client.server, { serverInfo: { name: 'bookshop', version: '2.1.0' }, instructions: /ISBN/ })
    t.match(await client.callTool('find_book', { title: 'dune' }), { content: [{ text: '9780441172719 Dune' }] })
  }
})

t.test('the page has every member of the context', async t => {
  const [table] = tablesOf(page).filter(({ head }) => head[0] === 'member')
  const told = (table?.rows ?? []).flatMap(([cell = '']) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name))
  const members: Record<keyof Context, true> = {
    progress: true,
    log: true,
    elicit: true,
    elicitText: true,
    elicitChoice: true,
    elicitUrl: true,
    sample: true,
    roots: true,
    onRootsChanged: true,
    signal: true,
    session: true,
    principal: true,
    client: true,
    meta: true,
    notifyResourceUpdated: true,
    broadcast: true,
    becomeTask: true,
    closeStream: true
  }
  t.same([...new Set(told)].sort(), Object.keys(members).sort())
})

t.test('the tests of the example pass', async t => {
  const args = ['--import', sources, '--test', '--test-reporter=tap', join(examples, 'handlers/*.test.ts')]
  const { stdout } = await run(process.execPath, args, { env: { PATH: process.env.PATH } })
  t.match(stdout, /# pass 3\n/)
  t.match(stdout, /# fail 0\n/)
})

const served = async (t: Test): Promise<RawClient> => {
  const gateway = await createGateway(await loadConfig(join(examples, 'handlers.yaml')))
  t.teardown(() => gateway.close({ deadline: 0 }))
  await gateway.listen()
  return RawClient.open(gateway.url('/mcp'), { capabilities: { elicitation: {} } })
}

t.test('the example is served: tools, resources, prompts, completions', async t => {
  const client = await served(t)
  const result = async (method: string, params?: object) => (await client.request(method, params)).json.result
  const call = (name: string, args: object) => result('tools/call', { name, arguments: args })
  t.same(
    (await result('tools/list')).tools.map(({ name }: { name: string }) => name),
    ['count_stock', 'find_book', 'order_book', 'price', 'reprint']
  )
  t.match(await call('find_book', { title: 'found' }), { content: [{ text: '9780553293357 Foundation' }] })
  t.match(await call('find_book', { title: 'x' }), { isError: true, content: [{ text: /title/ }] })
  t.match(await call('price', { isbn: '9780553293357', copies: 2 }), {
    structuredContent: { title: 'Foundation', total: 16 },
    content: [{ text: '{"title":"Foundation","total":16}' }]
  })
  t.match(await call('price', { isbn: '1' }), { isError: true, content: [{ text: /no book 1/ }] })
  t.match(JSON.parse((await result('resources/read', { uri: 'book://9780553293357' })).contents[0].text), { stock: 0 })
  t.match((await client.request('resources/read', { uri: 'book://1' })).json.error, { code: -32002 })
  t.match(
    await result('completion/complete', {
      ref: { type: 'ref/resource', uri: 'book://{isbn}' },
      argument: { name: 'isbn', value: '97804' }
    }),
    {
      completion: { values: ['9780441172719'] }
    }
  )
  t.match(await result('prompts/get', { name: 'recommend', arguments: { liked: 'Dune' } }), {
    messages: [{ content: { text: /^I liked Dune/ } }]
  })
})

t.test('the example asks its user in the middle of a call, and tells of the change', async t => {
  const client = await served(t)
  const channel = await client.get()
  await client.request('resources/subscribe', { uri: 'book://9780261102217' })
  const { events } = await client.call('order_book', { isbn: '9780261102217' }, { progressToken: 1 })
  const ask = await events.message(({ method }) => method === 'elicitation/create')
  t.match(ask.params.requestedSchema.properties.answer.oneOf, [{ const: 'post' }, { const: 'store' }])
  await client.post({ id: ask.id, result: { action: 'accept', content: { answer: 'post' } } })
  const { result } = await events.message(message => message.result !== undefined)
  t.match(result.content, [{ text: 'Order 1 of this session: The Hobbit, by post.' }])
  await channel.events.message(({ method }) => method === 'notifications/resources/updated')
  channel.destroy()
})

t.test('the example runs a tool as a task', async t => {
  const client = await served(t)
  const { task } = (await client.request('tools/call', { name: 'count_stock', task: {} })).json.result
  const { json } = await client.request('tasks/result', { taskId: task.taskId })
  t.match(json.result.content, [{ text: /copies of 3 books/ }])
})

t.test('the example decides whether a call is a task', async t => {
  const client = taskClient((await served(t)).url)
  const order = async (copies: number) =>
    (await lastOf(await client.call('reprint', { isbn: '9780261102217', copies }))).result
  t.match(await order(10), { resultType: 'complete', content: [{ text: /on their way/ }] })
  const task = await order(100)
  t.match(task, { resultType: 'task', ttlMs: 600_000, pollIntervalMs: 500 })
  t.match(await taskIn(client, task.taskId, 'completed'), { result: { content: [{ text: /^100 copies/ }] } })
})

t.test('the program that embeds the gateway serves what it added', async t => {
  const child = startChild(process.execPath, ['--import', sources, join(examples, 'embed.ts')])
  t.teardown(() => child.kill('SIGKILL'))
  const url = await child.line(line => /^serving (\S+)$/.exec(line)?.[1], 15_000)
  const client = await RawClient.open(url)
  t.match((await client.call('hours')).json.result, { content: [{ text: 'From 9 to 18.' }] })
  child.kill('SIGTERM')
  t.equal(await child.ended, 0)
})
