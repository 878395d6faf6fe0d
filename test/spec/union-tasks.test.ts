/** Tasks of several backends behind one route (2025-11-25 basic/utilities/tasks): two backends use the same ids at once. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { value } from '../../src/protocol/write.ts'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { relatedTask, Tasks, taskCapabilities } from '../helpers/task-server.ts'
import { Stocked, together } from '../helpers/union.ts'
import { until } from '../helpers/until.ts'

const script = { tools: ['job'], capabilities: taskCapabilities }

async function scene(t: Test) {
  let down = false
  const several = await together(
    t,
    { a: script, b: script },
    {
      backends: { a: { timeout: '300ms', maxTime: '400ms' } },
      file: { streams: { sseAfter: '50ms' } },
      upstreams: {
        b: {
          intercept(request) {
            if (down) request.socket.resetAndDestroy()
            return down
          }
        }
      }
    }
  )
  const { a, b } = several.servers
  return {
    ...several,
    a: new Tasks(a!),
    b: new Tasks(b!),
    /** From now on `b` is away. */
    goDown: (): void => {
      down = true
    }
  }
}

/** The response, whichever way it comes. */
async function ask(client: RawClient, method: string, params?: object): Promise<any> {
  const { json, events } = await client.request(method, params)
  return json ?? (await events.message(({ result, error }) => result !== undefined || error !== undefined))
}

/** Begins a task of a backend; resolves to its handle. */
async function begin(client: RawClient, backend: string): Promise<string> {
  const { result } = await ask(client, 'tools/call', { name: `${backend}_job`, arguments: {}, task: { ttl: 60_000 } })
  return result.task.taskId
}

t.test('R121, R124: tasks with the same id are told apart, wherever their id stands', async t => {
  const { open, a, b } = await scene(t)
  const client = await open()
  const created = await ask(client, 'tools/call', { name: 'a_job', arguments: {}, task: {} })
  const ofA = created.result.task.taskId
  t.equal(created.result._meta[relatedTask].taskId, ofA)
  const ofB = await begin(client, 'b')
  t.not(ofA, ofB)
  b.finish('1', 'of b')
  t.match((await ask(client, 'tasks/get', { taskId: ofA })).result, { taskId: ofA, status: 'working' })
  t.match((await ask(client, 'tasks/get', { taskId: ofB })).result, { taskId: ofB, status: 'completed' })
  const { result } = await ask(client, 'tasks/result', { taskId: ofB })
  t.same(result, { content: [{ type: 'text', text: 'of b' }], _meta: { [relatedTask]: { taskId: ofB } } })
  t.same(
    [a, b].map(({ server }) => server.heardOf('tasks/get').map(message => (value(message).params as any).taskId)),
    [['1'], ['1']],
    'each backend hears its own id'
  )
})

t.test('R120: tasks are declared when a backend has them, to clients whose revision has them', async t => {
  const { open } = await scene(t)
  const { capabilities } = (await open()).server
  t.match(capabilities.tasks, { list: {}, cancel: {}, requests: { tools: { call: {} } } })
  t.notOk('tasks' in (await open({ version: '2025-06-18' })).server.capabilities)
})

t.test('R123: tasks/result blocks beyond maxTime', async t => {
  const { open, a } = await scene(t)
  const client = await open()
  const taskId = await begin(client, 'a')
  const { events } = await client.request('tasks/result', { taskId })
  await new Promise(resolve => setTimeout(resolve, 500))
  t.notOk(events.ended)
  a.finish('1', 'at last')
  t.match((await events.message(({ result }) => result !== undefined)).result, { content: [{ text: 'at last' }] })
})

t.test('R121, R123: two tasks with one id ask at once, and each gets its own answer', async t => {
  const { open, a, b } = await scene(t)
  a.asksAtResult()
  b.asksAtResult()
  const client = await open({ capabilities: { elicitation: {}, tasks: {} } })
  const handles = [await begin(client, 'a'), await begin(client, 'b')]
  const streams = await Promise.all(handles.map(taskId => client.request('tasks/result', { taskId })))
  const asks = await Promise.all(streams.map(({ events }) => events.message(({ method }) => method !== undefined)))
  t.same(
    asks.map(({ params }) => [params.message, params._meta[relatedTask].taskId]),
    [
      ['a?', handles[0]],
      ['b?', handles[1]]
    ]
  )
  for (const [i, { id, params }] of [...asks.entries()].reverse()) {
    await client.post({ id, result: { action: 'accept', content: { i }, _meta: params._meta } })
  }
  for (const { events } of streams) await events.message(({ result }) => result !== undefined)
  for (const [i, { answers }] of [a, b].entries()) {
    t.same(answers[0]!.result, { action: 'accept', content: { i }, _meta: { [relatedTask]: { taskId: '1' } } })
  }
})

