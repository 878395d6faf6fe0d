/** Many calls on one pipe, whose ids and tokens are anybody's: each gets what is its own, as it wrote them, and nothing else. */
import assert from 'node:assert'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { Correlator } from '../../src/backends/correlate.ts'
import type { Queue } from '../../src/backends/queue.ts'
import { InFlight } from '../../src/exchanges/in-flight.ts'
import type { Running } from '../../src/exchanges/running.ts'
import { readMessage, sameId } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import { anyString, writeString } from '../helpers/json.ts'
import type { Target } from './target.ts'

/** The same few ids again and again, and any other. */
const anyId = fc.oneof(
  fc.constantFrom('1', '1', '"1"', '0', '-0', '""', '2', '9007199254740993', '"\\u0031"'),
  fc.bigInt().map(String),
  fc.tuple(anyString, fc.array(fc.nat(5), { maxLength: 2 })).map(([text, choices]) => writeString(text, choices))
)

const which = fc.nat(20)
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('call' as const), id: anyId, token: fc.option(anyId, { nil: undefined }) })
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('answer' as const, 'progress' as const), which, quoted: fc.boolean() })
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('stray answer' as const, 'stray progress' as const), id: anyId })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'detach' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('log' as const, 'ask' as const, 'change' as const) }) }
)

interface Call {
  readonly number: number
  readonly token: string | undefined
  readonly id: string
  readonly queue: Queue
  readonly got: string[]
  readonly expected: string[]
  over: boolean
}

async function collect(queue: Queue, got: string[]): Promise<void> {
  for await (const message of queue) got.push(bytes(message).toString())
}

class Scene {
  readonly written: string[] = []
  readonly received: string[] = []
  readonly expectedReceived: string[] = []
  readonly calls: Call[] = []
  readonly correlator = new Correlator({
    backend: 'b',
    single: false,
    pipe: { write: async message => void this.written.push(bytes(message).toString()), resume() {} },
    receive: message => void this.received.push(bytes(message).toString())
  })
  #marks = 0

  get #open(): Call[] {
    return this.calls.filter(({ over }) => !over)
  }

  #accept(text: string): void {
    this.correlator.accept(readMessage(Buffer.from(text), 64))
  }

  call(id: string, token: string | undefined): void {
    const meta = token === undefined ? '' : `,"_meta":{"progressToken":${token}}`
    const text = (id: string, meta: string): string =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"x"${meta}}}`
    const queue = this.correlator.exchange(readMessage(Buffer.from(text(id, meta)), 64))
    const number = this.correlator.latest
    assert.equal(number, this.calls.length + 1)
    assert.equal(
      this.written.at(-1),
      text(`${number}`, token === undefined ? '' : `,"_meta":{"progressToken":${number}}`)
    )
    const call: Call = { number, token, id, queue, got: [], expected: [], over: false }
    void collect(queue, call.got)
    this.calls.push(call)
  }

  /** Of any call, over or not. */
  answer(call: Call, quoted: boolean): void {
    const mark = ++this.#marks
    const text = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":{"mark":${mark}}}`
    this.#accept(text(quoted ? `"${call.number}"` : `${call.number}`))
    if (!call.over) call.expected.push(text(call.id))
    call.over = true
  }

  progress(call: Call, quoted: boolean): void {
    const mark = ++this.#marks
    const text = (token: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${mark}}}`
    this.#accept(text(quoted ? `"${call.number}"` : `${call.number}`))
    if (!call.over && call.token !== undefined) call.expected.push(text(call.token))
  }

  /** Of an id or token that the upstream made up; of those of ours it is the answer or the progress. */
  stray(what: 'answer' | 'progress', id: string): void {
    const number = /^"?(\d{1,15})"?$/.exec(id)?.[1]
    const call = this.calls.find(call => call.number === Number(number ?? Number.NaN))
    if (call !== undefined) return
    this.#accept(
      what === 'answer'
        ? `{"jsonrpc":"2.0","id":${id},"result":{}}`
        : `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},"progress":1}}`
    )
  }

  stop(call: Call, how: 'cancel' | 'detach'): void {
    const before = this.written.length
    call.queue[how]()
    const told = this.written.slice(before)
    const expected = call.over || how === 'detach' ? [] : [call.number]
    assert.deepEqual(
      told.map(text => JSON.parse(text).params.requestId),
      expected
    )
    call.over = true
  }

  /** What names no call: of the one that is open, when there is one alone. */
  unaddressed(what: 'log' | 'ask' | 'change'): void {
    const mark = ++this.#marks
    const text = {
      log: `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${mark}}}`,
      ask: `{"jsonrpc":"2.0","id":"ask-${mark}","method":"roots/list"}`,
      change: `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"mark":${mark}}}`
    }[what]
    const open = this.#open
    this.#accept(text)
    const target = what === 'change' || open.length !== 1 ? this.expectedReceived : open[0]!.expected
    target.push(text)
  }
}

const pipe = fc.asyncProperty(fc.array(command, { maxLength: 40 }), async commands => {
  const scene = new Scene()
  for (const one of commands) {
    const call = 'which' in one ? scene.calls[one.which % Math.max(1, scene.calls.length)] : undefined
    if (one.do === 'call') scene.call(one.id, one.token)
    else if (one.do === 'stray answer') scene.stray('answer', one.id)
    else if (one.do === 'stray progress') scene.stray('progress', one.id)
    else if (one.do === 'log' || one.do === 'ask' || one.do === 'change') scene.unaddressed(one.do)
    else if (call === undefined) continue
    else if (one.do === 'answer') scene.answer(call, one.quoted)
    else if (one.do === 'progress') scene.progress(call, one.quoted)
    else if (one.do === 'cancel' || one.do === 'detach') {
      // What was said before is read before.
      await setImmediate()
      scene.stop(call, one.do)
    }
    // More than a few at once would make a slow reader of whoever they are for.
    await Promise.resolve()
  }
  await setImmediate()
  for (const call of scene.calls) assert.deepEqual(call.got, call.expected)
  assert.deepEqual(scene.received, scene.expectedReceived)
  assert.equal(scene.correlator.size, scene.calls.filter(({ over }) => !over).length)
  for (const call of scene.calls) call.queue.detach()
  assert.equal(scene.correlator.size, 0)
})

const inFlight = fc.property(
  fc.array(fc.record({ session: fc.nat(2), id: anyId, ends: fc.boolean() }), { maxLength: 12 }),
  fc.array(anyId, { maxLength: 4 }),
  (all, others) => {
    const calls = new InFlight()
    const lives = Array.from({ length: 3 }, () => ({ busy: 0 }) as Live)
    const running: Running[] = all.map(({ session, id }) => ({ live: lives[session]!, request: { id } }) as Running)
    for (const one of running) calls.add(one)
    const left = running.filter((_, i) => !all[i]!.ends)
    for (const one of running) if (!left.includes(one)) calls.delete(one)
    for (const live of lives) {
      assert.equal(live.busy, left.filter(one => one.live === live).length)
      for (const id of [...all.map(({ id }) => id), ...others]) {
        const same = left.filter(one => one.live === live && sameId(one.request.id!, id))
        assert.equal(
          calls.find(live, id),
          same.length === 1 ? same[0] : undefined,
          'the one, or none where several share it'
        )
      }
    }
    for (const one of left) calls.delete(one)
    assert.equal(calls.size, 0)
  }
)

export const correlate = {
  properties: {
    'each call gets what is its own, with its own id and token': pipe,
    'a call is found by its id where it is the only one of its session': inFlight
  }
} satisfies Target
