import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { anonymous } from '../../../src/auth/principal.ts'
import { related as relate } from '../../../src/backends/module/related.ts'
import { type Context, defineTool, ProtocolError, ToolError } from '../../../src/handlers/define.ts'
import { makeError } from '../../../src/protocol/make.ts'
import { readMessage } from '../../../src/protocol/message.ts'
import { bytes } from '../../../src/protocol/write.ts'
import { type TestOptions, testHandler } from '../../../src/testing.ts'
import { connect, type ModuleClient, notices, saidOf, serve } from '../../helpers/module-link.ts'
import { until } from '../../helpers/until.ts'

const related = 'io.modelcontextprotocol/related-task'
const supports = ['forbidden', 'optional', 'required'] as const

/** A tool that may run as a task, and that does this. */
const job = (handler: (context: Context) => unknown, taskSupport: (typeof supports)[number] = 'optional') =>
  defineTool({
    name: 'job',
    execution: { taskSupport },
    handler: (_args, context) => handler(context) as Promise<object>
  })

/** A job that goes on when the test says so. */
function held(work: (context: Context) => unknown = () => 'done') {
  const gate = Promise.withResolvers<void>()
  const tool = job(async context => {
    await gate.promise
    return work(context)
  })
  return { tool, go: () => gate.resolve() }
}

async function clientOf(t: Test, tool: object, options: TestOptions = {}) {
  const client = await testHandler(tool, options)
  t.teardown(() => client.close())
  const start = async (params: object = {}): Promise<any> =>
    (await client.request('tools/call', { name: 'job', task: {}, ...params })).task
  const get = (taskId: string): Promise<any> => client.request('tasks/get', { taskId })
  const result = (taskId: string, signal?: AbortSignal): Promise<any> =>
    client.request('tasks/result', { taskId }, signal)
  const over = (taskId: string) => until('the end of the task', async () => /ed$/.test((await get(taskId)).status))
  return { client, start, get, result, over }
}

t.test(
  'R120: tasks are declared when a tool supports them, to clients that know them; the list to known callers',
  async t => {
    const declared = async (tool: object, options: TestOptions): Promise<unknown> =>
      (await clientOf(t, tool, options)).client.server.capabilities.tasks
    const call = { cancel: {}, requests: { tools: { call: {} } } }
    t.strictSame(
      await declared(
        job(() => ''),
        {}
      ),
      call
    )
    t.strictSame(
      await declared(
        job(() => ''),
        { principal: 'me' }
      ),
      { list: {}, ...call }
    )
    t.strictSame(
      await declared(
        job(() => '', 'required'),
        {}
      ),
      call
    )
    t.equal(
      await declared(
        job(() => '', 'forbidden'),
        {}
      ),
      undefined
    )
    t.equal(await declared(defineTool({ name: 'job', handler: () => '' }), {}), undefined)
    t.equal(
      await declared(
        job(() => ''),
        { version: '2025-06-18' }
      ),
      undefined
    )
  }
)

t.test('R122: a task is created at once, works, and ends once; its state says when', async t => {
  const { tool, go } = held()
  const { start, get, over } = await clientOf(t, tool)
  const task = await start({ task: { ttl: 60_000 } })
  t.match(task, { taskId: /^[0-9a-f-]{36}$/, status: 'working', ttl: 60_000, pollInterval: Number })
  t.equal(new Date(task.createdAt).toISOString(), task.createdAt)
  t.equal(task.lastUpdatedAt, task.createdAt)
  t.strictSame(await get(task.taskId), task)
  go()
  await over(task.taskId)
  const ended = await get(task.taskId)
  t.match(ended, { status: 'completed', createdAt: task.createdAt })
  t.ok(ended.lastUpdatedAt >= task.createdAt)
})

