import t, { type Test } from 'tap'
import { Asked, type AskedOptions, type Asker } from '../../src/exchanges/asked.ts'
import { withMember } from '../../src/protocol/edit.ts'
import { value } from '../../src/protocol/write.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import { FakeLink, liveOf, messageOf } from '../helpers/fake-backend.ts'
import { Timers } from '../helpers/timers.ts'

class Waiting implements Asker {
  open = 0
  readonly told: any[] = []
  asked(): void {
    this.open++
  }
  answered(): void {
    this.open--
  }
  tell(message: Parameters<Asker['tell']>[0]): void {
    this.told.push(value(message))
  }
}

interface Scene {
  readonly asked: Asked
  readonly live: Live
  readonly link: FakeLink
  readonly asker: Waiting
  readonly timers: Timers
  /** The label of a new ask. */
  ask(id?: string | number, method?: string): string
  answer(label: string, live?: Live): 'forwarded' | 'late' | 'unknown'
}

function scene(t: Test, options: Partial<AskedOptions> = {}): Scene {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const asked = new Asked({ timeoutMs: 1_000, ...options })
  const live = liveOf()
  const link = linkOf()
  const asker = new Waiting()
  return {
    asked,
    live,
    link,
    asker,
    timers,
    ask: (id = 'up', method = 'roots/list') =>
      JSON.parse(asked.ask(messageOf({ id, method }), live, link, asker)!.id!) as string,
    answer: (label, from = live) => asked.answer(messageOf({ id: label, result: { n: 1 } }), from)
  }
}

const linkOf = (): FakeLink => new FakeLink({} as never, undefined, {})

t.test('ids are unguessable, and unique whoever is asked', async t => {
  const { asked, live, link, asker, ask } = scene(t)
  const labels = Array.from({ length: 50 }, () => ask())
  labels.push(JSON.parse(asked.ask(messageOf({ id: 1, method: 'x' }), liveOf(), link, asker)!.id!))
  t.equal(new Set(labels).size, 51)
  t.equal(new Set(labels.map(label => label.split('.')[1])).size, 51)
  t.ok(labels.every(label => /^[0-9a-z]+\.[\w-]{22}$/.test(label)))
  t.equal(asked.size, 51)
  const other = scene(t)
  t.not(other.ask(), labels[0], 'each instance has its own key')
  t.equal(asked.pending(labels[0]!), true)
  asked.forget(live)
  t.equal(asked.size, 1)
  asked.close()
  t.equal(asked.size, 0)
})

t.test('an answer goes to the upstream once, under its own id; later ones are late', async t => {
  const { asked, link, asker, timers, ask, answer } = scene(t)
  const label = ask(9007199254740992)
  t.equal(asker.open, 1)
  t.equal(answer(label), 'forwarded')
  t.equal(answer(label), 'late')
  t.same(link.sent, [{ jsonrpc: '2.0', id: 9007199254740992, result: { n: 1 } }])
  t.equal(asker.open, 0)
  t.equal(timers.count, 0)
  t.equal(asked.pending(label), false)
})

t.test('whoever was not asked that is told so', async t => {
  const { asked, live, ask, answer } = scene(t)
  const label = ask()
  const [count, code] = label.split('.')
  t.equal(answer(label, liveOf()), 'unknown', 'another session')
  t.equal(answer(`${count}x.${code}`), 'unknown')
  t.equal(answer(`${count}.${code!.slice(1)}A`), 'unknown')
  t.equal(answer(''), 'unknown')
  t.equal(answer('.'), 'unknown')
  t.equal(asked.answer(messageOf({ id: 1, result: {} }), live), 'unknown')
  t.equal(asked.answer(messageOf({ error: { code: 1, message: 'no id' } }), live), 'unknown')
  t.equal(answer(label), 'forwarded')
  t.equal(answer(label, liveOf()), 'unknown', 'late is for those who were asked')
})

t.test('answers may be adapted to the upstream', async t => {
  const { ask, answer, link } = scene(t, {
    adapt: (answer, method, { server }) => withMember(answer, 'seen', JSON.stringify([method, server.version]))
  })
  t.equal(answer(ask('up', 'sampling/createMessage')), 'forwarded')
  t.match(link.sent, [{ id: 'up', seen: ['sampling/createMessage', '2025-11-25'] }])
})

t.test('after the time is up the upstream gets an error, the client is told', async t => {
  const { link, asker, timers, ask, answer } = scene(t)
  const label = ask()
  timers.advance(999)
  t.equal(asker.open, 1)
  timers.advance(1)
  t.match(link.sent, [{ id: 'up', error: { code: -32603, data: { reason: 'input_timeout' } } }])
  t.match(asker.told, [{ method: 'notifications/cancelled', params: { requestId: label, reason: String } }])
  t.equal(asker.open, 0)
  t.equal(answer(label), 'late')
  t.equal(link.sent.length, 1)
})

t.test('the upstream takes a request back, by its id and its type', async t => {
  const { asked, live, link, asker, ask, answer } = scene(t)
  const labels = [ask(1), ask('1'), ask('\u0041')]
  const cancelled = (requestId: unknown, of = link, from = live): void =>
    asked.cancelled(messageOf({ method: 'notifications/cancelled', params: { requestId, x: 1 } }), from, of)
  cancelled(2)
  cancelled('1', linkOf())
  cancelled('1', link, liveOf())
  asked.cancelled(messageOf({ method: 'notifications/cancelled' }), live, link)
  asked.cancelled(messageOf({ method: 'notifications/cancelled', params: {} }), live, link)
  t.same(asker.told, [])
  cancelled('1')
  asked.cancelled(
    messageOf('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\\u0041"}}'),
    live,
    link
  )
  t.match(asker.told, [{ params: { requestId: labels[1], x: 1 } }, { params: { requestId: labels[2] } }])
  t.same(
    labels.map(label => answer(label)),
    ['forwarded', 'late', 'late']
  )
  t.equal(asker.open, 0)
})

