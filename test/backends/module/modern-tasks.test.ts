/** Tasks of 2026-07-28 of in-process handlers (extensions/tasks). */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { anonymous } from '../../../src/auth/principal.ts'
import type { ModuleBackend } from '../../../src/backends/module/backend.ts'
import { type Context, defineTool, ProtocolError, type TaskOptions, ToolError } from '../../../src/handlers/define.ts'
import { connect, notices, type Said, saidOf, serve } from '../../helpers/module-link.ts'
import { until } from '../../helpers/until.ts'

const envelope = (capabilities: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'modern', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': capabilities
})
const withTasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

interface Client {
  ask(method: string, params?: object, capabilities?: object): Promise<Said>
  /** The id of a task that the tool `job` became. */
  begin(): Promise<string>
  get(taskId: string): Promise<any>
  over(taskId: string): Promise<any>
}

/** Each request has a link of its own, as those of anonymous callers have. */
function clientAt(t: Test, backend: ModuleBackend, principal: string = anonymous.key): Client {
  const ask: Client['ask'] = async (method, params = {}, capabilities = { elicitation: {}, ...withTasks }) => {
    const client = await connect(t, backend, {}, principal)
    const said = await client.ask(method, { ...params, _meta: envelope(capabilities) })
    await client.link.close()
    return said
  }
  const get = async (taskId: string) => (await ask('tasks/get', { taskId })).result
  return {
    ask,
    get,
    begin: async () => (await ask('tools/call', { name: 'job' })).result.taskId,
    async over(taskId) {
      await until('the end of the task', async () => /^(completed|failed|cancelled)$/.test((await get(taskId)).status))
      return get(taskId)
    }
  }
}

const job = (
  handler: (context: Context) => unknown,
  taskSupport: 'optional' | 'required' = 'optional',
  task: TaskOptions = {}
) =>
  defineTool({
    name: 'job',
    execution: { taskSupport },
    task,
    handler: (_args, context) => handler(context) as Promise<object>
  })

const begun = async (t: Test, ...given: Parameters<typeof job>): Promise<Client> =>
  clientAt(t, await serve(t, { tools: [job(...given)] }))

t.test('a call of a client that declares the extension is a task at once, and outlives its link', async t => {
  const gate = Promise.withResolvers<void>()
  const client = await begun(t, async () => {
    await gate.promise
    return 'done'
  })
  const { result } = await client.ask('tools/call', { name: 'job' })
  t.match(result, { resultType: 'task', status: 'working', ttlMs: 3_600_000, pollIntervalMs: 1_000 })
  t.equal(Object.hasOwn(result, 'task'), false)
  t.same(await client.get(result.taskId), (({ resultType: _, ...task }) => task)(result))
  gate.resolve()
  t.match(await client.over(result.taskId), {
    status: 'completed',
    result: { resultType: 'complete', content: [{ text: 'done' }] }
  })
})

t.test('without the extension it runs plainly, and where it cannot it is refused', async t => {
  const tools = [job(() => 'done'), { ...job(() => 'done', 'required'), name: 'only' }]
  const client = clientAt(t, await serve(t, { tools }))
  t.match((await client.ask('tools/call', { name: 'job' }, {})).result, {
    content: [{ text: 'done' }],
    taskId: undefined
  })
  t.match((await client.ask('tools/call', { name: 'only' }, {})).error, {
    code: -32021,
    data: { requiredCapabilities: withTasks }
  })
  t.match((await client.ask('tools/call', { name: 'only' })).result, { resultType: 'task' })
})

t.test('what failed as a tool is completed, what failed as a protocol is failed', async t => {
  const client = await begun(t, () => {
    throw new ToolError('no')
  })
  t.match(await client.over(await client.begin()), { status: 'completed', result: { isError: true } })
  const other = await begun(t, () => {
    throw new ProtocolError(-32099, 'no', { a: 1 })
  })
  const failed = await other.over(await other.begin())
  t.match(failed, { status: 'failed', statusMessage: 'no', error: { code: -32099, message: 'no', data: { a: 1 } } })
  t.equal(Object.hasOwn(failed, 'result'), false)
})

