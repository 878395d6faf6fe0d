import t, { type Test } from 'tap'
import { Asked } from '../../src/exchanges/asked.ts'
import { InFlight } from '../../src/exchanges/in-flight.ts'
import type { Running } from '../../src/exchanges/running.ts'
import { Linked } from '../../src/gateway/linked.ts'
import { isFor, receive } from '../../src/gateway/receive.ts'
import { taskView } from '../../src/gateway/task-view.ts'
import { value } from '../../src/protocol/write.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import { FakeBackend, FakeLink, liveOf, messageOf, settled } from '../helpers/fake-backend.ts'

/** A call as far as asks go. */
class Call {
  readonly live: Live
  readonly backend: FakeBackend
  readonly request: ReturnType<typeof messageOf>
  readonly told: any[] = []
  streamable = true
  over = false
  standing = 0
  constructor(live: Live, backend: FakeBackend, request: object = { id: 1, method: 'tools/call' }) {
    this.live = live
    this.backend = backend
    this.request = messageOf(request)
  }
  asked(): void {
    this.standing++
  }
  answered(): void {
    this.standing--
  }
  tell(message: ReturnType<typeof messageOf>): void {
    this.told.push(value(message))
  }
}

function scene(t: Test, scope: 'session' | 'shared' = 'session', several = false) {
  const asked = new Asked({ timeoutMs: 10_000 })
  t.teardown(() => asked.close())
  const inFlight = new InFlight()
  const backend = new FakeBackend(scope)
  const link = new FakeLink({} as never, undefined, {})
  const live = liveOf({ client: { version: '2025-11-25', capabilities: '{"roots":{},"sampling":{}}', info: '{}' } })
  const users = new Set([live])
  const posted: (readonly [Live, any])[] = []
  let open = false
  return {
    asked,
    backend,
    link,
    live,
    users,
    posted,
    call(request?: object): Call {
      const call = new Call(live, backend, request)
      inFlight.add(call as unknown as Running)
      return call
    },
    /** The session's GET stream is open from now on. */
    listen(): void {
      open = true
    },
    say: (message: object): void =>
      receive(messageOf(message), link, backend, users, {
        asked,
        inFlight,
        channels: {
          isOpen: () => open,
          post: async (to, message) => {
            posted.push([to, value(message)])
            return true
          }
        },
        listens: { tell: (to, message) => void posted.push([to, value(message)]) },
        tasks: taskView(() => several, new Linked()),
        beside: () => false,
        unions: { of: () => undefined, heard: () => {} }
      })
  }
}

const ask = { id: 'up', method: 'roots/list' }

t.test('notifications go to every session of the link, each by its level and its subscriptions', async t => {
  const { say, users, posted } = scene(t, 'shared')
  const loud = liveOf({ level: 'debug' })
  const subscribed = liveOf({ subscriptions: ['x:1'] })
  users.add(loud)
  users.add(subscribed)
  say({ method: 'notifications/tools/list_changed' })
  t.equal(posted.length, 3)
  say({ method: 'notifications/message', params: { level: 'info', data: 1 } })
  t.same(
    posted.slice(3).map(([to]) => to),
    [loud]
  )
  say({ method: 'notifications/resources/updated', params: { uri: 'x:1/part' } })
  t.same(
    posted.slice(4).map(([to]) => to),
    [subscribed]
  )
})

t.test('an unshared upstream is filtered by the level alone', async t => {
  const { backend, live } = scene(t)
  const log = messageOf({ method: 'notifications/message', params: { level: 'info' } })
  const updated = messageOf({ method: 'notifications/resources/updated', params: { uri: 'x' } })
  t.ok(isFor(log, live, backend))
  t.ok(isFor(updated, live, backend))
  t.notOk(isFor(log, liveOf({ level: 'error' }), backend))
  t.ok(
    isFor(messageOf({ method: 'notifications/message' }), liveOf({ level: 'error' }), backend),
    'no level: not judged'
  )
})

t.test('a request goes to the channel while it is open, else to the oldest call that can carry it', async t => {
  const { say, call, listen, posted } = scene(t)
  const [json, over, oldest, newer] = [call(), call(), call(), call()] as [Call, Call, Call, Call]
  json.streamable = false
  over.over = true
  say(ask)
  t.match(oldest.told, [{ method: 'roots/list', id: String }])
  listen()
  say({ ...ask, id: 'second' })
  t.match(posted, [[Object, { method: 'roots/list' }]])
  t.same(
    [json, newer].flatMap(({ told }) => told),
    []
  )
})

const relatedTo = (taskId: string): object => ({ _meta: { 'io.modelcontextprotocol/related-task': { taskId } } })

t.test('R121: of two backends with the same task id, a request goes to the call of its own task', async t => {
  const { say, call } = scene(t, 'session', true)
  const elsewhere = call({ id: 1, method: 'tasks/result', params: { taskId: '7' } })
  Object.assign(elsewhere, { backend: new FakeBackend('session', 'other') })
  const [older, mine] = [call(), call({ id: 1, method: 'tasks/result', params: { taskId: '7' } })]
  say({ ...ask, params: relatedTo('7') })
  t.match(mine.told, [{ method: 'roots/list', params: relatedTo('fake~7') }], 'by its handle')
  t.same(older.told, [])
  t.same(elsewhere.told, [])
  say({ method: 'notifications/cancelled', params: { requestId: 'up', ...relatedTo('7') } })
  t.match(mine.told[1], {
    method: 'notifications/cancelled',
    params: { requestId: mine.told[0].id, ...relatedTo('fake~7') }
  })
})