t.test('R122: what fails is failed, and says why', async t => {
  const failing = async (error: Error): Promise<{ task: any; result: any }> => {
    const { start, get, result, over } = await clientOf(
      t,
      job(() => {
        throw error
      })
    )
    const { taskId } = await start()
    await over(taskId)
    return { task: await get(taskId), result: await result(taskId).catch((error: unknown) => error) }
  }
  const told = await failing(new ToolError('No such city.'))
  t.match(told.task, { status: 'failed', statusMessage: 'No such city.' })
  t.match(told.result, { isError: true, content: [{ text: 'No such city.' }] })
  const refused = await failing(new ProtocolError(-32042, 'Sign in.', { url: 'x' }))
  t.match(refused.task, { status: 'failed', statusMessage: 'Sign in.' })
  t.match(refused.result, { code: -32042, message: 'Sign in.', data: { url: 'x' } }, 'R123: the very error')
})

t.test('R122: what the handler tells with its progress is the status message', async t => {
  const { tool, go } = held()
  const working = job(async ({ progress }) => {
    progress(1, 2, 'halfway')
    return tool.handler({}, undefined as never)
  })
  const { start, get } = await clientOf(t, working)
  const { taskId } = await start()
  await until('the message', async () => (await get(taskId)).statusMessage === 'halfway')
  go()
})

t.test('R123: tasks/result blocks until the end, and gives what the call would have given', async t => {
  const { tool, go } = held(() => ({ content: ['x'], structuredContent: { a: 1 }, _meta: { own: true } }))
  const { start, get, result } = await clientOf(t, tool)
  const { taskId } = await start()
  let settled = false
  const results = [result(taskId), result(taskId)]
  void Promise.race(results).then(() => {
    settled = true
  })
  t.match(await get(taskId), { status: 'working' })
  t.notOk(settled)
  go()
  const expected = {
    content: [{ type: 'text', text: 'x' }],
    structuredContent: { a: 1 },
    _meta: { own: true, [related]: { taskId } }
  }
  t.strictSame(await Promise.all(results), [expected, expected])
  t.strictSame(await result(taskId), expected, 'and again afterwards')
})

t.test('R123: callTask of the testing aid runs a task to its result', async t => {
  const { client } = await clientOf(
    t,
    job(({ elicitText }) => elicitText('Name?')),
    {
      answers: { elicit: { action: 'accept', content: { answer: 'Ada' } } }
    }
  )
  t.match(await client.callTask('job', {}, { ttl: 5_000 }), { content: [{ text: 'Ada' }] })
})

t.test('R123, R124: what a task asks waits for tasks/result, and makes it input_required meanwhile', async t => {
  const client = await connect(t, await serve(t, { tools: [job(({ elicitText }) => elicitText('Name?'))] }), {
    capabilities: { elicitation: {} },
    answer: () => ({ result: { action: 'accept', content: { answer: 'Ada' } } })
  })
  const taskId = await started(client)
  await until('the ask', async () => (await status(client, taskId)) === 'input_required')
  const said = await client.all(client.start('tasks/result', { taskId }))
  t.match(said, [
    { method: 'elicitation/create', params: { message: 'Name?', _meta: { [related]: { taskId } } } },
    { result: { content: [{ text: 'Ada' }], _meta: { [related]: { taskId } } } }
  ])
  t.same(
    client.received.map(({ method, params }) => [method, params.status]),
    ['input_required', 'working', 'completed'].map(status => ['notifications/tasks/status', status]),
    'R127: every change is told'
  )
  t.equal(client.received[0]?.params._meta, undefined, 'a status names its task itself')
})

t.test('R123: a request that went out with a tasks/result nobody reads any more goes out with the next', async t => {
  const client = await connect(t, await serve(t, { tools: [job(({ elicitText }) => elicitText('Name?'))] }), {
    capabilities: { elicitation: {} },
    answer: () => ({ result: { action: 'accept', content: { answer: 'Ada' } } })
  })
  const taskId = await started(client)
  const first = client.start('tasks/result', { taskId })
  const asked = (await first.next()).value
  t.equal(asked.method, 'elicitation/create')
  first.cancel()
  // What the gateway answers for a client that gave up.
  await client.link.send(makeError(asked.id, -32603, 'the call is over'))
  t.equal(await status(client, taskId), 'input_required')
  const said = await client.all(client.start('tasks/result', { taskId }))
  t.equal(said[0]?.method, 'elicitation/create')
  t.not(said[0]?.id, Number(asked.id))
  t.match(said[1], { result: { content: [{ text: 'Ada' }] } })
})

