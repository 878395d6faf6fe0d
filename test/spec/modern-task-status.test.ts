/** Status of tasks on `subscriptions/listen` (extensions/tasks, "Task Status Notifications"). */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { value } from '../../src/protocol/write.ts'
import { startGateway } from '../helpers/gateway.ts'
import { startLegacy } from '../helpers/legacy.ts'
import { lastOf, type ModernClient } from '../helpers/modern.ts'
import type { RawResponse } from '../helpers/raw-client.ts'
import { Scripted, type Turn } from '../helpers/scripted.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { heardOf, nextStream, startTaskServer, taskClient, taskIn } from '../helpers/task-backends.ts'
import { until } from '../helpers/until.ts'

const byToken = {
  authenticator: {
    authenticate: ({ authorization = '' }: { authorization: string | undefined }) => ({
      key: authorization,
      subject: authorization
    })
  }
}

const listen = (client: ModernClient, taskIds: unknown, headers = {}) =>
  client.request('subscriptions/listen', { notifications: { taskIds } }, { id: 'l', headers })

/** Gives one message after the other. */
function inOrder(events: RawResponse['events']): () => Promise<any> {
  let next = 0
  return () => {
    const at = next++
    return events.until(({ messages }) => messages[at])
  }
}

const tag = { _meta: { 'io.modelcontextprotocol/subscriptionId': 'l' } }

t.test('one backend: acknowledged first, then what becomes of the task, tagged, and nothing of others', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  const opening = nextStream(server)
  const listening = listen(taskClient(url), ['a', 'b'])
  const stream = await opening
  t.same(stream.ids, ['a', 'b'])
  t.match(heardOf(server, 'subscriptions/listen').at(-1)?.body, {
    params: {
      _meta: {
        'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } }
      }
    }
  })
  stream.acknowledge(['a'])
  const { events, destroy } = await listening
  const message = inOrder(events)
  t.match(await message(), {
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { taskIds: ['a'] }, ...tag }
  })
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 'a' } }
  stream.tell({ taskId: 'b', status: 'working' })
  stream.tell({ taskId: 'a', status: 'input_required', inputRequests: { k: { method: 'roots/list' } } })
  t.match(await message(), {
    method: 'notifications/tasks',
    params: { taskId: 'a', status: 'input_required', inputRequests: { k: { method: 'roots/list' } }, ...tag }
  })
  stream.tell({ taskId: 'a', status: 'completed', result: { content: [], _meta: related } })
  t.match(await message(), { params: { taskId: 'a', status: 'completed', result: { content: [] }, ...tag } })
  destroy()
  await until('the backend is not listened to any more', () => stream.gone)
})

t.test('several backends: each is asked for its own, and all goes by handles', async t => {
  const [one, two] = [await startTaskServer(t), await startTaskServer(t)]
  const { url } = await startGateway(t, {
    backends: { one: { kind: 'http', url: one.url }, two: { kind: 'http', url: two.url } }
  })
  const opening = Promise.all([nextStream(one), nextStream(two)])
  const handles = ['two~x', 'one~x', 'three~x', 'x', 'one~y']
  const listening = listen(taskClient(url), handles)
  const [first, second] = await opening
  t.same([first.ids, second.ids], [['x', 'y'], ['x']])
  second.acknowledge()
  first.acknowledge()
  const { events, destroy } = await listening
  const message = inOrder(events)
  t.match(await message(), { params: { notifications: { taskIds: ['two~x', 'one~x', 'one~y'] } } })
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 'x' } }
  second.tell({ taskId: 'x', status: 'completed', result: { content: [], _meta: related } })
  t.match(await message(), {
    params: {
      taskId: 'two~x',
      status: 'completed',
      result: { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'two~x' } } }
    }
  })
  first.tell({ taskId: 'x', status: 'working' })
  t.match(await message(), { params: { taskId: 'one~x', status: 'working', ...tag } })
  destroy()
})

