import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Channels } from '../../src/gateway/channel.ts'
import { makeNotification, makeRequest } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import type { StreamBounds } from '../../src/streams/stream-log.ts'
import { FakeReader } from '../helpers/fake-reader.ts'
import { FaultyLog } from '../helpers/faulty-log.ts'
import { liveOf } from '../helpers/live.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const note = (text: string): Message => makeNotification('notifications/x', { text })
const changed = makeNotification('notifications/tools/list_changed')
const lost = makeNotification('notifications/prompts/list_changed')
const log = (text: string): Message => makeNotification('notifications/message', { level: 'info', data: text })

function setting(t: Test, bounds: Partial<StreamBounds> = {}) {
  const streamLog = new FaultyLog(bounds)
  const pending = new Set<string>()
  const heard: boolean[] = []
  const channels = new Channels({
    log: streamLog,
    asked: { pending: label => pending.has(label) },
    retryMs: 1_000,
    listening: (_live, on) => void heard.push(on),
    changes: () => [lost]
  })
  t.teardown(() => streamLog.close())
  const open = async (live: Live, cursor?: number, reader = new FakeReader()): Promise<FakeReader> => {
    const run = await channels.open(live, cursor)
    run(reader)
    return reader
  }
  return { log: streamLog, pending, heard, channels, open }
}

/** What was said, in short. */
const said = ({ texts }: FakeReader): string[] =>
  texts.map(text => {
    const { method, params, id } = JSON.parse(text)
    return params?.text ?? params?.data ?? id ?? method.split('/')[1]
  })

const holds = (reader: FakeReader, count: number): Promise<void> => reader.until(({ texts }) => texts.length >= count)

t.test('what came while no GET was open is kept and given once (R36)', async t => {
  const { channels, open } = setting(t)
  const live = liveOf()
  t.equal(await channels.post(live, note('a')), true)
  await channels.post(live, note('b'))
  const first = await open(live)
  await holds(first, 2)
  await channels.post(live, note('c'))
  await holds(first, 3)
  t.same(said(first), ['a', 'b', 'c'])
  first.leave()
  await channels.post(live, note('d'))
  const second = await open(live)
  await holds(second, 1)
  await turn()
  t.same(said(second), ['d'])
})

t.test('only Last-Event-ID moves back (decisions: "GET without Last-Event-ID")', async t => {
  const { channels, open } = setting(t)
  const live = liveOf()
  for (const text of ['a', 'b', 'c']) await channels.post(live, note(text))
  const first = await open(live)
  await holds(first, 3)
  first.leave()
  const back = await open(live, 1)
  await holds(back, 2)
  t.same(said(back), ['b', 'c'])
  t.match(back.given[0], { id: /_1$/, retry: 1_000 }, 'primed with the cursor it came with')
  back.leave()
  const fresh = await open(live)
  await channels.post(live, note('d'))
  await holds(fresh, 1)
  t.same(said(fresh), ['d'])
  t.match(fresh.given[0], { id: /_3$/, retry: 1_000 })
})

for (const [what, cursor] of [
  ['an event that is still to come', 3],
  ['an event far from now', 999]
] as const) {
  t.test(`${what} is no place to resume from: 400, and the open GET goes on`, async t => {
    const { channels, open } = setting(t)
    const live = liveOf()
    for (const text of ['a', 'b']) await channels.post(live, note(text))
    const reader = await open(live)
    await t.rejects(channels.open(live, cursor), { code: 'cursor', status: 400 })
    await channels.post(live, note('c'))
    await holds(reader, 3)
    t.equal(reader.ended, undefined)
  })
}

t.test(
  'a client that is not ready gets logs and pings; the rest is held, in order, asks with their labels (R6)',
  async t => {
    const { channels, pending, open } = setting(t)
    const live = liveOf({ operating: false })
    const reader = await open(live)
    await channels.post(live, note('a'))
    await channels.post(live, log('early'))
    pending.add('p')
    await channels.post(live, makeRequest('"p"', 'ping'))
    await channels.post(live, makeRequest('"ask-1"', 'roots/list'))
    await channels.post(live, makeRequest('"ask-2"', 'roots/list'))
    await turn()
    t.same(said(reader), ['early', 'p'])
    live.record = { ...live.record, operating: true }
    pending.add('ask-2')
    await channels.post(live, note('b'))
    channels.operating(live)
    await holds(reader, 5)
    t.same(said(reader), ['early', 'p', 'a', 'ask-2', 'b'], 'what waits no more is left out')
  }
)