t.test('R123: a handler that does not wait for the answer takes its request back', async t => {
  const gate = Promise.withResolvers<void>()
  const tool = job(async ({ elicitText }) => {
    void elicitText('Name?')
    await gate.promise
    return 'gave up'
  })
  const client = await connect(t, await serve(t, { tools: [tool] }), { capabilities: { elicitation: {} } })
  const taskId = await started(client)
  const exchange = client.start('tasks/result', { taskId })
  const asked = saidOf((await exchange.next()).value)
  gate.resolve()
  t.match(saidOf((await exchange.next()).value), {
    method: 'notifications/cancelled',
    params: { requestId: asked.id, _meta: { [related]: { taskId } } }
  })
  t.match(saidOf((await exchange.next()).value), { result: { content: [{ text: 'gave up' }] } })
})

t.test('R124, R127: progress keeps its token until the end, and carries the task, as logs do', async t => {
  const { tool, go } = held(({ progress, log }) => {
    progress(1, 2)
    log.error('careful')
    progress(2, 2)
    return 'done'
  })
  const client = await connect(t, await serve(t, { tools: [tool] }))
  const request =
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"job","task":{},"_meta":{"progressToken":"t"}}}'
  const [created] = await client.all(
    client.link.exchange(readMessage(Buffer.from(request), 9), { principal: anonymous })
  )
  const taskId: string = created?.result.task.taskId
  t.match(created?.result._meta, { [related]: { taskId } })
  go()
  await until('the end', async () => (await status(client, taskId)) === 'completed')
  const _meta = { [related]: { taskId } }
  t.match(client.received.slice(0, 3), [
    { method: 'notifications/progress', params: { progressToken: 't', progress: 1, total: 2, _meta } },
    { method: 'notifications/message', params: { data: 'careful', _meta } },
    { method: 'notifications/progress', params: { progressToken: 't', progress: 2, total: 2, _meta } }
  ])
})

t.test('R125: taskSupport by how a tool is called, 3 by 3', async t => {
  const expected = {
    //          called plainly, as a task, as a task of a server without tasks
    forbidden: ['runs', -32601, 'runs'],
    optional: ['runs', 'task', 'runs'],
    required: [-32601, 'task', 'runs']
  }
  for (const support of supports) {
    const outcome = async (params: object, options: TestOptions = {}): Promise<unknown> => {
      // Another tool has tasks declared whatever this one supports.
      const other = defineTool({ name: 'other', execution: { taskSupport: 'optional' }, handler: () => '' })
      const { client } = await clientOf(t, [job(() => 'runs', support), other], options)
      const answer = client.request('tools/call', { name: 'job', ...params })
      return answer.then(
        result => (result.task === undefined ? result.content[0].text : 'task'),
        error => error.code
      )
    }
    const outcomes = [
      await outcome({}),
      await outcome({ task: {} }),
      await outcome({ task: {} }, { version: '2025-06-18' })
    ]
    t.same(outcomes, expected[support], support)
  }
})

t.test('R125: a tool that must run as a task runs plainly where there are no tasks', async t => {
  const { client } = await clientOf(
    t,
    job(() => 'runs', 'required'),
    { version: '2025-06-18' }
  )
  t.match(await client.callTool('job'), { content: [{ text: 'runs' }] })
  await t.rejects(client.request('tasks/get', { taskId: 'x' }), { code: -32601 })
})

t.test('R126: a task is found by its own session alone, whatever is asked', async t => {
  const backend = await serve(t, { tools: [job(() => 'done')] })
  const [mine, theirs] = [await connect(t, backend), await connect(t, backend)]
  const taskId = await started(mine)
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    t.match((await theirs.ask(method, { taskId })).error, { code: -32602, message: /no such task/ }, method)
    t.match((await mine.ask(method, { taskId: 1 })).error, { code: -32602 }, `${method} without an id`)
  }
  t.match((await mine.ask('tasks/result', { taskId })).result, { content: [{ text: 'done' }] })
  t.notOk(
    theirs.received.some(({ method }) => method === 'notifications/tasks/status'),
    'R127'
  )
})