t.test('R127: notices of status come by the channel of their session alone, with its handle', async t => {
  const { open, a, b, upstreams, gateway } = await scene(t)
  const listening = (many: number) => (): boolean =>
    Object.values(upstreams).every(upstream => upstream.seenOf('GET').length === many && upstream.listening)
  const clients = [await open(), await open()]
  for (const client of clients) await Promise.all([begin(client, 'a'), begin(client, 'b')])
  const channels = [await clients[0]!.get()]
  await until('the channel of one', listening(1))
  channels.push(await clients[1]!.get())
  await until('the channel of the other', listening(2))
  for (const [i, { server }] of [a, b].entries()) {
    server.announce('notifications/tasks/status', { taskId: '1', status: ['completed', 'failed'][i] })
  }
  await channels[1]!.events.until(({ messages }) => messages.length === 2)
  await gateway.broadcast('/mcp', { method: 'notifications/last' })
  const seen = await Promise.all(
    channels.map(async ({ events, destroy }) => {
      await events.message(({ method }) => method === 'notifications/last')
      destroy()
      return events.messages.slice(0, -1).map(({ params }) => params)
    })
  )
  t.same(seen[0], [])
  const statuses = Object.fromEntries(seen[1]!.map(({ taskId, status }) => [taskId, status]))
  t.same(statuses, { 'a~1': 'completed', 'b~1': 'failed' })
})

t.test('R121: tasks/list has the tasks of all, page by page', async t => {
  const { open } = await scene(t)
  const client = await open()
  const begun: string[] = []
  for (const backend of ['a', 'a', 'a', 'b']) begun.push(await begin(client, backend))
  const first = (await ask(client, 'tasks/list')).result
  t.equal(first.tasks.length, 3)
  const second = (await ask(client, 'tasks/list', { cursor: first.nextCursor })).result
  t.notOk('nextCursor' in second)
  t.strictSame(new Set([...first.tasks, ...second.tasks].map(({ taskId }) => taskId)), new Set(begun))
  t.equal(new Set(begun).size, 4)
  t.match((await ask(client, 'tasks/list', { cursor: 'x' })).error, { code: -32602 })
})

t.test('R121: tasks/list leaves out a backend that is away, and says which', async t => {
  const { open, goDown } = await scene(t)
  const client = await open()
  const ofA = await begin(client, 'a')
  await begin(client, 'b')
  goDown()
  const { result } = await ask(client, 'tasks/list')
  t.match(result.tasks, [{ taskId: ofA }])
  t.same(result._meta, { 'dev.causeway/unavailable': ['b'] })
})

t.test('R102, R121: tasks/list of several backends that is cancelled is cancelled at all of them', async t => {
  const { open, a, b } = await scene(t)
  const client = await open()
  const cancelled: (string | undefined)[] = []
  for (const { server } of [a, b]) {
    server.on('tasks/list', async turn => void cancelled.push(await turn.cancelled))
  }
  const answer = client.request('tasks/list')
  await until('both are asked', () => [a, b].every(({ server }) => server.heardOf('tasks/list').length === 1))
  const params = { requestId: client.lastId, reason: 'enough' }
  t.equal((await client.post({ method: 'notifications/cancelled', params })).status, 202)
  const { events } = await answer
  await events.whole(1_000)
  t.same(events.messages, [])
  await until('both are told', () => cancelled.length === 2)
  t.same(cancelled, ['enough', 'enough'])
})

t.test('R121: tasks/cancel reaches the backend of the task', async t => {
  const { open, a, b } = await scene(t)
  const client = await open()
  await begin(client, 'a')
  const ofB = await begin(client, 'b')
  t.match((await ask(client, 'tasks/cancel', { taskId: ofB })).result, { taskId: ofB, status: 'cancelled' })
  t.equal(b.server.heardOf('tasks/cancel').length, 1)
  t.equal(a.server.heardOf('tasks/cancel').length, 0)
})

t.test('R121: what is no handle of the route is -32602, and no backend hears of it', async t => {
  const { open, a, b } = await scene(t)
  const client = await open()
  await begin(client, 'a')
  for (const taskId of ['1', '', 'c~1', '~1', 'A~1', 7, null, undefined]) {
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      t.match((await ask(client, method, { taskId })).error, { code: -32602 }, `${method} ${taskId}`)
    }
  }
  t.match((await ask(client, 'tasks/get')).error, { code: -32602 })
  for (const { server } of [a, b])
    t.equal(server.heardOf('tasks/get').length + server.heardOf('tasks/cancel').length, 0)
  t.match((await ask(client, 'tasks/get', { taskId: 'a~2' })).error, { code: -32602, message: /a: no such/ })
})