t.test('a request of a backend without calls goes to the oldest call of another, rather than nowhere', async t => {
  const { say, call, posted } = scene(t)
  const elsewhere = call()
  Object.assign(elsewhere, { backend: new FakeBackend('session', 'other') })
  say(ask)
  t.equal(elsewhere.told.length, 1)
  t.same(posted, [])
  const mine = call()
  say({ ...ask, id: 'second' })
  t.equal(mine.told.length, 1, 'one of its own is nearer')
})

t.test('R121: notices of status have handles where several backends are served, and only there', async t => {
  for (const several of [true, false]) {
    const { say, posted } = scene(t, 'session', several)
    say({ method: 'notifications/tasks/status', params: { taskId: '7', status: 'working' } })
    t.match(posted[0]![1].params, { taskId: several ? 'fake~7' : '7' })
  }
})

t.test('without a call it is kept for the channel', async t => {
  const { say, posted, asked, live, link } = scene(t)
  say(ask)
  t.equal(posted.length, 1)
  t.equal(asked.answer(messageOf({ id: posted[0]![1].id, result: { roots: [] } }), live), 'forwarded')
  t.same(link.sent, [{ jsonrpc: '2.0', id: 'up', result: { roots: [] } }])
})

t.test('while it is open every call of the session at that backend stands still: it may be any of them', async t => {
  const { say, call, asked, live, posted, listen } = scene(t)
  const calls = [call(), call()]
  const elsewhere = call()
  Object.assign(elsewhere, { backend: new FakeBackend('session', 'other') })
  listen()
  say(ask)
  t.same(
    calls.map(({ standing }) => standing),
    [1, 1]
  )
  t.equal(elsewhere.standing, 0)
  asked.answer(messageOf({ id: posted[0]![1].id, result: {} }), live)
  t.same(
    calls.map(({ standing }) => standing),
    [0, 0]
  )
})

t.test('a request of a task goes to who waits for its result', async t => {
  const { say, call, listen } = scene(t)
  call()
  const waits = call({ id: 2, method: 'tasks/result', params: { taskId: 't1' } })
  listen()
  const related = (taskId: unknown) => ({
    ...ask,
    params: { _meta: { 'io.modelcontextprotocol/related-task': { taskId } } }
  })
  say(related('t1'))
  t.match(waits.told, [{ method: 'roots/list' }])
  for (const other of ['t2', 1, null]) say(related(other))
  say({ ...ask, params: { _meta: { 'io.modelcontextprotocol/related-task': null } } })
  t.equal(waits.told.length, 1)
})

t.test('what may not be asked is refused', async t => {
  const { say, link, asked, users, live } = scene(t)
  say({ id: 1, method: 'elicitation/create' })
  say({ id: 2, method: 'sampling/createMessage', params: { tools: [] } })
  users.clear()
  say({ id: 3, method: 'roots/list' })
  users.add(liveOf(live.record, { ephemeral: true }))
  say({ id: 4, method: 'roots/list' })
  users.clear()
  users.add(liveOf({ client: { version: '2025-06-18', capabilities: '{"sampling":{}}', info: '{}' } }))
  say({ id: 5, method: 'sampling/createMessage', params: { messages: [{ role: 'user', content: [{}, {}] }] } })
  await settled()
  t.match(link.sent, [
    { id: 1, error: { code: -32601 } },
    { id: 2, error: { code: -32602 } },
    { id: 3, error: { code: -32601 } },
    { id: 4, error: { code: -32601 } },
    { id: 5, error: { code: -32602 } }
  ])
  t.equal(asked.size, 0)
  const shared = scene(t, 'shared')
  shared.say(ask)
  t.match(shared.link.sent, [{ id: 'up', error: { code: -32601, message: /shared/ } }])
})

t.test('more than a session may have open is refused', async t => {
  const { say, link, asked } = scene(t)
  for (let i = 0; i < 260; i++) say({ ...ask, id: i })
  t.equal(asked.size, 256)
  t.equal(link.sent.length, 4)
  t.match(link.sent[0], { id: 256, error: { code: -32603 } })
})

t.test('the upstream takes a request back', async t => {
  const { say, posted, asked } = scene(t)
  say(ask)
  say({ method: 'notifications/cancelled', params: { requestId: 'up' } })
  t.match(posted[1]![1], { method: 'notifications/cancelled', params: { requestId: posted[0]![1].id } })
  t.equal(asked.size, 0)
  say({ method: 'notifications/cancelled', params: { requestId: 'up' } })
  t.equal(posted.length, 2)
})

t.test('R126: of several backends one gets no list of the tasks that the client runs', async t => {
  for (const several of [true, false]) {
    const { say, posted, link } = scene(t, 'session', several)
    say({ id: 'up', method: 'tasks/list' })
    t.match(link.sent, several ? [{ id: 'up', error: { code: -32601 } }] : [])
    t.equal(posted.length, several ? 0 : 1)
  }
})