t.test('R126: the list has the own tasks in pages, and only who is known has it', async t => {
  const tool = job(() => 'done')
  const { client, start } = await clientOf(t, { name: 'h', pageSize: 2, tools: [tool] }, { principal: 'me' })
  const ids = [(await start()).taskId, (await start()).taskId, (await start()).taskId]
  const first = await client.request('tasks/list')
  t.match(first, { tasks: [{ taskId: ids[0] }, { taskId: ids[1] }], nextCursor: String })
  const rest = await client.request('tasks/list', { cursor: first.nextCursor })
  t.match(rest.tasks, [{ taskId: ids[2], ttl: Number }])
  t.equal(rest.nextCursor, undefined)
  await t.rejects(client.request('tasks/list', { cursor: 'x' }), { code: -32602 })
  const { client: nobody } = await clientOf(t, tool)
  await t.rejects(nobody.request('tasks/list'), { code: -32601 })
})

t.test('R126: a principal has a hundred tasks at most, in all sessions; fetched ones make room', async t => {
  const { tool, go } = held()
  const { client, start, result } = await clientOf(t, tool)
  const ids: string[] = []
  for (let i = 0; i < 100; i++) ids.push((await start()).taskId)
  await t.rejects(start(), { code: -32603, message: /100 tasks already/ })
  go()
  await result(ids[7]!)
  t.ok((await start()).taskId)
  await t.rejects(result(ids[7]!), { code: -32602 }, 'it made room')
  t.ok(await result(ids[8]!))
  await client.close()
})

t.test(
  'R126: the hundred are those of a principal, whose sessions share them; they are given back with a session',
  async t => {
    const backend = await serve(t, { tools: [job(() => new Promise(() => {}))] })
    const open = () => connect(t, backend, {}, 'me')
    const [one, two] = [await open(), await open()]
    for (let i = 0; i < 100; i++) await started(i % 2 === 0 ? one : two)
    t.match((await one.ask('tools/call', { name: 'job', task: {} })).error, { code: -32603 })
    const other = await connect(t, backend, {}, 'somebody else')
    t.ok(await started(other))
    await two.link.close()
    t.ok(await started(one))
  }
)

t.test('R126: the time to live is bounded both ways, and what is none is refused', async t => {
  const { start } = await clientOf(
    t,
    job(() => '')
  )
  const ttl = async (given: unknown): Promise<number> => (await start({ task: { ttl: given } })).ttl
  t.equal(await ttl(60_000), 60_000)
  t.equal(await ttl(undefined), 3_600_000)
  t.equal(await ttl(1e12), 86_400_000)
  t.equal(await ttl(null), 86_400_000)
  t.equal(await ttl(0), 1_000)
  for (const wrong of [-1, 'long']) await t.rejects(ttl(wrong), { code: -32602, message: /ttl/ })
  for (const task of [null, [], 1]) await t.rejects(start({ task }), { code: -32602, message: /params.task/ })
})

t.test('R126: after its time to live a task is gone, and its handler is told', async t => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
  t.teardown(() => mock.timers.reset())
  let reason: unknown
  const { client, start, result } = await clientOf(
    t,
    job(({ signal }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      return new Promise(() => {})
    })
  )
  const { taskId } = await start({ task: { ttl: 5_000 } })
  const later = await start({ task: { ttl: 60_000 } })
  await new Promise(resolve => setImmediate(resolve))
  const waiting = result(taskId)
  mock.timers.tick(4_999)
  t.match(await client.request('tasks/get', { taskId }), { status: 'working' })
  mock.timers.tick(1)
  await t.rejects(waiting, { code: -32603, message: 'The task was cancelled.' })
  t.match(reason, { message: /time to live/ })
  await t.rejects(client.request('tasks/get', { taskId }), { code: -32602, message: /expired/ })
  t.match(await client.request('tasks/get', { taskId: later.taskId }), { status: 'working' })
})

