import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Follower, type FollowOptions } from '../../src/streams/follow.ts'
import type { Writer } from '../../src/streams/stream-log.ts'
import { FakeReader } from '../helpers/fake-reader.ts'
import { FaultyLog } from '../helpers/faulty-log.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const key = { session: 's', stream: 'stream-1' }
const text = (data: unknown): Buffer => Buffer.from(`${data}`)

interface Setting {
  readonly log: FaultyLog
  readonly writer: Writer
  readonly reader: FakeReader
  follow(after?: number, options?: FollowOptions, reader?: FakeReader): Follower
}

async function setting(t: Test): Promise<Setting> {
  const log = new FaultyLog()
  const writer = await log.open(key, '{}')
  const reader = new FakeReader()
  t.teardown(async () => {
    reader.leave()
    await turn()
    if (log.watches > 0) throw new Error('somebody watches still')
    await log.close()
  })
  return {
    log,
    writer,
    reader,
    follow: (after = 0, options = {}, other = reader) => new Follower(log, key, after, other, options)
  }
}

const upTo = (count: number, from = 1): number[] => Array.from({ length: count - from + 1 }, (_, i) => from + i)

t.test('what is there, then what comes, then the end, each once and in order (R17)', async t => {
  const { writer, reader, follow } = await setting(t)
  for (const i of upTo(150)) await writer.append(text(i))
  await follow(20).start()
  await reader.until(({ numbers }) => numbers.length === 130)
  for (const i of upTo(160, 151)) await writer.append(text(i))
  await writer.end()
  await reader.until(({ ended }) => ended === 'clean')
  t.same(reader.numbers, upTo(160, 21))
  t.same(reader.texts, upTo(160, 21).map(String))
})

t.test('events that come while a slow log replays are neither lost nor told twice (RES-05)', async t => {
  const { log, writer, reader, follow } = await setting(t)
  for (const i of upTo(100)) await writer.append(text(i))
  const gate = Promise.withResolvers<void>()
  log.gate = gate.promise
  void follow().start()
  for (const i of upTo(120, 101)) await writer.append(text(i))
  await turn()
  log.gate = undefined
  gate.resolve()
  for (const i of upTo(150, 121)) {
    await writer.append(text(i))
    if (i % 7 === 0) await turn()
  }
  await reader.until(({ numbers }) => numbers.length >= 150)
  await turn()
  t.same(reader.numbers, upTo(150))
})

t.test(
  'two that resume from the same place at once: the second goes on where the first was stopped (RES-05)',
  async t => {
    const { writer, reader, follow } = await setting(t)
    for (const i of upTo(10)) await writer.append(text(i))
    reader.slow = true
    const given: number[] = []
    const first = follow(0, { given: number => void given.push(number) })
    await first.start()
    await reader.until(({ numbers }) => numbers.length === 1)
    t.same(given, [1], 'an entry counts as given when it is written, not when the reader took it')
    t.equal(first.stop(), reader)
    const second = new FakeReader()
    await follow(given.at(-1), {}, second).start()
    await second.until(({ numbers }) => numbers.length === 9)
    reader.drain()
    await turn()
    t.same([...reader.numbers, ...second.numbers], upTo(10))
    second.leave()
  }
)

t.test('a follower that was stopped says nothing more, whatever comes', async t => {
  const { log, writer, reader, follow } = await setting(t)
  const follower = follow()
  await follower.start()
  t.equal(log.watches, 1)
  follower.stop()
  t.equal(log.watches, 0)
  await writer.append(text(1))
  follower.wake()
  follower.unlog()
  follower.bypass(text(2))
  follower.bypassEnd()
  await turn()
  t.same(reader.given, [])
  t.equal(reader.ended, undefined)
  t.equal(follower.stop(), undefined)
  t.equal(follower.behind(100, 1), undefined, 'nobody waits for it')
})

t.test('a reader that goes while the log is asked to watch leaves no watch behind', async t => {
  const { log, reader, follow } = await setting(t)
  const started = follow().start()
  reader.leave()
  await started
  await turn()
  t.equal(log.watches, 0)
  t.equal(log.asked.read, undefined)
})

t.test('a reader that is gone before the start is not followed for', async t => {
  const { log, reader, follow } = await setting(t)
  reader.leave()
  await follow().start()
  t.equal(log.asked.watch, undefined)
})

t.test('while nothing comes the log is asked nothing', async t => {
  const { log, writer, reader, follow } = await setting(t)
  await follow().start()
  await writer.append(text(1))
  await reader.until(({ numbers }) => numbers.length === 1)
  const { read } = log.asked
  for (let i = 0; i < 20; i++) await turn()
  t.equal(log.asked.read, read)
})

t.test('a slow reader is waited for: one entry at a time', async t => {
  const { writer, reader, follow } = await setting(t)
  for (const i of upTo(3)) await writer.append(text(i))
  reader.slow = true
  await follow().start()
  for (const count of [1, 2, 3]) {
    await reader.until(({ numbers }) => numbers.length === count)
    await turn()
    t.equal(reader.numbers.length, count)
    reader.drain()
  }
})

