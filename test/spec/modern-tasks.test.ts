/** The tasks extension of 2026-07-28 through routes with one backend and with several. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { initialize } from '../helpers/edge.ts'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { children } from '../helpers/processes.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { heardOf, startTaskServer, taskClient, taskIn } from '../helpers/task-backends.ts'

const byToken = {
  authenticator: {
    authenticate: ({ authorization = '' }: { authorization: string | undefined }) => ({
      key: authorization,
      subject: authorization
    })
  }
}
const as = (name: string) => ({ headers: { authorization: name } })

t.test('one backend: a call becomes a task, which is asked for, told what it asks, and cancelled', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  const client = taskClient(url)
  t.match((await lastOf(await client.request('server/discover'))).result.capabilities, {
    extensions: { 'io.modelcontextprotocol/tasks': {} }
  })

  const { result: created } = await lastOf(await client.call('confirm_delete', { filename: 'x' }))
  t.match(created, { resultType: 'task', status: 'working', taskId: String, ttlMs: Number })
  const { taskId } = created
  const asking = await taskIn(client, taskId, 'input_required')
  t.match(asking, { resultType: 'complete', taskId, inputRequests: { confirm: { method: 'elicitation/create' } } })
  const answer = { confirm: { action: 'accept', content: { confirm: true } } }
  const update = await client.request('tasks/update', { taskId, inputResponses: answer })
  t.match(update.json.result, { resultType: 'complete', taskId: undefined })
  t.match(await taskIn(client, taskId, 'completed'), { result: { content: [{ text: 'deleted x' }] } })
  t.match(
    heardOf(server, 'tasks/update').map(({ headers, body }) => [headers['mcp-name'], body]),
    [[taskId, { params: { taskId, inputResponses: answer } }]],
    'the backend gets the id in both places'
  )

  const slow = (await lastOf(await client.call('slow_compute', { seconds: 60 }))).result.taskId
  t.match((await lastOf(await client.request('tasks/cancel', { taskId: slow }))).result, { resultType: 'complete' })
  t.match(await taskIn(client, slow, 'cancelled'), { taskId: slow })
  t.match((await lastOf(await client.request('tasks/get', { taskId: 'nobody' }))).error, { code: -32602 })
})

t.test('who does not declare the extension is told so before anything is read', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  const client = new ModernClient(url)
  const requiredCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const requests = ['tasks/get', 'tasks/update', 'tasks/cancel'].map(method => client.request(method, { taskId: 'x' }))
  requests.push(client.request('subscriptions/listen', { notifications: { taskIds: ['x'] } }))
  for (const { status, json } of await Promise.all(requests)) {
    t.equal(status, 400)
    t.match(json.error, { code: -32021, data: { requiredCapabilities } })
  }
  t.same(heardOf(server, 'tasks/get'), [])
  const required = await client.call('failing_job')
  t.equal(required.status, 400)
  t.match(required.json.error, { code: -32021, data: { requiredCapabilities } })
  t.match((await lastOf(await client.call('slow_compute', { seconds: 0, label: 'at once' }))).result, {
    resultType: 'complete',
    content: [{ text: 'computed at once' }]
  })
})

t.test('`Mcp-Name` has to say which task it is about (S10)', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  const client = taskClient(url)
  for (const name of ['another', undefined]) {
    const { status, json } = await client.request('tasks/get', { taskId: 'x' }, { headers: { 'mcp-name': name } })
    t.equal(status, 400)
    t.equal(json.error.code, -32020)
  }
  t.same(heardOf(server, 'tasks/get'), [])
})

t.test('several backends: each request goes to the one whose task it is', async t => {
  const [one, two] = [await startTaskServer(t), await startTaskServer(t)]
  const { url } = await startGateway(t, {
    backends: { one: { kind: 'http', url: one.url }, two: { kind: 'http', url: two.url } }
  })
  const client = taskClient(url)
  t.match((await lastOf(await client.request('server/discover'))).result.capabilities, {
    extensions: { 'io.modelcontextprotocol/tasks': {} }
  })
  const { taskId } = (await lastOf(await client.call('two_slow_compute', { seconds: 0, label: 'b' }))).result
  t.match(taskId, /^two~[0-9a-f-]{36}$/)
  t.match(await taskIn(client, taskId, 'completed'), { taskId, result: { content: [{ text: 'computed b' }] } })
  t.match((await lastOf(await client.request('tasks/cancel', { taskId }))).result, { resultType: 'complete' })
  const own = taskId.slice('two~'.length)
  t.match(
    heardOf(two, 'tasks/cancel').map(({ headers, body }) => [headers['mcp-name'], body]),
    [[own, { params: { taskId: own } }]]
  )
  t.same(heardOf(one, 'tasks/get'), [])

  for (const foreign of [own, `three~${own}`, '~', '']) {
    const { status, json } = await client.request('tasks/get', { taskId: foreign })
    t.equal(status, 200)
    t.equal(json.error.code, -32602)
  }
  t.equal(heardOf(two, 'tasks/get').length > 0, true)
  t.same(heardOf(one, 'tasks/get'), [], 'no backend heard of them')
})

for (const [what, names] of Object.entries({ 'one backend': ['one'], 'several backends': ['one', 'two'] })) {
  t.test(`${what}: what a principal began is nobody else's (S7)`, async t => {
    const server = await startTaskServer(t)
    const backends = Object.fromEntries(names.map(name => [name, { kind: 'http', url: server.url }]))
    const { url } = await startGateway(t, { backends }, undefined, byToken)
    const client = taskClient(url)
    const tool = names.length === 1 ? 'slow_compute' : 'one_slow_compute'
    const { taskId } = (await lastOf(await client.call(tool, { seconds: 0 }, as('alice')))).result
    t.match(taskId, /^one~[\w-]{22}~[0-9a-f-]{36}$/)
    t.match(await taskIn(client, taskId, 'completed', as('alice').headers), { taskId })
    const before = server.heard.length

    const own = taskId.slice(-36)
    const tampered = taskId.replace(/~./, (start: string) => (start === '~A' ? '~B' : '~A'))
    const tries: [string, string][] = [
      [taskId, 'bob'],
      [own, 'alice'],
      [`one~${own}`, 'alice'],
      [tampered, 'alice']
    ]
    for (const [handle, who] of tries) {
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const { json } = await client.request(method, { taskId: handle, inputResponses: {} }, as(who))
        t.match(json.error, { code: -32602 }, `${who} ${handle}`)
      }
    }
    t.equal(server.heard.length, before, 'no backend heard of it')
  })
}

t.test('a program keeps its tasks, whoever of its callers comes back for them', async t => {
  const fixture = fileURLToPath(new URL('../fixtures/conformance/modern.ts', import.meta.url))
  const { url } = await startGateway(t, {
    backends: { jobs: { kind: 'stdio', command: process.execPath, args: [fixture, 'stdio'] } }
  })
  const { taskId } = (await lastOf(await taskClient(url).call('confirm_delete', { filename: 'x' }))).result
  t.equal(children().length, 1, 'where it lists its tools, too')
  const other = new ModernClient(url, { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } })
  await taskIn(other, taskId, 'input_required')
  const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } }
  t.match((await lastOf(await other.request('tasks/update', { taskId, inputResponses }))).result, {
    resultType: 'complete'
  })
  t.match(await taskIn(other, taskId, 'completed'), { result: { content: [{ text: 'deleted x' }] } })
})

t.test('legacy clients hear nothing of the extension: what can run plainly does, the rest is refused', async t => {
  const [one, two] = [await startTaskServer(t), await startTaskServer(t)]
  const { url } = await startGateway(t, {
    backends: { one: { kind: 'http', url: one.url }, two: { kind: 'http', url: two.url } },
    routes: { '/one': { backends: ['one'] }, '/both': { backends: ['one', 'two'] } }
  })
  for (const [path, prefix] of [
    ['/one', ''],
    ['/both', 'two_']
  ] as const) {
    const href = new URL(path, url).href
    t.notMatch((await new RawClient(href).post(initialize())).text, 'io.modelcontextprotocol/tasks')
    const session = await RawClient.open(href, { capabilities: { elicitation: {} } })
    const call = (name: string) =>
      session.request('tools/call', { name: `${prefix}${name}`, arguments: { seconds: 0 } })
    t.match((await call('slow_compute')).json.result, { content: [{ type: 'text' }] })
    t.match((await call('failing_job')).json.error, { code: -32021 })
    t.match((await session.request('tasks/get', { taskId: 'x' })).json.error.code, /-3260[12]/)
    await session.delete()
  }
})

t.test('of handlers each era hears of its own tasks', async t => {
  const path = fileURLToPath(new URL('../fixtures/conformance/module-tasks-handler.ts', import.meta.url))
  const own = { kind: 'module', path }
  const { url } = await startGateway(t, {
    backends: { one: own, two: own },
    routes: { '/one': { backends: ['one'] }, '/both': { backends: ['one', 'two'] } }
  })
  for (const path of ['/one', '/both']) {
    const href = new URL(path, url).href
    const { capabilities } = (await lastOf(await taskClient(href).request('server/discover'))).result
    t.same([capabilities.tasks, capabilities.extensions], [undefined, { 'io.modelcontextprotocol/tasks': {} }])
    for (const [version, has] of [
      ['2025-11-25', true],
      ['2025-06-18', false]
    ] as const) {
      const { result } = (await new RawClient(href).post(initialize(version))).json
      t.equal(result.capabilities.tasks !== undefined, has, version)
      t.equal(result.capabilities.extensions, undefined, version)
    }
  }
})