t.test('R122: a cancelled task is cancelled before the answer, stays so, and its handler is told', async t => {
  const gate = Promise.withResolvers<void>()
  let reason: unknown
  const { client, start, get, result } = await clientOf(
    t,
    job(async ({ signal }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      await gate.promise
      return 'too late'
    })
  )
  const { taskId } = await start()
  await until('the handler', async () => (await get(taskId)).status === 'working')
  await new Promise(resolve => setImmediate(resolve))
  const waiting = result(taskId)
  t.match(await client.request('tasks/cancel', { taskId }), {
    taskId,
    status: 'cancelled',
    statusMessage: /by request/
  })
  await t.rejects(waiting, { message: 'The task was cancelled.' })
  t.match(reason, { name: 'AbortError' })
  gate.resolve()
  await new Promise(resolve => setImmediate(resolve))
  t.match(await get(taskId), { status: 'cancelled' })
  await t.rejects(client.request('tasks/cancel', { taskId }), {
    code: -32602,
    message: "Cannot cancel task: already in terminal status 'cancelled'"
  })
})

t.test('R122: cancelling a task takes back what it asked', async t => {
  const client = await connect(t, await serve(t, { tools: [job(({ elicitText }) => elicitText('Name?'))] }), {
    capabilities: { elicitation: {} }
  })
  const taskId = await started(client)
  const exchange = client.start('tasks/result', { taskId })
  const asked = saidOf((await exchange.next()).value)
  t.match((await client.ask('tasks/cancel', { taskId })).result, { status: 'cancelled' })
  t.match(saidOf((await exchange.next()).value), { method: 'notifications/cancelled', params: { requestId: asked.id } })
  t.match(saidOf((await exchange.next()).value), { error: { code: -32603, message: 'The task was cancelled.' } })
})

t.test('R122: a session that ends cancels its tasks', async t => {
  const told = notices(t)
  let reason: unknown
  const { client, start } = await clientOf(
    t,
    job(({ signal, elicitText }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      return elicitText('Name?')
    }),
    { answers: { elicit: 'cancel' } }
  )
  await start()
  await new Promise(resolve => setImmediate(resolve))
  await client.close()
  t.match(reason, { message: 'The session is over.' })
  t.same(
    told.filter(({ level }) => level === 'error'),
    []
  )
})

t.test('R126: results that are kept have a bound, as one result has', async t => {
  const backend = await serve(
    t,
    { tools: [defineTool({ ...job(() => ''), handler: args => 'x'.repeat(Number(args.size)) })] },
    { limits: { upstream: 5_000 } }
  )
  const client = await connect(t, backend)
  const first = await started(client, { arguments: { size: 3_000 } })
  await until('the first', async () => (await status(client, first)) === 'completed')
  const second = await started(client, { arguments: { size: 3_000 } })
  await until('the second', async () => (await status(client, second)) === 'failed')
  t.match((await client.ask('tasks/result', { taskId: second })).error, { code: -32603, message: /leave no room/ })
  t.ok((await client.ask('tasks/result', { taskId: first })).result)
  const third = await started(client, { arguments: { size: 3_000 } })
  t.ok((await client.ask('tasks/result', { taskId: third })).result, 'the first was fetched')
  const large = await started(client, { arguments: { size: 6_000 } })
  t.match((await client.ask('tasks/result', { taskId: large })).error, { code: -32603, message: /limit is 5000/ })
})

async function started(client: ModuleClient, params: object = {}): Promise<string> {
  const { result } = await client.ask('tools/call', { name: 'job', task: {}, ...params })
  return result.task.taskId
}

const status = async (client: ModuleClient, taskId: string): Promise<string> =>
  (await client.ask('tasks/get', { taskId })).result.status

t.test('R124: the task goes into whatever a message has, and nothing else of it is touched', async t => {
  const expected = `"${related}":{"taskId":"t"}`
  const cases = [
    ['{"jsonrpc":"2.0","id":1,"method":"roots/list"}', `{"params":{"_meta":{${expected}}},`],
    [
      '{"jsonrpc":"2.0","method":"x","params":{"a":9007199254740993}}',
      `"params":{"_meta":{${expected}},"a":9007199254740993}`
    ],
    ['{"jsonrpc":"2.0","method":"x","params":{"_meta":{"b":1.0}}}', `"_meta":{${expected},"b":1.0}`]
  ] as const
  for (const [text, part] of cases) {
    const message = relate(readMessage(Buffer.from(text), 9), 't')
    const whole = bytes(message).toString()
    t.ok(whole.includes(part), whole)
    t.strictSame(message.edits, [], 'it is read anew')
  }
})
