import t from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { Links, type LinksOptions } from '../../src/links/links.ts'
import { value } from '../../src/protocol/write.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import { FakeBackend, liveOf, messageOf, settled, updates } from '../helpers/fake-backend.ts'
import { usedBytes } from '../helpers/memory.ts'

const self = { version: '2025-11-25', capabilities: '{}', info: '{"name":"gateway","version":"1"}' }

interface Told {
  readonly received: any[]
  readonly lost: Live[]
  readonly reopened: number[]
}

function linksOf(options: Partial<LinksOptions> = {}): Links & { told: Told } {
  const told: Told = { received: [], lost: [], reopened: [] }
  const links = new Links({
    sessions: updates,
    self,
    receive: (message, _link, _backend, users) => told.received.push([value(message).method, users.size]),
    lost: (_link, live) => void told.lost.push(live),
    reopened: async (_link, _backend, users) => void told.reopened.push(users.size),
    ...options
  })
  return Object.assign(links, { told })
}

const notice = messageOf({ method: 'notifications/x' })

t.test('a link is opened once, however many ask, and is then ready', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  const live = liveOf()
  t.equal(links.ready(live, backend), undefined)
  const asked = [links.get(live, backend), links.get(live, backend)]
  t.equal(backend.openings.length, 1)
  const link = backend.last.succeed()
  t.same(new Set(await Promise.all(asked)), new Set([link]))
  t.equal(links.ready(live, backend), link)
  t.equal(await links.get(live, backend), link)
  t.same([...links.of(live)], [{ link, backend }])
  t.same(backend.last.options.client, live.record.client)
  t.same(backend.last.options.principal, { key: 'anonymous' })
})

t.test('each session has its own; sessions of a shared backend have one, which knows of no client', async t => {
  const links = linksOf()
  const [own, shared] = [new FakeBackend(), new FakeBackend('shared')]
  own.eager = true
  shared.eager = true
  const lives = [liveOf(), liveOf(), liveOf()]
  for (const live of lives) for (const backend of [own, shared]) await links.get(live, backend)
  t.equal(own.openings.length, 3)
  t.equal(shared.openings.length, 1)
  t.equal(shared.last.options.client, self)
  t.same([...links.users(lives[0]!, shared)], lives)
  t.same([...links.users(lives[0]!, own)], [lives[0]])
  t.same([...links.users(liveOf(), own)], [])
  t.equal(links.ready(liveOf(), shared), undefined, 'a stranger is no user of it')
})

t.test('an opening that fails is told to all who wait; the next one tries again', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  const live = liveOf()
  const asked = [links.get(live, backend), links.get(live, backend)]
  backend.last.fail()
  for (const one of asked) await t.rejects(one, { code: 'backend_unavailable' })
  const again = links.get(live, backend)
  t.equal(backend.openings.length, 2)
  const link = backend.last.succeed()
  t.equal(await again, link)
})

t.test('what another instance needs goes into the record, and is what it opens with', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  const live = liveOf()
  const opened = links.get(live, backend)
  backend.last.succeed('S1')
  await opened
  t.same(live.record.links, { 'fake session': 'S1' })
  const elsewhere = linksOf()
  const reopened = elsewhere.get(liveOf({ links: live.record.links }), backend)
  t.equal(backend.last.options.state, 'S1')
  backend.last.succeed()
  await reopened
  t.same(elsewhere.told.reopened, [], 'nothing was lost')
})

t.test('a record that cannot be written does not stop the call', async t => {
  const links = linksOf({ sessions: { update: () => Promise.reject(new Error('no store')) } })
  const backend = new FakeBackend()
  const opened = links.get(liveOf(), backend)
  const link = backend.last.succeed('S1')
  t.equal(await opened, link)
})

t.test('a session that is over opens nothing', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  await t.rejects(links.get(liveOf({}, { closed: true }), backend), { code: 'session' })
  t.equal(backend.openings.length, 0)
  t.equal(links.size, 0)
})

t.test('released while opening: the opening is given up', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  const live = liveOf()
  const opened = links.get(live, backend)
  await links.release(live)
  t.ok(backend.last.options.signal.aborted)
  await t.rejects(opened, { code: 'session' })
  t.equal(links.size, 0)
})

for (const moment of ['just opened', 'being restored'] as const) {
  t.test(`released while ${moment}: the link is closed, and nobody gets it`, async t => {
    let restored: (() => void) | undefined
    const links = linksOf({
      reopened: () =>
        new Promise(resolve => {
          restored = resolve
        })
    })
    const backend = new FakeBackend()
    const live = liveOf()
    if (moment === 'being restored') {
      const first = links.get(live, backend)
      const lost = backend.last.succeed()
      await first
      lost.lose()
    }
    const opened = links.get(live, backend)
    const link = backend.last.succeed()
    if (moment === 'being restored') {
      await settled()
      t.ok(restored, 'it is restored')
      await links.release(live)
      restored!()
    } else {
      // It is open already, and its opener has not had its turn.
      await links.release(live)
    }
    await t.rejects(opened, { code: 'session' })
    t.equal(link.closed, 1)
    t.equal(links.size, 0)
  })
}

