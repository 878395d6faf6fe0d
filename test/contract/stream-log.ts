/** What every StreamLog does (R17, RES-01, RES-03, RES-05, RES-06): one exported suite for all implementations. */
import t, { type Test } from 'tap'
import type { InstanceId } from '../../src/instances/presence.ts'
import {
  Fenced,
  Lost,
  type Slice,
  type StreamBounds,
  type StreamKey,
  type StreamLog
} from '../../src/streams/stream-log.ts'
import { until } from '../helpers/until.ts'

export interface StreamLogHarness {
  /** Logs of two instances on one store; an implementation for one instance gives the same twice. */
  readonly log: StreamLog
  readonly other: StreamLog
  /** Who `log` writes as. */
  readonly instance: InstanceId
  /** Moves the time that the store goes by; a store with a time of its own really waits. */
  advance(ms: number): Promise<void>
  /** The store forgets what it has of this session, as one that was flushed or restarted empty. */
  empty(session: string): Promise<void>
  /** Bytes in use in the store. Absent: not measured. */
  usedBytes?(): Promise<number>
  /** Breaks the connection to the store and lets it come back. Absent: there is none. */
  interrupt?(): Promise<void>
  close(): Promise<void>
}

/** Tests move the time by this. */
const retainMs = 400

const wide: StreamBounds = { events: 1_000, bytes: 1 << 20, total: 1 << 26, retainMs }

/** A buffer of its own, as the port asks for. */
const data = (text: string): Buffer => {
  const buffer = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  buffer.write(text)
  return buffer
}

const texts = (slice: Slice): string[] => slice.entries.map(entry => Buffer.from(entry.data).toString())
const numbers = (slice: Slice): number[] => slice.entries.map(entry => entry.number)
/** What a promise rejects with. */
const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error
  )

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i)

