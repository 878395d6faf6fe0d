import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { MessageSource } from '../../src/exchanges/source.ts'
import { Posts } from '../../src/gateway/posts.ts'
import { makeNotification, makeRequest, makeResult } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import { type Cursor, parseEventId } from '../../src/streams/event-id.ts'
import type { StreamBounds } from '../../src/streams/stream-log.ts'
import { facts, type NoticeFact } from '../../src/telemetry/events.ts'
import { Clock } from '../helpers/clock.ts'
import { FakeReader } from '../helpers/fake-reader.ts'
import { FaultyLog } from '../helpers/faulty-log.ts'
import { liveOf } from '../helpers/live.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const progress = (value: number): Message => makeNotification('notifications/progress', { progress: value })
const response = makeResult('7', { ok: true })

/** A call that says what it is told, when it is told. */
class Told implements MessageSource {
  readonly #waiting: (Message | undefined)[] = []
  #reader: PromiseWithResolvers<Message | undefined> | undefined
  closeStream: () => void = () => {}

  say(...messages: (Message | undefined)[]): this {
    for (const message of messages) {
      if (this.#reader === undefined) this.#waiting.push(message)
      else this.#reader.resolve(message)
      this.#reader = undefined
    }
    return this
  }

  next(): Promise<Message | undefined> {
    if (this.#waiting.length > 0) return Promise.resolve(this.#waiting.shift())
    this.#reader = Promise.withResolvers()
    return this.#reader.promise
  }

  fail(error: unknown): void {
    this.#reader?.reject(error)
  }

  onCloseStream(listener: () => void): void {
    this.closeStream = listener
  }
}

function setting(t: Test, options: { bounds?: Partial<StreamBounds>; closeAfterMs?: number } = {}) {
  const clock = new Clock()
  const log = new FaultyLog(options.bounds, clock.now)
  const pending = new Set<string>()
  const posts = new Posts(
    log,
    { pending: label => pending.has(label) },
    {
      retryMs: 1_000,
      closeAfterMs: options.closeAfterMs,
      behind: 256
    }
  )
  t.teardown(() => log.close())
  const begin = (live: Live = liveOf(), ids: string[] = ['7'], reader = new FakeReader()) => {
    const call = new Told()
    let over = false
    posts.run(live, call, { ids }, reader, () => {
      over = true
    })
    return { live, call, reader, over: () => until('the call is over', () => over) }
  }
  const resume = async (live: Live, cursor: Cursor, reader = new FakeReader()): Promise<FakeReader> => {
    const run = await posts.resume(live, cursor)
    run(reader)
    return reader
  }
  return { clock, log, pending, posts, begin, resume }
}

/** Where a reader stands: its last id. */
const cursorOf = (reader: FakeReader): Cursor => parseEventId(reader.given.findLast(({ id }) => id !== undefined)!.id!)!

const values = ({ texts }: FakeReader): unknown[] =>
  texts.map(text => {
    const { params, result, error, method, id } = JSON.parse(text)
    return params?.progress ?? error?.data?.reason ?? (result === undefined ? (id ?? method) : 'result')
  })

t.test('primed, then messages with ids, then the end (R17, R18)', async t => {
  const { begin } = setting(t)
  const { call, reader, over } = begin()
  call.say(progress(1), response, undefined)
  await over()
  await reader.until(({ ended }) => ended === 'clean')
  t.match(reader.given[0], { id: /_0$/, retry: 1_000 })
  t.same(values(reader), [1, 'result'])
  t.same(reader.numbers, [1, 2])
})

t.test('older sessions get a comment in place of an empty event', async t => {
  const { begin, resume } = setting(t)
  const { live, call, reader, over } = begin(liveOf({}, '2025-06-18'))
  call.say(progress(1))
  await reader.until(({ texts }) => texts.length === 1)
  t.equal(reader.comments, 1)
  t.same(
    reader.given.map(({ retry }) => retry),
    [undefined]
  )
  reader.leave()
  const again = await resume(live, cursorOf(reader))
  call.say(response, undefined)
  await over()
  await again.until(({ ended }) => ended === 'clean')
  t.equal(again.comments, 1)
  t.same(values(again), ['result'])
})

t.test('while it runs: exactly what follows, live until the response, then the end (R17)', async t => {
  const { begin, resume } = setting(t)
  const { live, call, reader, over } = begin()
  call.say(progress(1))
  await reader.until(({ texts }) => texts.length === 1)
  reader.leave()
  call.say(progress(2))
  const again = await resume(live, cursorOf(reader))
  await again.until(({ texts }) => texts.length === 1)
  t.match(again.given[0], { id: /_1$/, retry: 1_000 }, 'primed with the cursor it came with')
  call.say(progress(3), response, undefined)
  await over()
  await again.until(({ ended }) => ended === 'clean')
  t.same(values(again), [2, 3, 'result'])
})

t.test(
  'a second connection for the same stream ends the first; a GET that is gone already does not (RES-05)',
  async t => {
    const { begin, resume } = setting(t)
    const { live, call, reader } = begin()
    call.say(progress(1))
    await reader.until(({ texts }) => texts.length === 1)
    const gone = new FakeReader()
    gone.leave()
    await resume(live, { ...cursorOf(reader), number: 0 }, gone)
    t.equal(reader.ended, undefined)
    const [one, two] = await Promise.all([resume(live, cursorOf(reader)), resume(live, cursorOf(reader))])
    t.equal(reader.ended, 'clean')
    t.equal(one.ended, 'clean')
    call.say(response, undefined)
    await two.until(({ ended }) => ended === 'clean')
    t.same(values(two), ['result'])
  }
)

t.test('what was delivered to its last event is 405: official clients stop there (decisions)', async t => {
  const { begin, posts } = setting(t)
  const { live, call, reader, over } = begin()
  call.say(progress(1), response, undefined)
  await over()
  await reader.until(({ ended }) => ended === 'clean')
  await t.rejects(posts.resume(live, cursorOf(reader)), {
    code: 'http_method',
    status: 405,
    headers: { allow: 'POST' }
  })
})

t.test('a call that was cancelled before it said anything is over too: 405', async t => {
  const { begin, posts } = setting(t)
  const { live, call, reader, over } = begin()
  call.say(undefined)
  await over()
  await reader.until(({ ended }) => ended === 'clean')
  await t.rejects(posts.resume(live, cursorOf(reader)), { code: 'http_method' })
})

t.test('nothing left but requests that were answered is 405, not an empty stream', async t => {
  const { begin, posts, pending } = setting(t)
  const { live, call, reader, over } = begin()
  await reader.until(({ given }) => given.length === 1)
  reader.leave()
  call.say(makeRequest('"ask"', 'roots/list'), undefined)
  await over()
  const cursor = cursorOf(reader)
  await t.rejects(posts.resume(live, cursor), { code: 'http_method' })
  pending.add('ask')
  t.type(await posts.resume(live, cursor), 'function')
})

for (const [what, of] of [
  ['of no stream', (_: Cursor): Cursor => ({ stream: 'never-issued', number: 0 })],
  ['past the last event', ({ stream, number }: Cursor): Cursor => ({ stream, number: number + 1 })]
] as const) {
  t.test(`a cursor ${what} was never given: 400, while it runs, later and much later (RES-03)`, async t => {
    const { begin, posts, clock } = setting(t, { bounds: { retainMs: 1_000 } })
    const { live, call, reader, over } = begin()
    call.say(progress(1))
    await reader.until(({ texts }) => texts.length === 1)
    const never = { code: 'cursor', status: 400, message: 'no such event was given to this session' }
    await t.rejects(posts.resume(live, of(cursorOf(reader))), never)
    call.say(response, undefined)
    await over()
    await reader.until(({ ended }) => ended === 'clean')
    await t.rejects(posts.resume(live, of(cursorOf(reader))), never)
    clock.advance(1_000)
    await t.rejects(posts.resume(live, of(cursorOf(reader))), never)
  })
}

t.test("another session's cursor is unknown, now and when the log has forgotten it (RES-01)", async t => {
  const { begin, posts, clock } = setting(t, { bounds: { retainMs: 1_000 } })
  const { call, reader, over } = begin()
  call.say(progress(1), response, undefined)
  await over()
  await reader.until(({ ended }) => ended === 'clean')
  await t.rejects(posts.resume(liveOf(), { ...cursorOf(reader), number: 1 }), { code: 'cursor' })
  clock.advance(1_000)
  await t.rejects(posts.resume(liveOf(), { ...cursorOf(reader), number: 1 }), { code: 'cursor' })
})

t.test('the response is gone: one error for each request, then 405 (decisions: "Last-Event-ID")', async t => {
  const { begin, posts, clock, resume } = setting(t, { bounds: { retainMs: 1_000 } })
  const { live, call, reader, over } = begin(liveOf(), ['7', '"b"'])
  call.say(progress(1))
  await reader.until(({ texts }) => texts.length === 1)
  reader.leave()
  call.say(response, makeResult('"b"', {}), undefined)
  await over()
  clock.advance(1_000)
  const late = await resume(live, cursorOf(reader))
  t.equal(late.ended, 'clean')
  t.same(values(late), ['response_gone', 'response_gone'])
  t.same(
    late.texts.map(text => [JSON.parse(text).id, JSON.parse(text).error.code]),
    [
      [7, -32603],
      ['b', -32603]
    ]
  )
  t.match(late.given[0], { id: /_1$/, retry: 1_000 })
  await t.rejects(
    posts.resume(live, cursorOf(late)),
    { code: 'http_method' },
    'a client that comes back after the error stops'
  )
})

t.test('a stream over streams.total goes whole, and ends in that error', async t => {
  const { begin, resume } = setting(t, { bounds: { total: 500 } })
  const { live, call, reader, over } = begin()
  await reader.until(({ given }) => given.length === 1)
  reader.leave()
  call.say(response, undefined)
  await over()
  const other = begin(live)
  other.call.say(makeResult('7', 'x'.repeat(480)), undefined)
  await other.over()
  t.same(values(await resume(live, cursorOf(reader))), ['response_gone'])
})

t.test('trimming takes progress first; the response is resumed (decisions: "Last-Event-ID")', async t => {
  const { begin, resume } = setting(t, { bounds: { events: 5 } })
  const { live, call, reader, over } = begin()
  await reader.until(({ given }) => given.length === 1)
  reader.leave()
  call.say(makeNotification('notifications/y'))
  for (let i = 1; i <= 50; i++) call.say(progress(i))
  call.say(response, undefined)
  await over()
  const again = await resume(live, cursorOf(reader))
  await again.until(({ ended }) => ended === 'clean')
  t.same(values(again), ['notifications/y', 48, 49, 50, 'result'])
})

t.test(
  'a log that fails on the way: who reads gets everything; who comes back after the end gets the error (RES-06)',
  async t => {
    const { begin, log, posts, resume } = setting(t)
    const { live, call, reader, over } = begin()
    call.say(progress(1))
    await reader.until(({ texts }) => texts.length === 1)
    log.failing.add('append')
    call.say(progress(2))
    await reader.until(({ texts }) => texts.length === 2)
    reader.leave()
    const cursor = cursorOf(reader)
    log.failing.clear()
    const again = await resume(live, cursor)
    call.say(response, undefined)
    await over()
    await again.until(({ ended }) => ended === 'clean')
    t.same(values(again), ['result'], 'still running: the response came past the log')
    const late = await resume(live, cursor)
    t.same(values(late), ['response_gone'])
    await t.rejects(posts.resume(live, cursorOf(late)), { code: 'http_method' })
  }
)

t.test('a log that takes no stream at all: no ids, no retry, everything live (RES-06)', async t => {
  const { begin, log } = setting(t, { closeAfterMs: 1 })
  log.failing.add('open')
  const { call, reader, over } = begin()
  call.say(progress(1))
  await reader.until(({ texts }) => texts.length === 1)
  call.closeStream()
  await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(reader.ended, undefined, 'nobody could come back')
  call.say(response, undefined)
  await over()
  await reader.until(({ ended }) => ended === 'clean')
  t.same(values(reader), [1, 'result'])
  t.ok(reader.given.every(({ id, retry }) => id === undefined && retry === undefined))
})

t.test('without a session nothing is logged', async t => {
  const { begin, log } = setting(t)
  const { call, reader, over } = begin({ ...liveOf(), ephemeral: true })
  call.say(progress(1), response, undefined)
  await over()
  await reader.until(({ ended }) => ended === 'clean')
  t.same(reader.numbers, [0, 0])
  t.same(log.asked, { watch: 1, read: log.asked.read })
})

t.test('closeAfter: retry first, then the end; the exchange goes on and is resumed (R18)', async t => {
  const { begin, resume } = setting(t, { closeAfterMs: 5 })
  const { live, call, reader, over } = begin()
  call.say(progress(1))
  await reader.until(({ ended }) => ended === 'clean')
  t.same(reader.given.at(-1), { retry: 1_000 })
  const again = await resume(live, cursorOf(reader))
  await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(again.ended, undefined, 'not a second time')
  call.say(response, undefined)
  await over()
  await again.until(({ ended }) => ended === 'clean')
  t.same([...values(reader), ...values(again)], [1, 'result'])
})

t.test('closeAfter is not for clients that were sent no id first', async t => {
  const { begin } = setting(t, { closeAfterMs: 1 })
  const { call, reader, over } = begin(liveOf({}, '2025-06-18'))
  await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(reader.ended, undefined)
  call.say(response, undefined)
  await over()
})

t.test('closeStream of a handler closes the connection that is there (R18)', async t => {
  const { begin, resume } = setting(t)
  const { live, call, reader, over } = begin()
  call.say(progress(1))
  await reader.until(({ texts }) => texts.length === 1)
  call.closeStream()
  t.equal(reader.ended, 'clean')
  call.closeStream()
  const again = await resume(live, cursorOf(reader))
  call.closeStream()
  t.equal(again.ended, 'clean')
  t.same(again.given.at(-1), { retry: 1_000 })
  call.say(response, undefined)
  await over()
})

t.test('the session is over: connections end, and close waits for whoever still writes (SES-11)', async t => {
  const { begin, posts, log } = setting(t)
  const one = begin()
  const two = begin()
  await one.reader.until(({ given }) => given.length === 1)
  let closed = false
  const closing = posts.close(one.live).then(() => {
    closed = true
  })
  t.equal(one.reader.ended, 'clean')
  await turn()
  t.equal(closed, false)
  one.call.say(undefined)
  await closing
  t.equal(log.asked.end, 1, 'the end was written before')
  t.equal(two.reader.ended, undefined)
  two.call.say(undefined)
  await two.over()
})

t.test('a source that breaks its word ends its stream, and is told of', async t => {
  const { begin } = setting(t)
  const notices: NoticeFact[] = []
  t.teardown(facts.notice.subscribe(notice => void notices.push(notice)))
  const { call, reader, over } = begin()
  await reader.until(({ given }) => given.length === 1)
  call.fail(new Error('a fault'))
  await over()
  t.equal(reader.ended, 'clean')
  t.match(notices, [{ level: 'error', error: { message: 'a fault' } }])
})