t.test('what belongs to another principal is left out, and no backend is asked for it', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } }, undefined, byToken)
  const client = taskClient(url)
  const of = async (who: string): Promise<string> =>
    (await client.call('slow_compute', { seconds: 0 }, { headers: { authorization: who } })).json.result.taskId
  const [hers, his] = [await of('alice'), await of('bob')]
  const opening = nextStream(server)
  const listening = listen(client, [hers, his], { authorization: 'alice' })
  const stream = await opening
  t.same(stream.ids, [hers.slice(-36)])
  stream.acknowledge()
  const { events, destroy } = await listening
  const message = inOrder(events)
  t.match(await message(), { params: { notifications: { taskIds: [hers] } } })
  stream.tell({ taskId: hers.slice(-36), status: 'cancelled' })
  t.match(await message(), { params: { taskId: hers, status: 'cancelled' } })
  destroy()
})

t.test('a backend that does not agree is not waited for: the acknowledgement leaves its tasks out', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  // An SDK server has no tasks in its subscriptions.
  const { events } = await listen(taskClient(url), ['a'])
  const { messages } = await events.whole()
  t.match(messages, [
    { method: 'notifications/subscriptions/acknowledged', params: { notifications: { taskIds: undefined } } },
    { id: 'l', result: { resultType: 'complete' } }
  ])
})

t.test('a backend that says nothing is waited for 2 s, and what it says later is not heard', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  const opening = nextStream(server)
  const began = performance.now()
  const listening = listen(taskClient(url), ['a'])
  const stream = await opening
  const { events } = await listening
  const { messages } = await events.whole()
  t.ok(performance.now() - began > 1_900)
  t.match(messages, [{ params: { notifications: { taskIds: undefined } } }, { id: 'l', result: {} }])
  await until('the backend is not listened to any more', () => stream.gone)
})

t.test('backends that are away, or of an older revision, tell of no tasks; the others do', async t => {
  const [server, { upstream }] = [await startTaskServer(t), await startLegacy(t)]
  const { url } = await startGateway(t, {
    backends: {
      away: { kind: 'http', url: 'http://127.0.0.1:1/mcp' },
      older: { kind: 'http', url: upstream.url },
      jobs: { kind: 'http', url: server.url }
    }
  })
  const opening = nextStream(server)
  const listening = listen(taskClient(url), ['away~a', 'older~a', 'jobs~a'])
  const stream = await opening
  stream.acknowledge()
  const { events } = await listening
  const message = inOrder(events)
  t.match(await message(), { params: { notifications: { taskIds: ['jobs~a'] } } })
  t.same((await events.until(({ messages }) => messages[0])).params.notifications.taskIds, ['jobs~a'])
  stream.break()
  t.match(await message(), { id: 'l', result: { resultType: 'complete' } }, 'what breaks ends it, too')
})

t.test('a client that leaves before that is not listened for', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  const opening = nextStream(server)
  const gone = new AbortController()
  const listening = taskClient(url).request(
    'subscriptions/listen',
    { notifications: { taskIds: ['a'] } },
    { signal: gone.signal }
  )
  listening.catch(() => {})
  const stream = await opening
  gone.abort()
  await until('the backend is not listened to any more', () => stream.gone)
})

t.test('programs tell of tasks on their pipe', async t => {
  const server = new Scripted()
  server.on('server/discover', turn =>
    turn.answer(
      JSON.stringify({
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } }
      })
    )
  )
  let subscription: Turn | undefined
  server.on('subscriptions/listen', turn => {
    const { notifications } = value(turn.message).params as { notifications: { taskIds?: string[] } }
    if (notifications.taskIds === undefined) return turn.answer('{"resultType":"complete"}')
    subscription = turn
    turn.notify('notifications/subscriptions/acknowledged', { notifications, ...meta(turn) })
  })
  const meta = ({ message }: Turn) => ({ _meta: { 'io.modelcontextprotocol/subscriptionId': Number(message.id) } })
  const { command, args, close } = await stdioUpstream(server)
  t.teardown(close)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'stdio', command, args, era: 'modern' } } })
  const { events, destroy } = await listen(taskClient(url), ['a'])
  const message = inOrder(events)
  t.match(await message(), { params: { notifications: { taskIds: ['a'] } } })
  subscription!.notify('notifications/tasks', { taskId: 'a', status: 'working', ...meta(subscription!) })
  t.match(await message(), { method: 'notifications/tasks', params: { taskId: 'a', status: 'working', ...tag } })
  destroy()
  await subscription!.cancelled
})