t.test('what is held has a bound', async t => {
  const { channels } = setting(t)
  const live = liveOf({ operating: false })
  for (let i = 0; i < 100; i++) t.equal(await channels.post(live, note(`${i}`)), true)
  t.equal(await channels.post(live, note('over')), false)
  const large = liveOf({ operating: false })
  t.equal(await channels.post(large, note('x'.repeat(2_000_000))), true, 'one may be larger')
  t.equal(await channels.post(large, note('y')), false)
})

t.test('the same list_changed waits once, and is said again after it was given (R36)', async t => {
  const { channels, open } = setting(t)
  const live = liveOf()
  await Promise.all([channels.post(live, changed), channels.post(live, changed)])
  await channels.post(live, lost)
  t.equal(await channels.post(live, changed), true)
  const reader = await open(live)
  await holds(reader, 2)
  t.same(said(reader), ['tools', 'prompts'])
  await channels.post(live, changed)
  await holds(reader, 3)
  const other = makeNotification('notifications/tools/list_changed', { _meta: { a: 1 } })
  await channels.post(live, other)
  await holds(reader, 4)
  t.equal(JSON.parse(reader.texts[3]!).params._meta.a, 1)
})

t.test(
  'over the bounds the oldest go; a resume across the gap begins with list_changed, then what is left',
  async t => {
    const { channels, open } = setting(t, { events: 3 })
    const live = liveOf()
    for (const text of ['a', 'b', 'c', 'd', 'e']) await channels.post(live, note(text))
    for (const cursor of [0, 1, undefined]) {
      const reader = await open(live, cursor)
      await holds(reader, 4)
      t.same(said(reader), ['prompts', 'c', 'd', 'e'], `from ${cursor}`)
      if (cursor !== undefined) reader.leave()
      if (cursor === 1) break
    }
    const reader = await open(live, 2)
    await holds(reader, 3)
    t.same(said(reader), ['c', 'd', 'e'], 'nothing is missing after the second')
  }
)

t.test(
  'a message that cannot be logged goes to the open GET, without an id; a resume across it hears of changes (RES-06)',
  async t => {
    const { log, channels, open } = setting(t)
    const live = liveOf()
    const reader = await open(live)
    await channels.post(live, note('a'))
    await holds(reader, 1)
    log.failing.add('post')
    t.equal(await channels.post(live, note('unlogged')), true)
    await holds(reader, 2)
    log.failing.delete('post')
    await channels.post(live, note('b'))
    await holds(reader, 3)
    t.same(said(reader), ['a', 'unlogged', 'b'])
    t.same(reader.numbers, [1, 0, 2])
    reader.leave()
    const after = await open(live, 2)
    await turn()
    t.same(said(after), [], 'nothing was missed after b')
    after.leave()
    const before = await open(live, 1)
    await holds(before, 2)
    t.same(said(before), ['prompts', 'b'])
  }
)

t.test('one that nobody could be given is lost, counted, and the next GET hears of changes', async t => {
  const { log, channels, open } = setting(t)
  const live = liveOf()
  log.failing.add('post')
  t.equal(await channels.post(live, note('unlogged')), false)
  t.equal(await channels.post(live, changed), false)
  log.failing.delete('post')
  t.equal(await channels.post(live, changed), true, 'not taken for one that waits')
  const reader = await open(live)
  await holds(reader, 2)
  t.same(said(reader), ['prompts', 'tools'])
})

t.test('a GET is opened although the log does not answer, and catches up when it does', async t => {
  const { log, channels, open } = setting(t)
  const live = liveOf()
  await channels.post(live, note('a'))
  for (const operation of ['ensure', 'read', 'watch'] as const) log.failing.add(operation)
  await t.rejects(channels.open(live, 0), 'but nobody can say where a cursor stands')
  const reader = await open(live)
  await turn()
  t.same(said(reader), [])
  log.failing.clear()
  await holds(reader, 1)
  t.same(said(reader), ['a'])
})

t.test('a log that was emptied: the channel begins anew and the client hears of changes', async t => {
  const { log, channels, open } = setting(t)
  const live = liveOf()
  await channels.post(live, note('a'))
  const reader = await open(live)
  await holds(reader, 1)
  reader.leave()
  await log.purge(live.record.id)
  const again = await open(live)
  await channels.post(live, note('b'))
  await holds(again, 2)
  t.same(said(again), ['prompts', 'b'])
})