t.test('behind: a promise while the reader lags, settled when it caught up or is gone', async t => {
  const { writer, reader, follow } = await setting(t)
  reader.slow = true
  const follower = follow()
  await follower.start()
  for (const i of upTo(5)) await writer.append(text(i))
  await reader.until(({ numbers }) => numbers.length === 1)
  t.equal(follower.behind(5, 5), undefined, 'four are missing')
  const caughtUp = follower.behind(5, 4)
  t.ok(caughtUp instanceof Promise)
  reader.slow = false
  reader.drain()
  await caughtUp
  t.same(reader.numbers, upTo(5))
  const lagging = follower.behind(9, 4)
  reader.leave()
  await lagging
})

t.test('entries that are answered meanwhile are left out of a replay, and count as given', async t => {
  const { writer, reader, follow } = await setting(t)
  const given: number[] = []
  await writer.append(text('ask a'), { label: 'a' })
  await writer.append(text('ask b'), { label: 'b' })
  await writer.append(text('done'))
  await follow(0, { skip: label => label === 'a', given: number => void given.push(number) }).start()
  await reader.until(({ numbers }) => numbers.length === 2)
  t.same(reader.texts, ['ask b', 'done'])
  t.same(given, [1, 2, 3])
})

t.test('a log that does not answer is asked again, less and less often, and nothing is lost (RES-06)', async t => {
  const { log, writer, reader, follow } = await setting(t)
  log.failing.add('read')
  await follow().start()
  await writer.append(text(1))
  await writer.end()
  await turn()
  t.ok(log.asked.read! <= 4, 'no busy loop')
  t.same(reader.given, [])
  log.failing.delete('read')
  await reader.until(({ ended }) => ended === 'clean')
  t.same(reader.numbers, [1])
})

t.test('a log that cannot be watched is tried again (RES-06)', async t => {
  const { log, writer, reader, follow } = await setting(t)
  log.failing.add('watch')
  await follow().start()
  await writer.append(text(1))
  await turn()
  log.failing.delete('watch')
  await reader.until(({ numbers }) => numbers.length === 1)
  await writer.append(text(2))
  await reader.until(({ numbers }) => numbers.length === 2)
  t.equal(log.asked.watch, 2)
})

t.test(
  'past a log that fails messages go without an id, after what was logged, and end with the exchange (RES-06)',
  async t => {
    const { writer, reader, follow } = await setting(t)
    for (const i of upTo(3)) await writer.append(text(i))
    const follower = follow()
    follower.attend()
    follower.unlog()
    follower.bypass(text('four'))
    await follower.start()
    await reader.until(({ numbers }) => numbers.length === 4)
    t.equal(reader.ended, undefined)
    follower.bypass(text('five'))
    follower.bypassEnd()
    await reader.until(({ ended }) => ended !== undefined)
    t.same(reader.numbers, [1, 2, 3, 0, 0])
    t.same(reader.texts, ['1', '2', '3', 'four', 'five'])
  }
)

t.test('messages that cannot wait for a log that is gone do not', async t => {
  const { log, reader, follow } = await setting(t)
  log.failing.add('read')
  const follower = follow()
  await follower.start()
  follower.unlog()
  follower.bypass(text('live'))
  await reader.until(({ texts }) => texts.length === 1)
  t.same(reader.texts, ['live'])
  follower.bypassEnd()
  await reader.until(({ ended }) => ended === 'clean')
})

t.test('when only the end could not be logged, what is in the log is still waited for', async t => {
  const { log, writer, reader, follow } = await setting(t)
  await writer.append(text('response'))
  log.failing.add('read')
  const follower = follow()
  await follower.start()
  follower.unlog()
  follower.bypassEnd()
  await turn()
  t.equal(reader.ended, undefined)
  log.failing.delete('read')
  await reader.until(({ ended }) => ended === 'clean')
  t.same(reader.texts, ['response'])
})

t.test('a stream that the log lost ends, but not while its exchange runs here', async t => {
  const { log, writer, reader, follow } = await setting(t)
  await writer.append(text(1))
  const follower = follow()
  follower.attend()
  await follower.start()
  await log.purge(key.session)
  await turn()
  t.equal(reader.ended, undefined)
  follower.bypassEnd()
  await reader.until(({ ended }) => ended === 'clean')
})

t.test('finish: what is in the log goes out first, then the reader is handed over (R35)', async t => {
  const { writer, reader, follow } = await setting(t)
  reader.slow = true
  const follower = follow()
  await follower.start()
  for (const i of upTo(3)) await writer.append(text(i))
  const handed: unknown[] = []
  follower.finish(last => void handed.push(last))
  reader.slow = false
  reader.drain()
  await reader.until(({ numbers }) => numbers.length === 3)
  await turn()
  t.same(handed, [reader])
  t.equal(reader.ended, undefined)
})