t.test('a task asks by its state, is answered in parts, and a key stands for one question', async t => {
  const form = { type: 'object', properties: { name: { type: 'string' } } } as const
  const client = await begun(t, async ({ elicit }) => {
    const answers = await Promise.all([elicit('a?', form, { key: 'a' }), elicit('b?', form)])
    const last = await elicit('a again?', form, { key: 'a' })
    return [...answers, last].map(({ content }) => content?.name).join()
  })
  const taskId = await client.begin()
  const asking = (keys: readonly string[]) =>
    until('it asks', async () => {
      const { status, inputRequests = {} } = await client.get(taskId)
      return status === 'input_required' && Object.keys(inputRequests).join() === keys.join()
    })
  await asking(['a', 'elicit-1'])
  t.match((await client.get(taskId)).inputRequests, {
    a: { method: 'elicitation/create', params: { message: 'a?', requestedSchema: form } }
  })
  const update = (inputResponses: unknown) => client.ask('tasks/update', { taskId, inputResponses })
  const said = (name: string) => ({ action: 'accept', content: { name } })
  t.same((await update({ 'elicit-1': said('2'), unknown: said('x'), a: null })).result, {})
  await asking(['a'])
  t.same((await update({ a: said('1'), 'elicit-1': said('late') })).result, {})
  await asking(['a-2'])
  t.equal((await update({ a: 'no object' })).error.code, -32602)
  t.equal((await update(undefined)).error.code, -32602)
  await update({ 'a-2': said('3') })
  t.match(await client.over(taskId), { status: 'completed', result: { content: [{ text: '1,2,3' }] } })
  t.same((await update({ 'a-2': said('again') })).result, {}, 'too late, and no error')
})

t.test('what it may not ask fails as it does in a plain call', async t => {
  const client = await begun(t, ({ sample }) => sample({ messages: [], maxTokens: 1 }))
  const ended = await client.over(await client.begin())
  t.match(ended, { status: 'failed', error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } })
})

t.test('cancelling is acknowledged, whatever became of it', async t => {
  let signal: AbortSignal | undefined
  const client = await begun(t, async context => {
    signal = context.signal
    await new Promise(resolve => signal?.addEventListener('abort', resolve))
  })
  const taskId = await client.begin()
  await until('the handler runs', () => signal !== undefined)
  t.same((await client.ask('tasks/cancel', { taskId })).result, {})
  t.match(await client.get(taskId), { status: 'cancelled', result: undefined, error: undefined })
  t.same((await client.ask('tasks/cancel', { taskId })).result, {})
  t.ok(signal!.aborted)
})

t.test('progress is the message of its status, logs have no place', async t => {
  const gate = Promise.withResolvers<void>()
  const client = await begun(t, async ({ progress, log }) => {
    await progress(1, 2, 'half of it')
    await log.error('x')
    await gate.promise
  })
  const taskId = await client.begin()
  await until('it is told', async () => (await client.get(taskId)).statusMessage === 'half of it')
  gate.resolve()
  await client.over(taskId)
})

t.test('a handler that decides itself asks its client first, and goes on as a task', async t => {
  const gate = Promise.withResolvers<void>()
  const form = { type: 'object', properties: { name: { type: 'string' } } } as const
  const backend = await serve(t, {
    tools: [
      job(
        async ({ elicit, becomeTask, progress }) => {
          await progress(1)
          const { content } = await elicit('Who?', form)
          if (content?.name === 'nobody') return 'not worth a task'
          if (content?.name === 'oops') throw new ProtocolError(-32050, 'oops', { a: 1 })
          t.equal(becomeTask(), true)
          t.equal(becomeTask(), true)
          await gate.promise
          return `for ${content?.name}`
        },
        'optional',
        { begins: 'handler' }
      )
    ]
  })
  const call = async (name: string, capabilities: object): Promise<Said[]> => {
    const client = await connect(t, backend, {
      answer: () => ({ result: { action: 'accept', content: { name } } })
    })
    const said = await client.all(
      client.start('tools/call', { name: 'job', _meta: { ...envelope(capabilities), progressToken: 1 } })
    )
    await client.link.close()
    return said
  }
  const capabilities = { elicitation: {}, ...withTasks }
  const said = await call('alice', capabilities)
  t.match(
    said.map(({ method }) => method),
    ['notifications/progress', 'elicitation/create', undefined]
  )
  const { result } = said.at(-1)!
  t.match(result, { resultType: 'task', status: 'working' })
  gate.resolve()
  t.match(await clientAt(t, backend).over(result.taskId), { result: { content: [{ text: 'for alice' }] } })
  t.match((await call('nobody', capabilities)).at(-1), { result: { content: [{ text: 'not worth a task' }] } })
  t.match((await call('oops', capabilities)).at(-1), { error: { code: -32050, message: 'oops', data: { a: 1 } } })
})

t.test('what it asked and did not wait for is taken back, before it is a task and after', async t => {
  const form = { type: 'object', properties: {} } as const
  const backend = await serve(t, {
    tools: [
      job(
        async ({ elicit, becomeTask, client }) => {
          if (client.info.name === 'patient') becomeTask()
          elicit('Never mind', form).catch(() => {})
          await new Promise(resolve => setImmediate(resolve))
          return 'done'
        },
        'optional',
        { begins: 'handler' }
      )
    ]
  })
  const client = await connect(t, backend)
  const said = await client.tool('job', {}, envelope({ elicitation: {}, ...withTasks }))
  t.match(
    said.map(({ method }) => method),
    ['elicitation/create', 'notifications/cancelled', undefined]
  )
  t.match(said.at(-1), { result: { content: [{ text: 'done' }] } })
  const patient = {
    ...envelope({ elicitation: {}, ...withTasks }),
    'io.modelcontextprotocol/clientInfo': { name: 'patient' }
  }
  const { taskId } = (await client.tool('job', {}, patient)).at(-1)!.result
  t.match(await clientAt(t, backend).over(taskId), { status: 'completed', inputRequests: undefined })
})

