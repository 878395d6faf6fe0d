import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Follower } from '../../src/streams/follow.ts'
import { type Outgoing, Pump } from '../../src/streams/pump.ts'
import type { Trickle } from '../../src/streams/trickle.ts'
import { facts } from '../../src/telemetry/events.ts'
import { FakeReader } from '../helpers/fake-reader.ts'
import { FaultyLog, type Operation } from '../helpers/faulty-log.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const key = { session: 's', stream: 'stream-1' }

/** A source that says what it is told, when it is told. */
class Told {
  readonly #waiting: (Outgoing | undefined)[] = []
  #reader: ((outgoing: Outgoing | undefined) => void) | undefined
  asked = 0

  say(text: string | undefined, options: Partial<Outgoing> = {}): void {
    const outgoing = text === undefined ? undefined : { data: Buffer.from(text), ...options }
    if (this.#reader === undefined) this.#waiting.push(outgoing)
    else this.#reader(outgoing)
    this.#reader = undefined
  }

  next(): Promise<Outgoing | undefined> {
    this.asked++
    if (this.#waiting.length > 0) return Promise.resolve(this.#waiting.shift())
    return new Promise(resolve => {
      this.#reader = resolve
    })
  }
}

async function setting(t: Test, { behind = 256, logged = true } = {}) {
  const log = new FaultyLog()
  const source = new Told()
  const writer = logged ? await log.open(key, '{}') : undefined
  const pump = new Pump(source, writer, behind)
  const reader = new FakeReader()
  t.teardown(() => {
    reader.leave()
    return log.close()
  })
  const attach = async (after = 0, to = reader): Promise<Follower> => {
    const follower = new Follower(log, key, after, to)
    pump.attach(follower)
    await follower.start()
    return follower
  }
  return { log, source, pump, reader, attach }
}

t.test('messages are logged before they are delivered, with their places, and end the stream (R17)', async t => {
  const { log, source, pump, reader, attach } = await setting(t)
  await attach()
  const run = pump.run()
  source.say('one', { place: 'here' })
  source.say('two', { expendable: true, label: 'ask' })
  source.say(undefined)
  await run
  await reader.until(({ ended }) => ended === 'clean')
  t.same(
    reader.given.map(({ id, data }) => `${id} ${data}`),
    ['stream-1_1 one', 'stream-1_2 two']
  )
  const slice = await log.read(key, 0, 10)
  t.same(
    slice.entries.map(({ label }) => label),
    [undefined, 'ask']
  )
  t.match(slice, { state: 'over', last: 2 })
  t.ok(pump.logged)
  t.equal(pump.last, 2)
})

t.test('without any reader it runs to the end: the result waits in the log (R17, CAN-03)', async t => {
  const { log, source, pump } = await setting(t, { behind: 2 })
  const run = pump.run()
  for (let i = 0; i < 50; i++) source.say(`${i}`)
  source.say(undefined)
  await run
  t.match(await log.read(key, 49, 10), { state: 'over', last: 50 })
})

for (const operation of ['append', 'end'] as Operation[]) {
  t.test(`a log whose ${operation} fails stops nothing: the reader gets every message once (RES-06)`, async t => {
    const { log, source, pump, reader, attach } = await setting(t)
    const dropped: string[] = []
    t.teardown(facts.drop.subscribe(({ reason }) => void dropped.push(reason)))
    await attach()
    const run = pump.run()
    source.say('one')
    await reader.until(({ numbers }) => numbers.length === 1)
    log.failing.add(operation)
    source.say('two')
    source.say('three')
    source.say(undefined)
    await run
    await reader.until(({ ended }) => ended === 'clean')
    t.same(reader.texts, ['one', 'two', 'three'])
    t.same(reader.numbers, operation === 'append' ? [1, 0, 0] : [1, 2, 3])
    t.same(dropped, ['log_failed'], 'counted once')
    t.equal(pump.logged, false)
    t.equal(log.asked.append, operation === 'append' ? 2 : 3, 'not tried again')
  })
}

t.test('a stream that could not be opened in the log is delivered live alone', async t => {
  const { source, pump, reader, attach } = await setting(t, { logged: false })
  await attach()
  const run = pump.run()
  source.say('one')
  source.say(undefined)
  await run
  await reader.until(({ ended }) => ended === 'clean')
  t.same(reader.given, [{ data: 'one' }])
})

t.test('a connection that takes over gets what comes past the log too', async t => {
  const { log, source, pump, reader, attach } = await setting(t)
  const first = await attach()
  const run = pump.run()
  source.say('one')
  await reader.until(({ numbers }) => numbers.length === 1)
  log.failing.add('append')
  source.say('two')
  await reader.until(({ texts }) => texts.length === 2)
  first.stop()
  const second = new FakeReader()
  await attach(1, second)
  source.say('three')
  source.say(undefined)
  await run
  await second.until(({ ended }) => ended === 'clean')
  t.same(second.texts, ['three'])
})

t.test('a reader far behind slows the source; without the reader it goes on (decisions: "Slow reader")', async t => {
  const { source, pump, reader, attach } = await setting(t, { behind: 4 })
  await attach()
  reader.slow = true
  const run = pump.run()
  for (let i = 1; i <= 20; i++) source.say(`${i}`)
  await until('the source is left alone', () => source.asked === 5)
  for (let i = 0; i < 10; i++) await turn()
  t.equal(source.asked, 5, 'one was taken, four wait')
  reader.slow = false
  reader.drain()
  await until('all were taken', () => source.asked === 21)
  t.equal(reader.texts.length, 20)
  reader.slow = true
  for (let i = 21; i <= 40; i++) source.say(`${i}`)
  await until('the source is left alone again', () => source.asked === 25)
  reader.leave()
  source.say(undefined)
  await run
})

t.test('a flood that nobody reads goes on slowly, and at full speed for whoever comes back', async t => {
  const log = new FaultyLog()
  t.teardown(() => log.close())
  const source = new Told()
  const turns: (() => void)[] = []
  const trickle = { turn: () => new Promise<void>(resolve => turns.push(resolve)) } as unknown as Trickle
  const pump = new Pump(source, await log.open(key, '{}'), 5, trickle)
  const run = pump.run()
  for (let i = 0; i < 20; i++) source.say(`${i}`)
  await until('it waits', () => turns.length === 1)
  t.equal(pump.last, 6, 'as many as a reader may be behind are free')
  turns.shift()!()
  await until('it waits again', () => turns.length === 1)
  t.equal(pump.last, 7)
  const reader = new FakeReader()
  const follower = new Follower(log, key, 0, reader)
  pump.attach(follower)
  await follower.start()
  turns.shift()!()
  source.say(undefined)
  await run
  await reader.until(({ ended }) => ended === 'clean')
  t.equal(reader.texts.length, 20)
  t.same(turns, [])
})

t.test(
  'a stream that another instance claimed is read from the log: what still comes here is dropped (REP-03)',
  async t => {
    const { log, source, pump, reader, attach } = await setting(t)
    await attach()
    const run = pump.run()
    source.say('one')
    await reader.until(({ numbers }) => numbers.length === 1)
    const claimed = await log.claim(key, (await log.owner(key))!, 'another')
    source.say('late')
    await until('it to be noticed', () => pump.fenced)
    source.say('later')
    source.say(undefined)
    await run
    t.equal(reader.ended, undefined, 'the stream goes on')
    await claimed!.writer.append(Buffer.from('two'))
    await claimed!.writer.end()
    await reader.until(({ ended }) => ended === 'clean')
    t.same(reader.texts, ['one', 'two'])
  }
)
