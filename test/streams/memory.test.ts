import t from 'tap'
import { MemoryStreamLog } from '../../src/streams/memory.ts'
import type { StreamBounds } from '../../src/streams/stream-log.ts'
import { streamLogContract } from '../contract/stream-log.ts'
import { Clock } from '../helpers/clock.ts'
import { usedBytes } from '../helpers/memory.ts'
import { Timers } from '../helpers/timers.ts'

streamLogContract('memory', async bounds => {
  const clock = new Clock()
  const log = new MemoryStreamLog(bounds, 'instance', clock.now)
  return {
    log,
    other: log,
    instance: 'instance',
    advance: async ms => clock.advance(ms),
    empty: session => log.purge(session),
    usedBytes,
    close: () => log.close()
  }
})

// What watchers throw becomes a warning of the process, which the tests need not print.
process.removeAllListeners('warning')

const wide: StreamBounds = { events: 1_000, bytes: 1 << 20, total: 1 << 26, retainMs: 1_000 }
const data = (size: number): Buffer => Buffer.allocUnsafeSlow(size)
const in_ = (session: string, stream = 'stream') => ({ session, stream })

t.test('over the total the stream that ended first goes first, whole', async t => {
  const log = new MemoryStreamLog({ ...wide, total: 100 }, 'instance')
  t.teardown(() => log.close())
  const open = await log.open(in_('open'), '')
  await open.append(data(20))
  for (const name of ['b', 'a', 'c']) {
    const writer = await log.open(in_(name), '')
    await writer.append(data(10))
    await writer.append(data(10))
    await writer.end()
  }
  t.match(log.stats(), { streams: 4, entries: 7, bytes: 80 })
  await open.append(data(30))
  t.equal((await log.read(in_('b'), 0, 10)).state, 'unknown')
  t.equal((await log.read(in_('a'), 0, 10)).state, 'over')
  t.match(log.stats(), { streams: 3, entries: 6, bytes: 90, dropped: { bounds: 0, total: 2 } })
  await open.append(data(45))
  t.equal((await log.read(in_('c'), 0, 10)).state, 'unknown')
  t.equal((await log.read(in_('open'), 0, 10)).entries.length, 3, 'an open stream is untouched until then')
  t.match(log.stats(), { streams: 1, entries: 3, bytes: 95, dropped: { bounds: 0, total: 6 } })
})

t.test('then the streams that were not written to for longest lose their entries, the newest stream last', async t => {
  const log = new MemoryStreamLog({ ...wide, total: 100 }, 'instance')
  t.teardown(() => log.close())
  for (const name of ['a', 'b', 'c']) {
    await log.post(in_(name), data(15))
    await log.post(in_(name), data(15), { expendable: true })
  }
  await log.post(in_('a'), data(5))
  await log.post(in_('d'), data(20))
  t.same(
    (await log.read(in_('b'), 0, 10)).entries.map(entry => entry.number),
    [1],
    'what is expendable goes first here too'
  )
  t.equal((await log.read(in_('b'), 0, 10)).state, 'entries')
  await log.post(in_('d'), data(80))
  for (const name of ['b', 'c', 'a']) {
    const slice = await log.read(in_(name), 0, 10)
    t.match(slice, { state: 'trimmed', entries: [] }, name)
  }
  t.equal((await log.read(in_('d'), 0, 10)).entries.length, 2)
  await log.post(in_('d'), data(150))
  t.same(
    (await log.read(in_('d'), 0, 10)).entries.map(entry => entry.number),
    [3],
    'an entry larger than all is kept alone'
  )
  await log.post(in_('a'), data(1))
  t.same(
    (await log.read(in_('a'), 3, 10)).entries.map(entry => entry.number),
    [4],
    'a stream that lost its entries goes on counting'
  )
  t.match(log.stats(), { streams: 4, entries: 1, bytes: 1 })
})

t.test('readers were woken when the promise of an append is handed back', async t => {
  const log = new MemoryStreamLog(wide, 'instance')
  t.teardown(() => log.close())
  let woken = 0
  await log.watch(in_('s'), () => woken++)
  const writer = await log.open(in_('s'), '')
  const appended = writer.append(data(1))
  t.equal(woken, 1)
  await appended
})

t.test('a watcher that throws harms neither the writer nor other watchers', async t => {
  const log = new MemoryStreamLog(wide, 'instance')
  t.teardown(() => log.close())
  const warned = new Promise<Error>(resolve => process.once('warning', resolve))
  let woken = 0
  await log.watch(in_('s'), () => {
    throw new Error('a watcher broke')
  })
  await log.watch(in_('s'), () => woken++)
  t.equal(await log.post(in_('s'), data(1)), 1)
  t.equal(woken, 1)
  t.equal((await warned).message, 'a watcher broke')
})