t.test('an answer that is too large fails the call, and the task', async t => {
  for (const begins of ['call', 'handler'] as const) {
    const tool = job(() => 'x'.repeat(2_000), 'optional', { begins })
    const client = clientAt(t, await serve(t, { tools: [tool] }, { limits: { upstream: 1_000 } }))
    const said = await client.ask('tools/call', { name: 'job' })
    if (begins === 'handler') t.match(said.error, { code: -32603, message: /2\d\d\d bytes/ })
    else t.match(await client.over(said.result.taskId), { status: 'failed', error: { code: -32603, message: /bytes/ } })
  }
})

t.test('an address to open has no id in a task: sessions need one', async t => {
  const client = await begun(t, ({ elicitUrl }) => elicitUrl('Open this', 'https://example.com'))
  const capabilities = { elicitation: { url: {} }, ...withTasks }
  const { taskId } = (await client.ask('tools/call', { name: 'job' }, capabilities)).result
  await until('it asks', async () => (await client.get(taskId)).status === 'input_required')
  const [request] = Object.values((await client.get(taskId)).inputRequests)
  t.same(request, {
    method: 'elicitation/create',
    params: { mode: 'url', message: 'Open this', url: 'https://example.com' }
  })
})

t.test('where the client takes no task, `becomeTask` says so and the call goes on', async t => {
  const client = await begun(t, ({ becomeTask }) => String(becomeTask()), 'optional', { begins: 'handler' })
  t.match((await client.ask('tools/call', { name: 'job' }, {})).result, { content: [{ text: 'false' }] })
})

t.test('a client that leaves before it is a task cancels the call, after it does not', async t => {
  for (const isTask of [false, true]) {
    const gate = Promise.withResolvers<void>()
    let signal: AbortSignal | undefined
    const backend = await serve(t, {
      tools: [
        job(
          async context => {
            signal = context.signal
            if (isTask) context.becomeTask()
            await gate.promise
          },
          'optional',
          { begins: 'handler' }
        )
      ]
    })
    const client = await connect(t, backend)
    const exchange = client.start('tools/call', { name: 'job', _meta: envelope(withTasks) })
    await until('the handler runs', () => signal !== undefined)
    exchange.cancel()
    await client.link.close()
    t.equal(signal!.aborted, !isTask)
    gate.resolve()
  }
})

t.test('nobody finds the task of another principal', async t => {
  const backend = await serve(t, { tools: [job(() => 'done')] })
  const [alice, bob] = [clientAt(t, backend, 'alice'), clientAt(t, backend, 'bob')]
  const taskId = await alice.begin()
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    t.equal((await bob.ask(method, { taskId, inputResponses: {} })).error.code, -32602)
    t.equal((await bob.ask(method, { taskId: 'none', inputResponses: {} })).error.code, -32602)
    t.equal((await bob.ask(method, { inputResponses: {} })).error.code, -32602)
  }
  t.match(await alice.over(taskId), { status: 'completed' })
})

t.test('sessions do not have them, and a backend without tools that run as tasks has none', async t => {
  const backend = await serve(t, { tools: [job(() => 'done')] })
  const taskId = await clientAt(t, backend).begin()
  const session = await connect(t, backend)
  t.equal((await session.ask('tasks/get', { taskId })).error.code, -32602)
  t.equal((await session.ask('tasks/update', { taskId })).error.code, -32601)
  t.equal((await session.ask('subscriptions/listen', { notifications: { taskIds: [taskId] } })).error.code, -32601)
  const plain = clientAt(t, await serve(t, { tools: [defineTool({ name: 'job', handler: () => 'x' })] }))
  t.equal((await plain.ask('tasks/get', { taskId: 'x' })).error.code, -32601)
  t.match((await plain.ask('tools/call', { name: 'job' })).result, { content: [{ text: 'x' }] })
})