t.test('a GET takes over: the older ends, nothing is lost or said twice (STR-01)', async t => {
  const { channels, heard, open } = setting(t)
  const live = liveOf()
  const first = await open(live)
  await channels.post(live, note('a'))
  await holds(first, 1)
  const second = await open(live)
  t.equal(first.ended, 'clean')
  await channels.post(live, note('b'))
  await holds(second, 1)
  t.same([said(first), said(second)], [['a'], ['b']])
  t.equal(live.busy, 1)
  t.equal(channels.isOpen(live), true)
  second.leave()
  t.equal(live.busy, 0)
  t.equal(channels.isOpen(live), false)
  t.same(heard, [true, true, false])
})

t.test('old clients are cut without a final chunk, and get no empty event (decisions: "Priming event")', async t => {
  const { channels, open } = setting(t)
  const live = liveOf({}, '2025-06-18')
  await channels.post(live, note('a'))
  const first = await open(live)
  await holds(first, 1)
  t.equal(first.comments, 1)
  t.same(
    first.given.map(({ id, retry }) => [id?.split('_').at(-1), retry]),
    [['1', undefined]]
  )
  const second = await open(live)
  t.equal(first.ended, 'abrupt')
  channels.drain(() => 5_000)
  await second.until(({ ended }) => ended !== undefined)
  t.equal(second.ended, 'abrupt')
  t.same(second.given, [])
})

t.test('at the fifth take-over within 10 s the older stays open, silent; eight of them at most', async t => {
  const { channels, open } = setting(t)
  const live = liveOf()
  const readers: FakeReader[] = []
  for (let i = 0; i < 15; i++) readers.push(await open(live))
  t.same(
    readers.map(({ ended }) => ended === undefined),
    [false, false, false, false, ...[false, false], ...Array(8).fill(true), true]
  )
  await channels.post(live, note('a'))
  await holds(readers.at(-1)!, 1)
  for (const silent of readers.slice(0, -1)) t.same(said(silent), [])
  t.equal(live.busy, 9)
  readers[10]!.leave()
  t.equal(live.busy, 8)
  t.equal(channels.isOpen(live), true, 'the one that counts is still there')
  channels.close(live)
  t.equal(readers.filter(({ gone }) => !gone).length, 0, 'silent ones end with the session')
  t.equal(live.busy, 0)
})

t.test('take-overs further apart are no quarrel', async t => {
  const { open } = setting(t)
  const live = liveOf()
  const now = performance.now
  let time = 0
  performance.now = () => time
  t.teardown(() => {
    performance.now = now
  })
  let last = await open(live)
  for (let i = 0; i < 12; i++) {
    time += 3_000
    const next = await open(live)
    t.equal(last.ended, 'clean')
    last = next
  }
})

t.test('a reader that went while the GET was looked up takes nothing over', async t => {
  const { channels, heard, open } = setting(t)
  const live = liveOf()
  const first = await open(live)
  const gone = new FakeReader()
  gone.leave()
  await open(live, undefined, gone)
  t.equal(first.ended, undefined)
  t.same(heard, [true])
  t.equal(live.busy, 1)
  await channels.post(live, note('a'))
  await holds(first, 1)
})

t.test('a session that ended takes no messages and opens no stream', async t => {
  const { log, channels } = setting(t)
  const live = liveOf()
  const run = await channels.open(live, undefined)
  live.closed = true
  channels.close(live)
  const reader = new FakeReader()
  run(reader)
  t.equal(reader.ended, 'clean')
  t.equal(await channels.post(live, note('a')), false)
  await t.rejects(channels.open(live, undefined), { code: 'session', status: 404 })
  t.equal(log.asked.post, undefined)
  t.equal(await channels.post({ ...liveOf(), ephemeral: true }, note('a')), false, 'one without a session has none')
})

t.test(
  'drain: what is there goes out, then how long to stay away, then the end; silent ones too (R35, LIF-01)',
  async t => {
    const { channels, open } = setting(t)
    const live = liveOf()
    const readers: FakeReader[] = []
    for (let i = 0; i < 6; i++) readers.push(await open(live))
    const [silent, last] = [readers[4]!, readers[5]!]
    await Promise.all([channels.post(live, note('a')), channels.post(live, note('b'))])
    channels.drain(() => 5_000)
    await last.until(({ ended }) => ended !== undefined)
    t.same(said(last), ['a', 'b'])
    t.same(last.given.at(-1), { retry: 5_000 })
    t.same([silent.ended, silent.given.at(-1)], ['clean', { retry: 5_000 }])
  }
)