t.test('a watcher that is stopped by another one is not woken any more', async t => {
  const log = new MemoryStreamLog(wide, 'instance')
  t.teardown(() => log.close())
  let woken = 0
  await log.watch(in_('s'), () => void unwatch())
  const unwatch = await log.watch(in_('s'), () => woken++)
  await log.post(in_('s'), data(1))
  t.equal(woken, 0)
})

t.test('R26: one timer removes what has ended, unasked, and is gone when there is nothing left', async t => {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const log = new MemoryStreamLog({ ...wide, retainMs: 5_000 }, 'instance', timers.now)
  t.equal(timers.count, 0)
  for (let i = 0; i < 50; i++) {
    const writer = await log.open(in_(`${i}`), '')
    await writer.append(data(10))
    await writer.end()
    timers.advance(20)
  }
  t.match({ count: timers.count, held: timers.held }, { count: 1, held: 0 })
  timers.advance(3_000)
  t.equal(log.stats().streams, 50)
  timers.advance(1_500)
  t.equal(log.stats().streams, 49, 'the oldest one first')
  timers.advance(1_500)
  t.match(log.stats(), { streams: 0, entries: 0, bytes: 0, dropped: { bounds: 0, total: 0 } })
  t.equal(timers.count, 0)
  const writer = await log.open(in_('s'), '')
  await writer.end()
  t.equal(timers.count, 1)
  await log.close()
  t.equal(timers.count, 0)
})

t.test('purge and the end of watching leave nothing behind', async t => {
  const log = new MemoryStreamLog(wide, 'instance')
  const before = await usedBytes()
  for (let i = 0; i < 3_000; i++) {
    const session = `session ${i}`
    const unwatch = await log.watch(in_(session, 'channel'), () => {})
    await log.ensure(in_(session, 'channel'))
    const writer = await log.open(in_(session, 'call'), '{}')
    await writer.append(data(200))
    if (i % 2 === 0) await unwatch()
    await log.purge(session)
    if (i % 2 === 1) await unwatch()
  }
  t.match(log.stats(), { streams: 0, entries: 0, bytes: 0 })
  const left = (await usedBytes()) - before
  t.ok(left < 200_000, `${left} bytes`)
  await log.close()
})

t.test('an idle stream costs less than 300 bytes, key included', async t => {
  const log = new MemoryStreamLog(wide, 'instance')
  const before = await usedBytes()
  for (let i = 0; i < 10_000; i++) await log.ensure({ session: `some session ${i}`, stream: 'channel' })
  const each = ((await usedBytes()) - before) / 10_000
  t.ok(each < 300, `${Math.round(each)} bytes`)
  t.equal(log.stats().streams, 10_000)
  await log.close()
})

t.test('R34: 5,000 posts of one buffer in one go keep that buffer itself', async t => {
  const log = new MemoryStreamLog(wide, 'instance')
  const shared = data(10_000)
  const keys = Array.from({ length: 5_000 }, (_, i) => in_(`${i}`, 'channel'))
  for (const key of keys) await log.ensure(key)
  const before = await usedBytes()
  await Promise.all(keys.map(key => log.post(key, shared)))
  t.equal((await log.read(keys[4_999]!, 0, 1)).entries[0]?.data, shared)
  const each = ((await usedBytes()) - before) / keys.length
  t.ok(each < 500, `${Math.round(each)} bytes`)
  await log.close()
})

t.test('after close everything is gone and writers are lost', async t => {
  const log = new MemoryStreamLog(wide, 'instance')
  const writer = await log.open(in_('s'), '')
  await log.close()
  await t.rejects(writer.append(data(1)))
  t.match(log.stats(), { streams: 0, entries: 0, bytes: 0 })
})

t.test('a million events in one stream: memory is flat, what was trimmed is told, the rest is there (E3)', async t => {
  const log = new MemoryStreamLog({ ...wide, events: 1_000, bytes: 4 << 20 }, 'instance')
  t.teardown(() => log.close())
  const key = in_('flood')
  const writer = await log.open(key, '')
  const event = data(200)
  const append = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await writer.append(event)
  }
  await append(50_000)
  const before = await usedBytes()
  await append(950_000)
  t.ok((await usedBytes()) - before < 1 << 20)
  t.match(log.stats(), { entries: 1_000, bytes: 200_000, dropped: { bounds: 999_000 } })
  t.equal((await log.read(key, 500_000, 10)).state, 'trimmed')
  const { state, entries } = await log.read(key, 999_990, 100)
  t.equal(state, 'entries')
  t.same(
    entries.map(({ number }) => number),
    Array.from({ length: 10 }, (_, i) => 999_991 + i)
  )
})