export function streamLogContract(name: string, make: (bounds: StreamBounds) => Promise<StreamLogHarness>): void {
  const key: StreamKey = { session: 'session', stream: 'stream' }

  const test = (
    title: string,
    run: (t: Test, harness: StreamLogHarness) => Promise<void>,
    bounds?: Partial<StreamBounds>
  ) =>
    t.test(`${name}: ${title}`, async t => {
      const harness = await make({ ...wide, ...bounds })
      t.teardown(() => harness.close())
      await run(t, harness)
    })

  test('entries count from 1 and are read after a cursor, in order, as they were written', async (t, {
    log,
    other
  }) => {
    const writer = await log.open(key, '{"of":1}')
    const binary = Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i))
    t.equal(await writer.append(data('one')), 1)
    t.equal(await writer.append(binary), 2)
    t.equal(await writer.append(data('')), 3)
    const slice = await other.read(key, 0, 10)
    t.match(slice, { state: 'entries', last: 3, ended: false, facts: '{"of":1}' })
    t.same(numbers(slice), [1, 2, 3])
    t.same(texts(slice)[0], 'one')
    t.ok(Buffer.from(slice.entries[1]!.data).equals(binary), 'every byte value')
    t.equal(slice.entries[2]!.data.byteLength, 0)
    t.same(numbers(await other.read(key, 1, 10)), [2, 3])
    t.same(numbers(await other.read(key, 1, 1)), [2], 'at most limit')
    t.same(numbers(await other.read(key, 3, 10)), [])
  })

  test('a label comes back with its entry, and no label with the others', async (t, { log, other }) => {
    const writer = await log.open(key, '')
    await writer.append(data('ask'), { label: '"ask-1"' })
    await writer.append(data('plain'))
    await log.post({ ...key, stream: 'posts' }, data('posted'), { label: '7' })
    const [ask, plain] = (await other.read(key, 0, 10)).entries
    t.equal(ask?.label, '"ask-1"')
    t.notOk(plain !== undefined && 'label' in plain)
    t.equal((await other.read({ ...key, stream: 'posts' }, 0, 10)).entries[0]?.label, '7')
  })

  test('the cursor 0 of a stream without entries is valid', async (t, { log, other }) => {
    await log.open(key, 'facts')
    t.match(await other.read(key, 0, 10), { state: 'entries', last: 0, ended: false, facts: 'facts' })
  })

  test('RES-03: no such stream, and a cursor past the last entry, are unknown', async (t, { log, other }) => {
    t.match(await other.read(key, 0, 10), { state: 'unknown', entries: [] })
    const writer = await log.open(key, '')
    t.match(await other.read(key, 1, 10), { state: 'unknown', entries: [] }, 'a cursor that was never given')
    await writer.append(data('one'))
    t.equal((await other.read(key, 1, 10)).state, 'entries')
    t.match(await other.read(key, 2, 10), { state: 'unknown', entries: [] })
    await writer.end()
    t.equal((await other.read(key, 2, 10)).state, 'unknown')
  })

  test('RES-01: streams and sessions never mix, whatever their names', async (t, { log }) => {
    const keys: StreamKey[] = []
    for (const session of ['a', 'a:b', 'b', '__proto__', '{a}']) {
      for (const stream of ['c', 'b:c', ':c', '*', 'c^', 'constructor', '__proto__']) keys.push({ session, stream })
    }
    for (const each of keys) await log.post(each, data(JSON.stringify(each)))
    for (const each of keys) t.same(texts(await log.read(each, 0, 10)), [JSON.stringify(each)])
    t.equal((await log.read({ session: 'unknown', stream: 'c' }, 0, 10)).state, 'unknown')
  })

  test('a stream with one writer is opened once, and takes no posts', async (t, { log, other }) => {
    const writer = await log.open(key, 'first')
    await t.rejects(other.open(key, 'second'))
    await t.rejects(other.post(key, data('posted')))
    await other.ensure(key)
    await writer.append(data('one'))
    t.match(await other.read(key, 0, 10), { last: 1, facts: 'first' })
    await writer.end()
    await t.rejects(other.open(key, 'after its end'))
    await log.ensure({ ...key, stream: 'posts' })
    await t.rejects(other.open({ ...key, stream: 'posts' }, ''), 'a stream of posts has no writer')
  })

  test('after the end of a stream its entries are left, and nothing follows', async (t, { log, other }) => {
    const writer = await log.open(key, 'facts')
    for (const i of range(1, 5)) await writer.append(data(`${i}`))
    await writer.end()
    await writer.end()
    const slice = await other.read(key, 1, 2)
    t.match(slice, { state: 'entries', last: 5, ended: true }, 'more than limit is left')
    t.same(numbers(slice), [2, 3])
    t.match(await other.read(key, 3, 2), { state: 'over', last: 5, ended: true, facts: 'facts' })
    t.match(await other.read(key, 5, 2), { state: 'over', entries: [], ended: true })
    await t.rejects(writer.append(data('late')), new Error('the stream has ended'))
    t.match(await other.read(key, 0, 10), { state: 'over', last: 5 })
  })

  test('a stream that ends without an entry is over', async (t, { log, other }) => {
    await (await log.open(key, '')).end()
    t.match(await other.read(key, 0, 10), { state: 'over', entries: [], last: 0, ended: true })
  })

  test('an ended stream is kept for its time and not longer; an open one stays', async (t, { log, other, advance }) => {
    const open = await log.open({ ...key, stream: 'open' }, '')
    await open.append(data('one'))
    const writer = await log.open(key, '')
    await writer.append(data('one'))
    await advance(retainMs * 2)
    await writer.end()
    await advance(retainMs / 4)
    t.equal((await other.read(key, 0, 10)).state, 'over')
    await advance(retainMs)
    t.match(await other.read(key, 0, 10), { state: 'unknown', entries: [] })
    t.type(await refusal(writer.end()), Lost)
    t.equal(await open.append(data('two')), 2)
    t.same(numbers(await other.read({ ...key, stream: 'open' }, 0, 10)), [1, 2])
  })

  test(
    'R17: over its number of entries a stream loses what is expendable first, then the oldest',
    async (t, { log, other }) => {
      const writer = await log.open(key, '')
      for (const i of range(1, 6)) await writer.append(data(`${i}`), { expendable: i % 2 === 0 })
      let slice = await other.read(key, 0, 10)
      t.same(numbers(slice), [1, 3, 5, 6], 'the older expendable ones went')
      t.match(slice, { state: 'entries', last: 6 }, 'which is no gap')
      t.same(numbers(await other.read(key, 2, 10)), [3, 5, 6], 'a cursor at one that went')
      await writer.append(data('7'))
      await writer.append(data('8'))
      slice = await other.read(key, 0, 10)
      t.same(numbers(slice), [3, 5, 7, 8])
      t.match(slice, { state: 'trimmed', last: 8, ended: false }, 'the first is gone and was not expendable')
      t.equal((await other.read(key, 1, 10)).state, 'entries', 'who has it misses nothing')
      await writer.append(data('9'), { expendable: true })
      slice = await other.read(key, 1, 10)
      t.same(numbers(slice), [3, 5, 7, 8], 'what is expendable never drives out what is not')
      t.match(slice, { state: 'entries', last: 9 })
      t.match(await other.read(key, 9, 10), { state: 'entries', entries: [] }, 'its number was given all the same')
      await writer.end()
      t.match(await other.read(key, 0, 10), { state: 'trimmed', ended: true })
    },
    { events: 4 }
  )

  test(
    'over its bytes a stream is trimmed the same way, and an entry that is larger stays alone',
    async (t, { log, other }) => {
      const writer = await log.open(key, '')
      await writer.append(data('a'.repeat(40)))
      await writer.append(data('b'.repeat(40)), { expendable: true })
      await writer.append(data('c'.repeat(20)))
      t.same(numbers(await other.read(key, 0, 10)), [1, 2, 3], 'exactly full')
      await writer.append(data('d'))
      t.same(numbers(await other.read(key, 0, 10)), [1, 3, 4])
      await writer.append(data('e'.repeat(101)))
      t.same(numbers(await other.read(key, 0, 10)), [5])
      t.equal((await other.read(key, 0, 10)).state, 'trimmed')
      await writer.append(data('f'))
      t.same(numbers(await other.read(key, 0, 10)), [6])
    },
    { bytes: 100 }
  )

  test(
    'a stream of posts is bounded too',
    async (t, { log, other }) => {
      for (const i of range(1, 10)) await log.post(key, data(`${i}`), { expendable: i === 9 })
      const slice = await other.read(key, 0, 10)
      t.match(slice, { state: 'trimmed', last: 10, facts: '' })
      t.same(numbers(slice), [7, 8, 10])
    },
    { events: 3 }
  )

  test('many writers post to one stream: every number once, no entry lost', async (t, { log, other }) => {
    const given = await Promise.all(range(1, 100).map(i => (i % 2 === 0 ? log : other).post(key, data(`${i}`))))
    t.same(
      given.toSorted((a, b) => a - b),
      range(1, 100)
    )
    const slice = await log.read(key, 0, 200)
    t.same(numbers(slice), range(1, 100))
    for (const [i, number] of given.entries()) t.equal(texts(slice)[number - 1], `${i + 1}`)
    t.match(slice, { state: 'entries', ended: false })
  })

  test('ensure makes a stream and leaves one alone that is there', async (t, { log, other }) => {
    await Promise.all([log.ensure(key), other.ensure(key)])
    t.match(await other.read(key, 0, 10), { state: 'entries', entries: [], last: 0, ended: false, facts: '' })
    await log.post(key, data('one'))
    await other.ensure(key)
    t.same(numbers(await other.read(key, 0, 10)), [1])
  })

  test('a watcher wakes after append, claim, end and purge, also when it came before the stream', async (t, h) => {
    let woken = 0
    const step = async (what: string, run: () => Promise<unknown>): Promise<void> => {
      const before = woken
      await run()
      await until(what, () => woken > before)
      t.pass(what)
    }
    await h.other.watch(key, () => woken++)
    const writer = await h.log.open(key, '')
    await step('append', () => writer.append(data('one')))
    const claim = async () => (await h.other.claim(key, h.instance, 'heir'))?.writer
    let heir: Awaited<ReturnType<typeof claim>>
    await step('claim', async () => {
      heir = await claim()
    })
    await step('append of the claimant', () => heir!.append(data('two')))
    await step('end', () => heir!.end())
    await step('purge', () => h.log.purge(key.session))
    await step('a new stream of that name', () => h.log.post(key, data('again')))
  })

  test('several watch one stream, one twice; whoever stopped is not woken', async (t, { log, other }) => {
    const woken = { a: 0, b: 0 }
    const a = () => void woken.a++
    const first = await log.watch(key, a)
    const second = await log.watch(key, a)
    await other.watch(key, () => woken.b++)
    await log.post(key, data('one'))
    await until('all three', () => woken.a >= 2 && woken.b >= 1)
    await first()
    await first()
    woken.a = woken.b = 0
    await log.post(key, data('two'))
    await until('the other two', () => woken.a >= 1 && woken.b >= 1)
    t.equal(woken.a, 1)
    await second()
    woken.a = woken.b = 0
    await log.post(key, data('three'))
    await until('the last one', () => woken.b >= 1)
    t.equal(woken.a, 0)
  })

  test('nobody is woken by another stream', async (t, { log, other }) => {
    let woken = 0
    await other.watch(key, () => woken++)
    const near = await other.watch({ ...key, stream: 'stream^' }, () => t.fail('woken by another stream'))
    await log.post({ ...key, session: 'another' }, data('one'))
    await log.post({ ...key, stream: 'another' }, data('one'))
    await log.purge('another')
    t.equal(woken, 0)
    await log.post(key, data('one'))
    await until('its own', () => woken > 0)
    await near()
  })

  test('RES-05: what is appended between watch and read is read, and the reader is woken', async (t, {
    log,
    other
  }) => {
    const writer = await log.open(key, '')
    await writer.append(data('before'))
    let woken = 0
    const unwatch = await other.watch(key, () => woken++)
    await writer.append(data('between'))
    t.same(texts(await other.read(key, 0, 10)), ['before', 'between'])
    await until('the wake', () => woken > 0)
    await unwatch()
  })

  test('a reader that only reads when woken misses nothing and sees nothing twice', async (t, { log, other }) => {
    const seen: string[] = []
    let over = false
    let after = 0
    let running = Promise.resolve()
    const look = () => {
      running = running.then(async () => {
        const slice = await other.read(key, after, 3)
        seen.push(...texts(slice))
        after = slice.entries.at(-1)?.number ?? after
        over = slice.state === 'over'
        if (slice.entries.length === 3) look()
      })
    }
    const writer = await log.open(key, '')
    const unwatch = await other.watch(key, look)
    look()
    for (const i of range(1, 50)) {
      const appended = writer.append(data(`${i}`))
      if (i % 7 === 0) await appended
      if (i % 11 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    await writer.end()
    await until('the end', () => over)
    await unwatch()
    await running
    t.same(
      seen,
      range(1, 50).map(i => `${i}`)
    )
  })

  test('a stream has an owner while it is open, and streams of posts have none', async (t, {
    log,
    other,
    instance
  }) => {
    t.equal(await other.owner(key), undefined)
    const writer = await log.open(key, '')
    t.equal(await other.owner(key), instance)
    await other.claim(key, instance, 'heir')
    t.equal(await log.owner(key), 'heir')
    t.type(await refusal(writer.end()), Fenced)
    t.equal(await log.owner(key), 'heir')
    const next = await log.open({ ...key, stream: 'next' }, '')
    await next.end()
    t.equal(await other.owner({ ...key, stream: 'next' }), undefined)
    await log.post({ ...key, stream: 'posts' }, data('one'))
    t.equal(await other.owner({ ...key, stream: 'posts' }), undefined)
  })

  test('a claimant gets what it needs to go on, and goes on counting', async (t, { log, other, instance }) => {
    const writer = await log.open(key, 'facts', 'place 0')
    await writer.append(data('one'), { place: 'place 1' })
    await writer.append(data('two'))
    const claimed = await other.claim(key, instance, 'heir')
    t.match(claimed, { facts: 'facts', place: 'place 1', last: 2 })
    t.equal(await claimed?.writer.append(data('three'), { place: 'place 3' }), 3)
    t.match(await other.claim(key, 'heir', 'third'), { place: 'place 3', last: 3 })
    t.same(texts(await log.read(key, 0, 10)), ['one', 'two', 'three'])
  })

  test('the place of a priming event is kept although there is no entry', async (t, { log, other, instance }) => {
    const writer = await log.open(key, 'facts', '0')
    t.match(await other.claim(key, instance, 'heir'), { facts: 'facts', place: '0', last: 0 })
    t.type(await refusal(writer.append(data('late'), { place: '1' })), Fenced)
    await log.open({ ...key, stream: 'no place' }, '')
    t.equal((await other.claim({ ...key, stream: 'no place' }, instance, 'heir'))?.place, undefined)
  })

  test('the append of a fenced writer rejects and changes nothing', async (t, { log, other, instance }) => {
    const writer = await log.open(key, '', 'first')
    await writer.append(data('one'))
    const heir = (await other.claim(key, instance, 'heir'))!.writer
    let woken = 0
    await log.watch(key, () => woken++)
    const before = await log.read(key, 0, 10)
    t.type(await refusal(writer.append(data('two'), { place: 'second', label: 'x' })), Fenced)
    t.type(await refusal(writer.end()), Fenced)
    t.same(await log.read(key, 0, 10), before)
    t.equal(woken, 0)
    t.equal(await heir.append(data('two')), 2)
    await heir.end()
    t.type(await refusal(writer.append(data('three'))), Fenced, 'also after the end')
    t.equal((await other.claim(key, 'heir', 'third'))?.place, undefined)
  })

  test('an append under way and a claim: it is in the stream of the claimant, or it was rejected', async (t, h) => {
    for (const i of range(1, 20)) {
      const each = { ...key, stream: `${i}` }
      const writer = await h.log.open(each, '')
      const append = () =>
        writer.append(data('race')).then(
          () => true,
          error => {
            t.type(error, Fenced)
            return false
          }
        )
      const claim = () => h.other.claim(each, h.instance, 'heir')
      const [kept, claimed] =
        i % 2 === 0
          ? await Promise.all([append(), claim()])
          : await Promise.all([claim(), append()]).then(([claimed, kept]) => [kept, claimed] as const)
      t.equal(claimed?.last, kept ? 1 : 0)
      t.equal((await h.other.read(each, 0, 10)).last, kept ? 1 : 0)
    }
  })

  test('two claim, one wins', async (t, { log, other, instance }) => {
    for (const i of range(1, 10)) {
      const each = { ...key, stream: `${i}` }
      await log.open(each, '')
      const claims = await Promise.all([
        log.claim(each, instance, 'a'),
        other.claim(each, instance, 'b'),
        log.claim(each, instance, 'c')
      ])
      const winners = claims.filter(claimed => claimed !== undefined)
      t.equal(winners.length, 1)
      t.equal(await log.owner(each), ['a', 'b', 'c'][claims.indexOf(winners[0])])
      t.equal(await winners[0]!.writer.append(data('mine')), 1)
    }
  })

  test('nothing is claimed from somebody else, of an ended, unknown or posted stream', async (t, {
    log,
    other,
    instance
  }) => {
    t.equal(await other.claim(key, instance, 'heir'), undefined)
    const writer = await log.open(key, '')
    t.equal(await other.claim(key, 'somebody else', 'heir'), undefined)
    t.equal(await writer.append(data('one')), 1)
    await writer.end()
    t.equal(await other.claim(key, instance, 'heir'), undefined)
    await log.post({ ...key, stream: 'posts' }, data('one'))
    t.equal(await other.claim({ ...key, stream: 'posts' }, instance, 'heir'), undefined)
  })

  test('RES-06: after the store was emptied a writer is lost, never fenced, and brings nothing back', async (t, h) => {
    const writer = await h.log.open(key, '', 'place')
    await writer.append(data('one'))
    const fenced = await h.log.open({ ...key, stream: 'claimed' }, '')
    await h.other.claim({ ...key, stream: 'claimed' }, h.instance, 'heir')
    await h.empty(key.session)
    for (const each of [writer, fenced]) {
      t.type(await refusal(each.append(data('two'))), Lost)
      t.type(await refusal(each.end()), Lost)
    }
    t.match(await h.other.read(key, 0, 10), { state: 'unknown', last: 0 })
    t.equal(await h.other.owner(key), undefined)
    t.equal(await h.other.claim(key, h.instance, 'heir'), undefined)
  })

  test('who takes a stream reads it: whoever read before sees that, and is woken', async (t, { log, other }) => {
    t.notOk(await log.take(key, 'first'), 'there is none to take')
    t.equal((await log.read(key, 0, 10)).state, 'unknown', 'and none is made')
    const writer = await log.open(key, '')
    t.equal((await other.read(key, 0, 10)).taken, undefined)
    t.ok(await log.take(key, 'first'))
    t.same((await log.read(key, 0, 10)).taken, { reader: 'first', given: 0 })
    let woken = 0
    await log.watch(key, () => woken++)
    t.ok(await other.take(key, 'second'))
    await until('the wake', () => woken > 0)
    t.equal((await log.read(key, 0, 10)).taken?.reader, 'second')
    await writer.append(data('one'))
    await writer.end()
    t.match(await log.read(key, 0, 10), { state: 'over', taken: { reader: 'second' } }, 'also of one that ends')
  })

  test('what was given is known to whoever takes the stream next; who reads no more says nothing of it', async (t, {
    log,
    other
  }) => {
    await log.ensure(key)
    await log.take(key, 'first')
    for (const i of range(1, 3)) await log.post(key, data(`${i}`))
    await log.give(key, 'first', 2)
    await log.give(key, 'first', 1)
    t.same((await other.read(key, 0, 1)).taken, { reader: 'first', given: 2 }, 'the highest counts')
    t.ok(await other.take(key, 'second'))
    await log.give(key, 'first', 3)
    t.same((await other.read(key, 0, 1)).taken, { reader: 'second', given: 2 })
    await other.purge(key.session)
    await log.give(key, 'second', 3)
    t.notOk(await log.take(key, 'third'))
    await log.ensure(key)
    t.equal((await log.read(key, 0, 1)).taken, undefined)
    t.ok(await log.take(key, 'third'))
    t.same((await log.read(key, 0, 1)).taken, { reader: 'third', given: 0 }, 'a new stream begins anew')
  })

  test('purge takes every stream of a session and of no other', async (t, { log, other }) => {
    const writer = await log.open(key, '')
    await writer.append(data('one'))
    await log.post({ ...key, stream: 'posts' }, data('one'))
    await log.post({ ...key, session: 'session2' }, data('kept'))
    await other.purge(key.session)
    await other.purge('unknown')
    t.equal((await log.read(key, 0, 10)).state, 'unknown')
    t.equal((await log.read({ ...key, stream: 'posts' }, 0, 10)).state, 'unknown')
    t.same(texts(await log.read({ ...key, session: 'session2' }, 0, 10)), ['kept'])
    t.type(await refusal(writer.append(data('two'))), Lost)
    const again = await log.open(key, 'again')
    t.equal(await again.append(data('one')), 1, 'the name is free')
  })

  test('a writer of a purged stream never writes into a later one of that name', async (t, { log, other }) => {
    const unwatch = await other.watch(key, () => {})
    const writer = await log.open(key, 'first')
    await log.purge(key.session)
    const next = await log.open(key, 'second')
    await t.rejects(writer.append(data('late')))
    await t.rejects(writer.end())
    t.match(await other.read(key, 0, 10), { state: 'entries', entries: [], last: 0, facts: 'second' })
    t.equal(await next.append(data('one')), 1)
    await unwatch()
  })

  test('one buffer in many streams is read unchanged from each', async (t, { log, other }) => {
    const shared = data('shared'.repeat(20))
    const keys = range(1, 200).map(i => ({ session: `${i}`, stream: 'channel' }))
    await Promise.all(keys.map(each => log.post(each, shared)))
    for (const each of keys) t.ok(Buffer.from((await other.read(each, 0, 1)).entries[0]!.data).equals(shared))
  })

  test('an event of 200 bytes is kept in less than 1 KB', async (t, { log, usedBytes }) => {
    if (usedBytes === undefined) return
    const count = 2_000
    const bounds = 500
    const before = await usedBytes()
    for (let i = 0; i < count; i += bounds) {
      const writer = await log.open({ ...key, stream: `${i}` }, '{}')
      for (const j of range(1, bounds)) {
        await writer.append(data(`${i + j}`.padEnd(200)), { place: `${j}`, expendable: j % 3 === 0 })
      }
    }
    const each = ((await usedBytes()) - before) / count
    t.ok(each < 1_000, `${Math.round(each)} bytes`)
    t.equal((await log.read({ ...key, stream: '0' }, 0, 1_000)).entries.length, bounds)
  })

  test('a gap in the connection wakes, and watchers wake afterwards', async (t, { log, other, interrupt }) => {
    if (interrupt === undefined) return
    let woken = 0
    const unwatch = await other.watch(key, () => woken++)
    await interrupt()
    await until('the wake after the gap', () => woken > 0)
    woken = 0
    await until('the log to take a post', () =>
      log.post(key, data('one')).then(
        () => true,
        () => false
      )
    )
    await until('the wake of the post', () => woken > 0)
    t.pass()
    await unwatch()
  })
}