t.test('a task has its time: then it is cancelled and forgotten', async t => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  t.teardown(() => mock.timers.reset())
  let aborted = false
  const tool = job(
    async ({ signal }) => {
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      aborted = true
    },
    'optional',
    { ttl: 5_000, pollInterval: 20 }
  )
  const client = clientAt(t, await serve(t, { tools: [tool] }))
  const { result } = await client.ask('tools/call', { name: 'job' })
  t.match(result, { ttlMs: 5_000, pollIntervalMs: 20 })
  await new Promise(resolve => setImmediate(resolve))
  mock.timers.tick(4_999)
  t.match(await client.get(result.taskId), { status: 'working' })
  mock.timers.tick(1)
  t.equal((await client.ask('tasks/get', { taskId: result.taskId })).error.code, -32602)
  await new Promise(resolve => setImmediate(resolve))
  t.ok(aborted)
})

t.test('a principal may have so many; what was told makes room', async t => {
  const backend = await serve(t, { tools: [job(() => 'done')] })
  const client = clientAt(t, backend, 'alice')
  const first = await client.begin()
  for (let i = 1; i < 100; i++) await client.begin()
  t.match((await client.ask('tools/call', { name: 'job' })).error, { code: -32603 })
  t.match((await clientAt(t, backend, 'bob').ask('tools/call', { name: 'job' })).result, { resultType: 'task' })
  await client.over(first)
  t.match((await client.ask('tools/call', { name: 'job' })).result, { resultType: 'task' })
  t.equal((await client.ask('tasks/get', { taskId: first })).error.code, -32602)
})

t.test('results are kept as long as there is room', async t => {
  const backend = await serve(t, { tools: [job(() => 'x'.repeat(600))] }, { limits: { upstream: 1_024 } })
  const client = clientAt(t, backend)
  const [first, second] = [await client.begin(), await client.begin()]
  await until('both are over', async () => {
    const states = await Promise.all(
      [first, second].map(async id => (await client.ask('tasks/get', { taskId: id })).result)
    )
    return states.every(({ status }) => status !== 'working')
  })
  const statuses = await Promise.all([first, second].map(async id => (await client.get(id)).status))
  t.same(statuses.sort(), ['completed', 'failed'])
})

t.test('who listens hears what is known now, then what changes, of its own tasks', async t => {
  const gate = Promise.withResolvers<void>()
  const form = { type: 'object', properties: {} } as const
  const backend = await serve(t, {
    tools: [
      job(async ({ elicit }) => {
        await elicit('Go on?', form)
        await gate.promise
        return 'done'
      })
    ]
  })
  const alice = clientAt(t, backend, 'alice')
  const [taskId, foreign] = [await alice.begin(), await clientAt(t, backend, 'bob').begin()]
  await until('it asks', async () => (await alice.get(taskId)).status === 'input_required')
  const link = await connect(t, backend, {}, 'alice')
  const exchange = link.start('subscriptions/listen', {
    notifications: { taskIds: [taskId, foreign, 7] },
    _meta: envelope(withTasks)
  })
  const next = async (): Promise<any> => saidOf((await exchange.next()).value)
  t.match(await next(), {
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { taskIds: [taskId] } }
  })
  t.match(await next(), {
    method: 'notifications/tasks',
    params: { taskId, status: 'input_required', inputRequests: { 'elicit-1': {} } }
  })
  await alice.ask('tasks/update', { taskId, inputResponses: { 'elicit-1': { action: 'accept', content: {} } } })
  t.match(await next(), { params: { taskId, status: 'working' } })
  gate.resolve()
  t.match(await next(), { params: { taskId, status: 'completed', result: { content: [{ text: 'done' }] } } })
  exchange.cancel()
  t.match(await exchange.next(), { done: true })
  const nothing = await alice.ask('subscriptions/listen', { notifications: { taskIds: ['none'] } })
  t.same(nothing.result, {})
})

t.test('the end of the backend is the end of its tasks', async t => {
  let aborted = false
  const backend = await serve(t, {
    tools: [
      job(async ({ signal }) => {
        await new Promise(resolve => signal.addEventListener('abort', resolve))
        aborted = true
      })
    ]
  })
  await clientAt(t, backend).begin()
  await new Promise(resolve => setImmediate(resolve))
  await backend.close()
  await until('the handler knows', () => aborted)
})

t.test('what a tool says of its tasks has to mean something', async t => {
  const told = notices(t)
  const odd = [{ ttl: 0 }, { ttl: 'long' }, { pollInterval: Number.NaN }, { begins: 'later' }, null].map((task, i) => ({
    ...job(() => ''),
    name: `odd${i}`,
    task: task as TaskOptions
  }))
  const idle = { ...job(() => ''), name: 'idle', execution: {}, task: { ttl: 5 } }
  const session = await connect(t, await serve(t, { tools: [...odd, idle] }))
  const { tools } = (await session.ask('tools/list')).result
  t.same(
    tools.map(({ name }: { name: string }) => name),
    ['idle']
  )
  const texts = told.filter(({ level }) => level === 'warn').map(({ text }) => text)
  t.match(texts, [/ttl/, /ttl/, /pollInterval/, /begins/, /no object/, /forbids tasks/])
})