t.test('when the backend stops telling before the tasks are over, the subscription ends', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  const opening = nextStream(server)
  const listening = listen(taskClient(url), ['a'])
  const stream = await opening
  stream.acknowledge()
  const { events } = await listening
  const message = inOrder(events)
  await message()
  stream.end()
  t.match(await message(), { id: 'l', result: { resultType: 'complete' } })
})

t.test('when it stops because they are over, what else is listened to goes on', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  const opening = nextStream(server)
  const listening = listen(taskClient(url), ['a'])
  const stream = await opening
  stream.acknowledge()
  const { events, destroy } = await listening
  const message = inOrder(events)
  await message()
  stream.tell({ taskId: 'a', status: 'failed', error: { code: -32603, message: 'x' } })
  t.match(await message(), { params: { status: 'failed' } })
  stream.end()
  await until('the backend is not listened to any more', () => stream.gone)
  let ended = false
  void events.whole().then(() => {
    ended = true
  })
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(ended)
  destroy()
})

t.test('a filter of tasks that is none is refused', async t => {
  const server = await startTaskServer(t)
  const { url } = await startGateway(t, { backends: { jobs: { kind: 'http', url: server.url } } })
  for (const taskIds of ['a', [1], Array.from({ length: 1_001 }, (_, i) => String(i))]) {
    const { status, json } = await listen(taskClient(url), taskIds)
    t.equal(status, 400)
    t.equal(json.error.code, -32602)
  }
})

for (const worker of [false, true]) {
  t.test(
    `handlers ${worker ? 'in a thread of their own' : 'of this process'}: calls become tasks, whose status is told`,
    async t => {
      const path = fileURLToPath(new URL('../fixtures/conformance/module-tasks-handler.ts', import.meta.url))
      const { url } = await startGateway(
        t,
        { backends: { own: { kind: 'module', path, worker }, other: { kind: 'module', path, worker } } },
        undefined,
        byToken
      )
      const client = taskClient(url)
      const alice = { headers: { authorization: 'alice' } }
      const { result: tools } = await lastOf(await client.request('tools/list', {}, alice))
      t.notMatch(JSON.stringify(tools), 'taskSupport')
      const { result } = await lastOf(await client.call('own_confirm_delete', { filename: 'x' }, alice))
      t.match(result, { resultType: 'task', taskId: /^own~/ })
      const { taskId } = result
      await taskIn(client, taskId, 'input_required', alice.headers)

      const foreign = await listen(client, [taskId], { authorization: 'bob' })
      t.match((await foreign.events.whole()).messages[0], { params: { notifications: { taskIds: undefined } } })
      const { events, destroy } = await listen(client, [taskId], alice.headers)
      const message = inOrder(events)
      t.match(await message(), { params: { notifications: { taskIds: [taskId] }, ...tag } })
      t.match(await message(), { params: { taskId, status: 'input_required', ...tag } })
      const { inputRequests } = await taskIn(client, taskId, 'input_required', alice.headers)
      const [key = ''] = Object.keys(inputRequests)
      const inputResponses = { [key]: { action: 'accept', content: { confirm: true } } }
      t.match((await lastOf(await client.request('tasks/update', { taskId, inputResponses }, alice))).result, {
        resultType: 'complete'
      })
      t.match(await message(), { params: { taskId, status: 'working' } })
      t.match(await message(), {
        params: { taskId, status: 'completed', result: { content: [{ text: 'deleted x' }] } }
      })
      destroy()

      const asking = await lastOf(await client.call('own_test_tool_with_task', {}, alice))
      t.match(asking.result, { resultType: 'input_required', inputRequests: { user_name: {} }, taskId: undefined })
      const answered = {
        name: 'own_test_tool_with_task',
        arguments: {},
        requestState: asking.result.requestState,
        inputResponses: { user_name: { action: 'accept', content: { name: 'Alice' } } }
      }
      const begun = await lastOf(await client.request('tools/call', answered, alice))
      t.match(begun.result, { resultType: 'task', requestState: undefined })
      t.match(await taskIn(client, begun.result.taskId, 'completed', alice.headers), {
        result: { content: [{ text: 'Hello, Alice!' }] }
      })
    }
  )
}
