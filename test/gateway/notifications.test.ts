import t from 'tap'
import type { Running } from '../../src/exchanges/running.ts'
import type { Context } from '../../src/gateway/context.ts'
import { Linked } from '../../src/gateway/linked.ts'
import { notified } from '../../src/gateway/notifications.ts'
import { taskView } from '../../src/gateway/task-view.ts'
import { Links } from '../../src/links/links.ts'
import type { Message } from '../../src/protocol/message.ts'
import { facts } from '../../src/telemetry/events.ts'
import { FakeBackend, type FakeLink, liveOf, messageOf, settled, updates } from '../helpers/fake-backend.ts'

function scene(t: { teardown(handler: () => void): void }, several = false) {
  const live = liveOf({ operating: false })
  const links = new Links({
    sessions: updates,
    self: live.record.client,
    receive: () => {},
    lost: () => {},
    reopened: async () => {}
  })
  const cancelled: unknown[] = []
  const ready: unknown[] = []
  const told: string[] = []
  t.teardown(facts.drop.subscribe(({ reason }) => void told.push(reason)))
  t.teardown(facts.notice.subscribe(({ text }) => void told.push(text)))
  const context = {
    sessions: updates,
    links,
    several: () => several,
    tasks: taskView(() => several, new Linked()),
    asked: { progressed: (notice: Message) => void told.push(String(notice.method)) },
    channels: { operating: (of: unknown) => void ready.push(of) },
    inFlight: {
      find: (_live: unknown, id: string) =>
        id === '1' ? ({ cancel: (reason?: string) => void cancelled.push(reason) } as unknown as Running) : undefined
    }
  } as unknown as Context
  return {
    live,
    links,
    cancelled,
    ready,
    told,
    say: (message: object) => notified(messageOf(message), live, context),
    async open(backend: FakeBackend): Promise<FakeLink> {
      const opened = links.get(live, backend)
      backend.last.succeed()
      return (await opened) as FakeLink
    }
  }
}

t.test('initialized moves the session on, once; the upstream was told when its link was opened', async t => {
  const { live, ready, say, open } = scene(t)
  const link = await open(new FakeBackend())
  await say({ method: 'notifications/initialized' })
  await say({ method: 'notifications/initialized' })
  t.equal(live.record.operating, true)
  t.same(ready, [live])
  t.same(link.sent, [])
})

t.test('cancelled finds its call, by an id as it was written; whatever it does not find is ignored (R102)', async t => {
  const { cancelled, say } = scene(t)
  for (const params of [{}, { requestId: '1' }, { requestId: 2 }, { requestId: null }]) {
    await say({ method: 'notifications/cancelled', params })
  }
  await say({ method: 'notifications/cancelled' })
  t.same(cancelled, [])
  await say({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'r' } })
  await say({ method: 'notifications/cancelled', params: { requestId: 1, reason: 5 } })
  t.same(cancelled, ['r', undefined])
})

t.test('others go to the upstreams of the session, not to those that it shares (R111)', async t => {
  const { say, open } = scene(t)
  const [own, shared] = [await open(new FakeBackend()), await open(new FakeBackend('shared'))]
  await say({ method: 'notifications/roots/list_changed' })
  await say({ method: 'notifications/progress', params: { progressToken: 1, progress: 2 } })
  t.match(own.sent, [{ method: 'notifications/roots/list_changed' }, { method: 'notifications/progress' }])
  t.same(shared.sent, [])
})

t.test('a request without an id is not executed (RPC-05)', async t => {
  const { told, say, open } = scene(t)
  const link = await open(new FakeBackend())
  for (const method of ['tools/call', 'initialize', 'x/vendor']) await say({ method })
  t.same(link.sent, [])
  t.same(told, ['request_without_id', 'request_without_id', 'request_without_id'])
})

t.test('an upstream that does not take it harms nobody', async t => {
  const { told, say, open } = scene(t)
  const link = await open(new FakeBackend())
  link.send = () => Promise.reject(new Error('gone'))
  await say({ method: 'notifications/roots/list_changed' })
  await settled()
  t.same(told, ['a notification did not reach the backend'])
})

t.test(
  "of several backends the one whose task it is hears of it, by its own id; what is nobody's task goes to all",
  async t => {
    const { say, open } = scene(t, true)
    const [one, two] = [await open(new FakeBackend()), await open(new FakeBackend('session', 'other'))]
    const about = (taskId: string): object => ({
      method: 'notifications/x',
      params: { _meta: { 'io.modelcontextprotocol/related-task': { taskId } } }
    })
    await say(about('nobody~1'))
    t.same(
      [one.sent, two.sent].map(sent => sent.length),
      [1, 1]
    )
  }
)

t.test('of several backends the one that asked hears of the progress of its request', async t => {
  const { say, open, told } = scene(t, true)
  const link = await open(new FakeBackend())
  await say({ method: 'notifications/progress', params: { progressToken: 'x', progress: 1 } })
  t.same(told, ['notifications/progress'])
  t.same(link.sent, [])
})