t.test('R124: what the client says about a task reaches its backend alone, with its own id', async t => {
  const { open, a, b } = await scene(t)
  const client = await open()
  await begin(client, 'a')
  const ofB = await begin(client, 'b')
  await client.post({ method: 'notifications/x', params: { _meta: { [relatedTask]: { taskId: ofB } } } })
  await client.post({ method: 'notifications/roots/list_changed' })
  await until('the other notification', () => a.server.heardOf('notifications/roots/list_changed').length > 0)
  await until('the notification', () => b.server.heardOf('notifications/x').length > 0)
  const related = { _meta: { [relatedTask]: { taskId: '1' } } }
  t.same(value(b.server.heardOf('notifications/x')[0]!).params, related)
  await client.call('b_job', {}, { [relatedTask]: { taskId: ofB } })
  t.same(
    value(b.server.heardOf('tools/call').at(-1)!).params,
    { name: 'job', arguments: {}, ...related },
    'a request too'
  )
  t.equal(a.server.heardOf('notifications/x').length, 0)
})

t.test('R121: with one backend the ids are its own', async t => {
  const { open, servers } = await together(t, { a: script })
  const tasks = new Tasks(servers.a!)
  const client = await open()
  const { task } = (await ask(client, 'tools/call', { name: 'job', arguments: {}, task: {} })).result
  t.equal(task.taskId, '1')
  t.match((await ask(client, 'tasks/get', { taskId: '1' })).result, { taskId: '1' })
  tasks.finish('1', 'done')
  t.equal((await ask(client, 'tasks/result', { taskId: '1' })).result._meta[relatedTask].taskId, '1')
})

t.test(
  'R110a: progress of the client reaches the one backend that asked, though both chose the same token',
  async t => {
    const { open, a, b } = await scene(t)
    for (const { server } of [a, b]) {
      server.on('tools/call', async turn => {
        await turn.ask('sampling/createMessage', { messages: [], maxTokens: 1, _meta: { progressToken: 1 } })
        turn.answer('{"content":[]}')
      })
    }
    const client = await open({ capabilities: { sampling: {} } })
    const calls = await Promise.all(['a', 'b'].map(name => client.call(`${name}_job`)))
    for (const [i, { events }] of calls.entries()) {
      const { id, params } = await events.message(({ method }) => method === 'sampling/createMessage')
      const { progressToken } = params._meta
      await client.post({ method: 'notifications/progress', params: { progressToken, progress: i } })
      await client.post({ id, result: { role: 'assistant', model: 'm', content: { type: 'text', text: '' } } })
      await events.message(({ result }) => result !== undefined)
    }
    await until('the progress of both', () =>
      [a, b].every(({ server }) => server.heardOf('notifications/progress').length > 0)
    )
    const heard = [a, b].map(({ server }) =>
      server.heardOf('notifications/progress').map(notice => value(notice).params)
    )
    t.same(heard, [[{ progressToken: 1, progress: 0 }], [{ progressToken: 1, progress: 1 }]])
  }
)

t.test('R126: what the client runs as a task for one backend is no business of another', async t => {
  const { open, a, b } = await scene(t)
  const asked: Record<string, unknown> = {}
  a.server.on('tools/call', async turn => {
    asked.created = await turn.ask('sampling/createMessage', { messages: [], maxTokens: 1, task: {} })
    asked.own = await turn.ask('tasks/get', { taskId: 'mine' })
    turn.answer('{"content":[]}')
  })
  b.server.on('tools/call', async turn => {
    asked.foreign = await turn.ask('tasks/result', { taskId: 'mine' })
    asked.list = await turn.ask('tasks/list')
    turn.answer('{"content":[]}')
  })
  const client = await open({ capabilities: { sampling: {}, tasks: { list: {}, requests: {} } } })
  const { events } = await client.call('a_job')
  const sampling = await events.message(({ method }) => method === 'sampling/createMessage')
  const task = { taskId: 'mine', status: 'working' }
  await client.post({ id: sampling.id, result: { task } })
  const get = await events.message(({ method }) => method === 'tasks/get')
  t.equal(get.params.taskId, 'mine', 'ids of the client are its own')
  await client.post({ id: get.id, result: task })
  await events.message(({ result }) => result !== undefined)
  t.match(asked, { created: { result: { task } }, own: { result: task } })
  await ask(client, 'tools/call', { name: 'b_job', arguments: {} })
  t.match(asked, { foreign: { error: { code: -32602 } }, list: { error: { code: -32601 } } })
  await client.post({ method: 'notifications/tasks/status', params: task })
  await client.post({ method: 'notifications/roots/list_changed' })
  await until('what is for all', () => b.server.heardOf('notifications/roots/list_changed').length > 0)
  await until('the status', () => a.server.heardOf('notifications/tasks/status').length > 0)
  t.equal(b.server.heardOf('notifications/tasks/status').length, 0)
})