t.test('the last session closes a shared link, an opener that leaves does not', async t => {
  const links = linksOf()
  const backend = new FakeBackend('shared')
  const [one, two] = [liveOf(), liveOf()]
  const opened = [links.get(one, backend), links.get(two, backend)]
  await links.release(one)
  t.notOk(backend.last.options.signal.aborted)
  const link = backend.last.succeed()
  t.equal(await opened[1], link)
  t.equal(link.closed, 0)
  await links.release(two)
  t.equal(link.closed, 1)
  t.equal(links.size, 0)
  await links.release(two)
  t.equal(link.closed, 1)
})

t.test('one who comes back after the release has a link of its own', async t => {
  const links = linksOf()
  const backend = new FakeBackend('shared')
  const [one, two] = [liveOf(), liveOf()]
  const first = links.get(one, backend)
  await links.release(one)
  const second = links.get(two, backend)
  t.equal(backend.openings.length, 2)
  const link = backend.last.succeed()
  await t.rejects(first, { code: 'session' })
  t.equal(await second, link)
  t.equal(links.ready(two, backend), link)
})

t.test('a lost link is opened again, from nothing, and restored before it is handed out', async t => {
  const order: string[] = []
  const links = linksOf({
    reopened: async () => void order.push('restored')
  })
  const backend = new FakeBackend()
  const live = liveOf()
  const first = links.get(live, backend)
  const lost = backend.last.succeed('S1')
  await first
  lost.lose()
  t.same(links.told.lost, [live])
  t.equal(links.ready(live, backend), undefined)
  t.same([...links.of(live)], [])
  await settled()
  t.equal(backend.openings.length, 1, 'nobody wants it yet')
  const asked = [1, 2].map(async () => {
    const link = await links.get(live, backend)
    order.push('handed out')
    return link
  })
  t.equal(backend.openings.length, 2, 'single flight')
  t.equal(backend.last.options.state, undefined, 'the state was lost with it')
  const link = backend.last.succeed('S2')
  t.same(await Promise.all(asked), [link, link])
  t.same(order, ['restored', 'handed out', 'handed out'])
  t.same(live.record.links, { 'fake session': 'S2' })
  t.equal(lost.closed, 0, 'it is gone already')
  t.same(links.told.received, [])
})

t.test('when another instance opened it again meanwhile, that is what is gone on with', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  const live = liveOf()
  const first = links.get(live, backend)
  const lost = backend.last.succeed('S1')
  await first
  lost.lose()
  live.record = { ...live.record, links: { 'fake session': 'S2' } }
  const again = links.get(live, backend)
  t.equal(backend.last.options.state, 'S2')
  backend.last.succeed()
  await again
  t.same(links.told.reopened, [], 'the other restored it')
})

t.test('an opening again that fails is restored by the next one', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  const live = liveOf()
  const first = links.get(live, backend)
  const lost = backend.last.succeed()
  await first
  lost.lose()
  const failing = links.get(live, backend)
  backend.last.fail()
  await t.rejects(failing, { code: 'backend_unavailable' })
  const again = links.get(live, backend)
  backend.last.succeed()
  await again
  t.same(links.told.reopened, [1])
  lost.lose()
  t.ok(links.ready(live, backend), 'an end that is told twice harms nothing')
})

t.test('what ends while it is being opened is not handed out', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  const live = liveOf()
  const opened = links.get(live, backend)
  const { options } = backend.last
  backend.last.succeed('S1')
  options.ended(new Error('died'))
  await t.rejects(opened, { code: 'backend_broke', backend: 'fake' })
  const again = links.get(live, backend)
  t.equal(backend.last.options.state, undefined)
  const link = backend.last.succeed('S2')
  t.equal(await again, link)
  t.same(links.told.reopened, [1])
})

t.test('what ends while it is being restored is not handed out, and its asks are lost', async t => {
  const links = linksOf({ reopened: async link => (link as unknown as { lose(): void }).lose() })
  const backend = new FakeBackend()
  const live = liveOf()
  const first = links.get(live, backend)
  const lost = backend.last.succeed('S1')
  await first
  lost.lose()
  const opened = links.get(live, backend)
  backend.last.succeed('S2')
  await t.rejects(opened, { code: 'backend_broke' })
  t.same(links.told.lost, [live, live])
  void links.get(live, backend).catch(() => {})
  t.equal(backend.last.options.state, undefined, 'neither state is worth anything')
})

