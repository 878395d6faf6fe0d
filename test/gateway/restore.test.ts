import t, { type Test } from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { listChanges } from '../../src/gateway/list-changed.ts'
import { restore } from '../../src/gateway/restore.ts'
import { value } from '../../src/protocol/write.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import type { SessionRecord } from '../../src/sessions/session.ts'
import { facts, type NoticeFact } from '../../src/telemetry/events.ts'
import { FakeBackend, FakeLink, liveOf, messageOf, settled } from '../helpers/fake-backend.ts'

interface Scene {
  readonly link: FakeLink
  readonly received: any[]
  readonly posted: (readonly [Live, string])[]
  readonly notices: NoticeFact[]
  /** Restores; resolves when that is over. */
  run(...records: Partial<SessionRecord>[]): Promise<void>
}

function scene(t: Test, capabilities: Record<string, unknown>, shared = false): Scene {
  const link = new FakeLink({} as never, undefined, capabilities)
  const backend = new FakeBackend(shared ? 'shared' : 'session')
  const received: any[] = []
  const posted: (readonly [Live, string])[] = []
  const notices: NoticeFact[] = []
  t.teardown(facts.notice.subscribe(fact => void notices.push(fact)))
  return {
    link,
    received,
    posted,
    notices,
    run: (...records) =>
      restore(link, backend, new Set(records.map(record => liveOf(record))), {
        changed(link, _backend, users) {
          for (const { method } of listChanges(link.server)) for (const live of users) posted.push([live, method!])
        },
        receive: message => void received.push(value(message)),
        patienceMs: 500
      })
  }
}

const requestsOf = (link: FakeLink): unknown[] =>
  link.exchanges.map(({ request }) => {
    const { method, params } = value(request)
    return [method, params]
  })

t.test('level and subscriptions are set again, then the clients are told to look again', async t => {
  const { link, posted, run } = scene(t, { logging: {}, tools: { listChanged: true } })
  const restored = run({ level: 'error', subscriptions: ['x:1', 'x:2'] })
  t.same(requestsOf(link), [
    ['logging/setLevel', { level: 'error' }],
    ['resources/subscribe', { uri: 'x:1' }],
    ['resources/subscribe', { uri: 'x:2' }]
  ])
  for (const exchange of link.exchanges.slice(1)) exchange.answer()
  await settled()
  t.same(posted, [], 'not before all of it is set')
  link.exchanges[0]!.answer()
  await restored
  t.same(
    posted.map(([, method]) => method),
    ['notifications/tools/list_changed']
  )
})

t.test('a shared link gets the lowest level and every subscription once; each session is told', async t => {
  const { link, posted, run } = scene(t, { logging: {}, tools: { listChanged: true } }, true)
  link.answers = exchange => exchange.answer()
  await run({ level: 'error', subscriptions: ['x:1'] }, { subscriptions: ['x:1', 'x:2'] }, {})
  t.same(requestsOf(link), [
    ['logging/setLevel', { level: 'warning' }],
    ['resources/subscribe', { uri: 'x:1' }],
    ['resources/subscribe', { uri: 'x:2' }]
  ])
  t.equal(new Set(posted.map(([live]) => live)).size, 3)
})

t.test('what nobody set is not set, nor a level where there is no logging any more', async t => {
  const { link, run } = scene(t, { logging: {} })
  await run({})
  t.same(requestsOf(link), [])
  const silent = scene(t, {})
  await silent.run({ level: 'debug' })
  t.same(requestsOf(silent.link), [])
})

t.test('what the upstream says meanwhile is received like anything else', async t => {
  const { link, received, run } = scene(t, {})
  link.answers = exchange => {
    exchange.say({ id: 'up', method: 'roots/list' })
    exchange.say({ method: 'notifications/message', params: { level: 'info' } })
    exchange.answer()
  }
  await run({ subscriptions: ['x:1'] })
  t.match(received, [{ id: 'up', method: 'roots/list' }, { method: 'notifications/message' }])
})

t.test('refusals, failures and silence are told to the operator and hold nothing up', async t => {
  const { link, notices, posted, run } = scene(t, { logging: {}, tools: { listChanged: true } })
  link.answers = exchange => {
    const { params } = value(exchange.request) as { params: { uri?: string } }
    if (params.uri === 'x:refused') exchange.queue.finish(refusal)
    if (params.uri === 'x:failed') exchange.queue.fail(new Error('broke') as never)
  }
  await run({ level: 'info', subscriptions: ['x:refused', 'x:failed'] })
  t.match(notices, [
    { level: 'warn', text: /subscribe could not be said again/, error: Error },
    { level: 'warn', text: /subscribe/, error: /no such/ },
    { level: 'warn', text: /setLevel/, backend: 'fake' }
  ])
  t.same(link.exchanges[0]!.told, ['cancel took too long'])
  t.equal(posted.length, 1)
})

t.test('what broke on its way is said once more, and again, before it is given up (NTF-03)', async t => {
  const { link, notices, run } = scene(t, {})
  const tries = new Map<string, number>()
  link.answers = exchange => {
    const { uri } = (value(exchange.request) as { params: { uri: string } }).params
    const before = tries.get(uri) ?? 0
    tries.set(uri, before + 1)
    if (uri === 'x:never' || before < 2) exchange.queue.fail(new GatewayError('backend_broke', 'broke'))
    else exchange.queue.finish(messageOf({ id: 0, result: {} }))
  }
  await run({ subscriptions: ['x:twice', 'x:never'] })
  t.same(Object.fromEntries(tries), { 'x:twice': 3, 'x:never': 3 })
  t.match(notices, [{ level: 'warn', text: /subscribe could not be said again/, error: { message: 'broke' } }])
  t.equal(notices.length, 1)
})

const refusal = messageOf({ id: 0, error: { code: -32002, message: 'no such' } })