t.test('a call that is given up takes its asks along, and no others', async t => {
  const { asked, live, link, asker, ask } = scene(t)
  const label = ask('mine')
  const other = new Waiting()
  asked.ask(messageOf({ id: 'other', method: 'x' }), live, link, other)
  asked.drop(asker, live)
  t.match(link.sent, [{ id: 'mine', error: { code: -32603, data: { reason: 'cancelled' } } }])
  t.match(asker.told, [{ params: { requestId: label } }])
  t.equal(other.open, 1)
  asked.close()
})

t.test('a link that is lost ends its asks: the client is told, nothing is sent', async t => {
  const { asked, live, link, asker, ask, answer } = scene(t)
  const label = ask()
  const stays = linkOf()
  asked.ask(messageOf({ id: 'stays', method: 'x' }), live, stays, asker)
  asked.lost(live, link)
  asked.lost(liveOf(), stays)
  t.same(link.sent, [])
  t.match(asker.told, [{ method: 'notifications/cancelled', params: { requestId: label } }])
  t.equal(answer(label), 'late')
  t.equal(asker.open, 1)
  asked.close()
})

t.test('a session that ends is told nothing, and leaves no timer', async t => {
  const { asked, live, link, asker, timers, ask } = scene(t)
  ask()
  ask()
  asked.forget(live)
  t.same(link.sent, [])
  t.same(asker.told, [])
  t.equal(asker.open, 0)
  t.equal(timers.count, 0)
})

t.test('a session has 256 asks open at most', async t => {
  const { asked, live, link, asker, ask, answer } = scene(t)
  const labels = Array.from({ length: 256 }, (_, i) => ask(i))
  const more = (): unknown => asked.ask(messageOf({ id: 'more', method: 'x' }), live, link, asker)
  t.equal(more(), undefined)
  t.equal(asker.open, 256)
  answer(labels[0]!)
  t.ok(more())
  asked.close()
})

t.test('an upstream that cannot be reached any more harms nobody', async t => {
  const { ask, answer, link, timers } = scene(t)
  link.send = () => Promise.reject(new Error('gone'))
  t.equal(answer(ask()), 'forwarded')
  ask()
  timers.advance(2_000)
  await new Promise(resolve => setImmediate(resolve))
})

t.test('progress of the client goes to the one upstream of several that waits for it, by its own token', async t => {
  const { asked, live, link, asker } = scene(t, { several: () => true })
  const other = linkOf()
  const ask = (of: FakeLink, token: unknown, more: object = {}): any =>
    value(
      asked.ask(
        messageOf({ id: 1, method: 'sampling/createMessage', params: { _meta: { progressToken: token }, ...more } }),
        live,
        of,
        asker
      )!
    )
  const tell = (progressToken: unknown, from = live): void =>
    asked.progressed(messageOf({ method: 'notifications/progress', params: { progressToken, progress: 1 } }), from)
  const [one, two, task] = [ask(link, 7), ask(other, 7), ask(other, '', { task: {} })]
  const tokens = [one, two, task].map(({ params }) => params._meta.progressToken)
  t.equal(new Set(tokens).size, 3)
  for (const token of tokens) tell(token)
  const seen = (of: FakeLink): unknown[] => of.sent.flatMap(({ params }) => (params ? [params.progressToken] : []))
  t.same(seen(link), [7])
  t.same(seen(other), [7, ''])
  tell(7)
  tell(tokens[0], liveOf())
  t.equal(link.sent.length, 1, 'a token of nobody, or of another session, reaches nobody')
  for (const { id } of [one, two, task]) asked.answer(messageOf({ id, result: {} }), live)
  for (const token of tokens) tell(token)
  t.same(seen(link), [7], 'over with the answer')
  t.same(seen(other), [7, '', ''], 'that of a task goes on')
  asked.lost(live, other)
  tell(tokens[2])
  t.equal(seen(other).length, 3, 'until the link is over')
})

t.test('tokens of tasks are kept for the latest 256, and no longer than their session', async t => {
  const { asked, live, link, asker } = scene(t, { several: () => true })
  const request = messageOf({ id: 1, method: 'x', params: { task: {}, _meta: { progressToken: 1 } } })
  const labels = Array.from({ length: 257 }, () => {
    const { id } = value(asked.ask(request, live, link, asker)!)
    asked.answer(messageOf({ id: id as string, result: {} }), live)
    return id
  })
  link.sent.length = 0
  const tell = (progressToken: unknown): void =>
    asked.progressed(messageOf({ method: 'notifications/progress', params: { progressToken } }), live)
  tell(labels[0])
  t.equal(link.sent.length, 0)
  tell(labels[1])
  t.equal(link.sent.length, 1)
  asked.forget(live)
  tell(labels[2])
  t.equal(link.sent.length, 1)
})

t.test('with one upstream its tokens are seen as they are, and what is no token too', async t => {
  const { asked, live, link, asker } = scene(t)
  const params = { _meta: { progressToken: 7 } }
  t.same(value(asked.ask(messageOf({ id: 1, method: 'x', params }), live, link, asker)!).params, params)
  const { asked: both } = scene(t, { several: () => true })
  const odd = { _meta: { progressToken: null } }
  t.same(value(both.ask(messageOf({ id: 1, method: 'x', params: odd }), live, link, asker)!).params, odd)
})