const asking = (name: string): string => `
  export default {
    name: 'job',
    execution: { taskSupport: 'optional' },
    handler: async (args, { elicitText }) => '${name} ' + (await elicitText('${name}?'))
  }`

t.test('R122, R123: the official client runs tasks of two backends side by side, and is asked by both', async t => {
  const file = {
    backends: { a: { kind: 'module', path: './a' }, b: { kind: 'module', path: './b' } },
    routes: { '/mcp': { backends: ['a', 'b'] } },
    streams: { sseAfter: '20ms' }
  }
  const directory = t.testdir({ a: { 'job.mjs': asking('a') }, b: { 'job.mjs': asking('b') } })
  const { url } = await startGateway(t, file, directory)
  const client = new Client(
    { name: 'official', version: '1' },
    { capabilities: { elicitation: { form: {} }, tasks: {} } }
  )
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
    action: 'accept',
    content: { answer: `for ${params.message}` }
  }))
  // The own types of the SDK do not agree under exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as any)
  t.teardown(() => client.close())
  await client.listTools()
  const run = async (name: string): Promise<unknown> => {
    const stream = client.experimental.tasks.callToolStream({ name, arguments: {} }, CallToolResultSchema)
    for await (const message of stream) {
      if (message.type === 'error') throw message.error
      if (message.type === 'result') return message.result.content
    }
    return undefined
  }
  t.match(await Promise.all(['a_job', 'b_job'].map(run)), [[{ text: 'a for a?' }], [{ text: 'b for b?' }]])
})

t.test('R110i: elicitations by URL of two backends with one id are told apart', async t => {
  const { open, a, b } = await scene(t)
  const required = { elicitations: [{ mode: 'url', elicitationId: '1', url: 'https://example.com', message: '' }] }
  for (const { server } of [a, b]) {
    server.on('tools/call', turn => {
      turn.notify('notifications/elicitation/complete', { elicitationId: '1' })
      turn.refuse(-32042, 'first this', required)
    })
  }
  const client = await open({ capabilities: { elicitation: { url: {} } } })
  const ids = await Promise.all(
    ['a', 'b'].map(async name => {
      const { events } = await client.call(`${name}_job`)
      const { error } = await events.message(({ error }) => error !== undefined)
      const { params } = await events.message(({ params }) => params !== undefined)
      t.equal(error.data.elicitations[0].elicitationId, params.elicitationId)
      return params.elicitationId
    })
  )
  t.equal(new Set(ids).size, 2)
})

t.test('R124: a question of a task that its backend takes back has the handle then too', async t => {
  const { open, a } = await scene(t)
  a.server.on('tasks/result', turn => {
    const _meta = { [relatedTask]: { taskId: '1' } }
    turn.raw(JSON.stringify({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: '?', _meta } }))
    turn.notify('notifications/cancelled', { requestId: 'q', _meta })
  })
  const client = await open({ capabilities: { elicitation: {} } })
  const taskId = await begin(client, 'a')
  const { events, destroy } = await client.request('tasks/result', { taskId })
  const ask = await events.message(({ method }) => method === 'elicitation/create')
  const cancelled = await events.message(({ method }) => method === 'notifications/cancelled')
  t.same(cancelled.params, { requestId: ask.id, _meta: { [relatedTask]: { taskId } } })
  destroy()
})

t.test('R120: tasks of a backend that sessions share are not listed beside those of the others', async t => {
  const [own, shared] = ['own', 'shared'].map(name => new Tasks(new Stocked(name, script))) as [Tasks, Tasks]
  const http = await HttpUpstream.start(own.server)
  const stdio = await stdioUpstream(shared.server)
  const { command, args } = stdio
  const { url } = await startGateway(t, {
    backends: { shared: { kind: 'stdio', command, args, scope: 'shared' }, own: { kind: 'http', url: http.url } },
    routes: { '/mcp': { backends: ['shared', 'own'] } }
  })
  t.teardown(() => Promise.all([http.close(), stdio.close()]))
  const client = await RawClient.open(url)
  await begin(client, 'shared')
  const taskId = await begin(client, 'own')
  const { result } = await ask(client, 'tasks/list')
  t.same(
    result.tasks.map((task: { taskId: string }) => task.taskId),
    [taskId]
  )
  t.equal(shared.server.heardOf('tasks/list').length, 0)
})