t.test('who subscribed has the link opened again without a call, once', async t => {
  const links = linksOf()
  const backend = new FakeBackend('shared')
  const lives = [liveOf(), liveOf({ subscriptions: ['x:1'] })]
  const opened = lives.map(live => links.get(live, backend))
  const lost = backend.last.succeed()
  await Promise.all(opened)
  lost.lose()
  await settled()
  t.equal(backend.openings.length, 2)
  backend.last.fail()
  await settled()
  await settled()
  t.equal(backend.openings.length, 2, 'the next call tries again')
})

t.test('what comes before the link is there is told after it', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  const live = liveOf()
  const opened = links.get(live, backend)
  const { receive } = backend.last.options
  receive(notice)
  t.same(links.told.received, [])
  backend.last.succeed()
  await opened
  t.same(links.told.received, [['notifications/x', 1]])
  receive(notice)
  t.equal(links.told.received.length, 2)
})

t.test('what an upstream asks while it is restored is put at once: it may wait for that', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const links = linksOf({ reopened: () => promise })
  const backend = new FakeBackend()
  const live = liveOf()
  const first = links.get(live, backend)
  const lost = backend.last.succeed()
  await first
  lost.lose()
  const again = links.get(live, backend)
  backend.last.succeed()
  await settled()
  backend.last.options.receive(notice)
  t.equal(links.told.received.length, 1)
  resolve()
  await again
})

t.test('an upstream is listened to while any session listens', async t => {
  const links = linksOf()
  const backend = new FakeBackend('shared')
  const [one, two] = [liveOf(), liveOf()]
  links.listen(one, true)
  const opened = [links.get(one, backend), links.get(two, backend)]
  const link = backend.last.succeed()
  await Promise.all(opened)
  t.same(link.listened, [true])
  links.listen(two, true)
  links.listen(two, true)
  links.listen(one, false)
  t.same(link.listened, [true])
  links.listen(two, false)
  t.same(link.listened, [true, false])
  links.listen(two, true)
  await links.release(two)
  t.same(link.listened, [true, false, true, false])
  link.lose()
  links.listen(one, true)
  const again = links.get(one, backend)
  const reopened = backend.last.succeed()
  await again
  t.same(reopened.listened, [true])
})

t.test('close ends everything', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  backend.eager = true
  const lives = [liveOf(), liveOf()]
  const opened = (await Promise.all(lives.map(live => links.get(live, backend)))) as unknown as { closed: number }[]
  await links.close()
  t.same(
    opened.map(({ closed }) => closed),
    [1, 1]
  )
  t.equal(links.size, 0)
})

t.test('close waits for links of sessions that ended just before (LIF-01)', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  backend.eager = true
  const live = liveOf()
  const link = await links.get(live, backend)
  const gate = Promise.withResolvers<void>()
  link.close = () => gate.promise
  const released = links.release(live)
  let over = false
  const closed = links.close().then(() => {
    over = true
  })
  await new Promise(resolve => setImmediate(resolve))
  t.equal(over, false)
  gate.resolve()
  await Promise.all([released, closed])
})

t.test('20,000 sessions that came and went leave nothing behind', async t => {
  const links = linksOf()
  const shared = new FakeBackend('shared')
  shared.eager = true
  await links.get(liveOf(), shared)
  const cycle = async (count: number): Promise<void> => {
    const own = new FakeBackend()
    own.eager = true
    for (let i = 0; i < count; i++) {
      const live: Live = liveOf()
      links.listen(live, true)
      await Promise.all([links.get(live, own), links.get(live, shared)])
      if (i % 3 === 0) links.listen(live, false)
      await links.release(live)
      own.openings.length = 0
    }
  }
  await cycle(1_000)
  const before = await usedBytes()
  await cycle(20_000)
  const grown = (await usedBytes()) - before
  t.ok(grown < 1_000_000, `${grown} bytes more`)
  t.equal(links.size, 1)
})

t.test('the error of an opening says what the backend said', async t => {
  const links = linksOf()
  const backend = new FakeBackend()
  const opened = links.get(liveOf(), backend)
  backend.last.fail(new GatewayError('timeout', 'slow', { backend: 'fake' }))
  await t.rejects(opened, { code: 'timeout', message: 'slow' })
})

t.test('a backend that comes back while its link is being closed gets a new one', async t => {
  const links = linksOf()
  const live = liveOf()
  const [before, after] = [new FakeBackend(), new FakeBackend()]
  const opening = links.get(live, before)
  const old = before.last.succeed('S1')
  await opening
  const { promise: told, resolve: closed } = Promise.withResolvers<void>()
  old.close = () => told
  const dropping = links.drop(live, before)
  const again = links.get(live, after)
  t.equal(after.last.options.state, undefined, 'not what is being closed')
  const link = after.last.succeed('S2')
  t.equal(await again, link)
  closed()
  await dropping
  t.same(live.record.links, { [after.identity]: 'S2' })
  await links.drop(live, after)
  t.same(live.record.links, {})
  void links.get(live, before).catch(() => {})
  t.equal(before.last.options.state, undefined)
})
