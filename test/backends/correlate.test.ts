import t from 'tap'
import type { Exchange } from '../../src/backends/backend.ts'
import { Correlator, type CorrelatorOptions } from '../../src/backends/correlate.ts'
import { GatewayError } from '../../src/errors.ts'
import { makeResult } from '../../src/protocol/make.ts'
import { type Message, readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'
import { facts } from '../../src/telemetry/events.ts'
import { until } from '../helpers/until.ts'

const read = (text: string): Message => readMessage(Buffer.from(text), 64)
const textOf = (message: Message): string => bytes(message).toString()

function setUp(options: Partial<CorrelatorOptions> = {}) {
  const written: string[] = []
  const received: string[] = []
  let resumed = 0
  const correlator = new Correlator({
    backend: 'files',
    single: true,
    pipe: {
      write: async message => {
        written.push(textOf(message))
      },
      resume: () => {
        resumed++
      }
    },
    receive: message => received.push(textOf(message)),
    ...options
  })
  const drops: string[] = []
  const off = facts.drop.subscribe(({ reason }) => drops.push(reason))
  t.teardown(off)
  return {
    correlator,
    written,
    received,
    drops,
    resumed: () => resumed,
    accept: (text: string) => correlator.accept(read(text))
  }
}

async function all(exchange: Exchange): Promise<string[]> {
  const texts: string[] = []
  for await (const message of exchange) texts.push(textOf(message))
  return texts
}

const call = (id: string, token?: string): Message =>
  read(
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"x"${token === undefined ? '' : `,"_meta":{"progressToken":${token},"n":1.0}`}}}`
  )

t.test('B7 64 clients with id 1 and token 1 each get their own answer and progress', async t => {
  const { correlator, written, accept } = setUp()
  const exchanges = Array.from({ length: 64 }, () => correlator.exchange(call('1', '1')))
  const numbers = written.map(text => JSON.parse(text) as { id: number; params: { _meta: { progressToken: number } } })
  t.equal(new Set(numbers.map(({ id }) => id)).size, 64)
  t.ok(numbers.every(({ id, params }) => params._meta.progressToken === id))
  for (const { id } of numbers.toReversed()) {
    accept(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},"progress":${id}}}`)
    accept(`{"jsonrpc":"2.0","id":${id},"result":{"for":${id}}}`)
  }
  for (const [i, exchange] of exchanges.entries()) {
    const { id } = numbers[i]!
    t.same(await all(exchange), [
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":${id}}}`,
      `{"jsonrpc":"2.0","id":1,"result":{"for":${id}}}`
    ])
  }
  t.equal(correlator.size, 0)
})

t.test('CAN-05 a token comes back as it was written, and nothing else of its message changes', async t => {
  const { correlator, written, accept } = setUp()
  for (const token of ['0', '"1"', '""', '"\\u0041"', '9007199254740993', '-1']) {
    const exchange = correlator.exchange(call('"a"', token))
    const { id } = JSON.parse(written.at(-1)!)
    t.equal(
      written.at(-1),
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"x","_meta":{"progressToken":${id},"n":1.0}}}`
    )
    accept(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":-0,"progressToken":${id},"progress":1e400} }`
    )
    accept(`{"id":${id},"result":{"v":9007199254740993},"jsonrpc":"2.0"}`)
    t.same(await all(exchange), [
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":-0,"progressToken":${token},"progress":1e400} }`,
      '{"id":"a","result":{"v":9007199254740993},"jsonrpc":"2.0"}'
    ])
  }
})

t.test(
  'CAN-05 progress without a token asked for, of unknown tokens and after the response is dropped and counted',
  async t => {
    const { correlator, received, drops, accept } = setUp()
    const exchange = correlator.exchange(call('1'))
    const progress = (token: string) =>
      accept(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":1}}`)
    for (const token of ['1', '"1"', '99', '"x"', 'null', '1.5']) progress(token)
    accept('{"jsonrpc":"2.0","id":1,"result":{}}')
    t.same(await all(exchange), ['{"jsonrpc":"2.0","id":1,"result":{}}'])
    const second = correlator.exchange(call('1', '7'))
    accept('{"jsonrpc":"2.0","id":2,"result":{}}')
    progress('2')
    t.same(await all(second), ['{"jsonrpc":"2.0","id":1,"result":{}}'])
    t.same(received, [])
    t.same(drops, Array(7).fill('unknown_token'))
  }
)

t.test('a token that is no token is left as it is', t => {
  const { correlator, written } = setUp()
  correlator.exchange(call('1', 'null'))
  t.match(written[0], '"progressToken":null')
  t.end()
})

t.test('progress of a task goes on after the response, where the pipe has one session', async t => {
  const begin =
    '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","task":{},"_meta":{"progressToken":"t"}}}'
  const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
  const single = setUp()
  single.correlator.exchange(read(begin))
  single.accept('{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"a"}}}')
  single.accept(progress)
  t.same(single.received, [progress.replace(':1,', ':"t",')])
  for (let i = 0; i < 256; i++) {
    single.correlator.exchange(read(begin))
    single.accept(`{"jsonrpc":"2.0","id":${i + 2},"result":{}}`)
  }
  single.accept(progress)
  t.equal(single.received.length, 1, 'the oldest is forgotten')
  const shared = setUp({ single: false })
  shared.correlator.exchange(read(begin))
  shared.accept('{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"a"}}}')
  shared.accept(progress)
  t.same(shared.received, [])
})

t.test('B7 answers nobody waits for are dropped and counted, a number given back as a string is taken', async t => {
  const { correlator, received, drops, accept } = setUp()
  const exchange = correlator.exchange(call('"mine"'))
  for (const id of ['0', '2', '"mine"', '"01x"', '-1']) accept(`{"jsonrpc":"2.0","id":${id},"result":{}}`)
  accept('{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}')
  accept('{"jsonrpc":"2.0","id":"1","result":{"n":1}}')
  accept('{"jsonrpc":"2.0","id":1,"result":{"n":2}}')
  t.same(await all(exchange), ['{"jsonrpc":"2.0","id":"mine","result":{"n":1}}'])
  t.same(drops, [
    'unknown_id',
    'unknown_id',
    'unknown_id',
    'unknown_id',
    'unknown_id',
    'unaddressed_error',
    'unknown_id'
  ])
  t.same(received, [])
})

t.test('CAN-01 a cancel carries the id of the pipe and the reason, and its late answer is dropped', async t => {
  const { correlator, written, drops, accept } = setUp()
  const a = correlator.exchange(call('9007199254740993'))
  const b = correlator.exchange(call('9007199254740994'))
  const waiting = a.next()
  a.cancel('x')
  t.same(await waiting, { done: true, value: undefined })
  t.equal(written.at(-1), '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}')
  accept('{"jsonrpc":"2.0","id":1,"result":{}}')
  t.same(drops, ['unknown_id'])
  b.cancel()
  t.equal(written.at(-1), '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}')
  b.cancel()
  a.cancel()
  t.equal(written.length, 4)
  t.equal(correlator.size, 0)
})

t.test('detach tells nobody, and initialize is never cancelled', t => {
  const { correlator, written } = setUp()
  correlator.exchange(call('1')).detach()
  correlator.exchange(read('{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}')).cancel('x')
  t.equal(written.length, 2)
  t.equal(correlator.size, 0)
  t.end()
})

const ask = '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}'
const log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
const taken = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}'
const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
const ping = '{"jsonrpc":"2.0","id":"p","method":"ping"}'

t.test(
  'requests and logs of the upstream go to the only exchange that is open; the rest is of the whole link',
  async t => {
    const { correlator, received, written, accept } = setUp()
    const exchange = correlator.exchange(call('1'))
    for (const text of [ask, log, changed, ping, taken]) accept(text)
    accept('{"jsonrpc":"2.0","id":1,"result":{}}')
    t.same(await all(exchange), [ask, log, taken, '{"jsonrpc":"2.0","id":1,"result":{}}'])
    t.same(received, [changed])
    t.equal(written.at(-1), '{"jsonrpc":"2.0","id":"p","result":{}}')
  }
)

t.test('with no exchange or several, and for tasks, requests and logs belong to none', t => {
  const { correlator, received, accept } = setUp()
  const related =
    '{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}'
  accept(ask)
  correlator.exchange(call('1'))
  accept(related)
  correlator.exchange(call('2'))
  for (const text of [ask, log, taken]) accept(text)
  t.same(received, [ask, related, ask, log, taken])
  t.end()
})

t.test('a cancel of the upstream follows its request, until that is answered', async t => {
  const { correlator, received, accept } = setUp()
  const exchange = correlator.exchange(call('1'))
  accept(ask)
  correlator.exchange(call('2'))
  accept(taken)
  accept(ask.replace('"q"', '"r"'))
  accept('{"jsonrpc":"2.0","id":1,"result":{}}')
  t.same(await all(exchange), [ask, taken, '{"jsonrpc":"2.0","id":1,"result":{}}'])
  accept(ask)
  await correlator.send(makeResult('"q"', {}))
  accept(taken)
  t.same(received, [ask.replace('"q"', '"r"'), taken])
})

t.test('B2 when the pipe breaks, each open exchange fails once and later ones at once', async t => {
  const { correlator, written } = setUp()
  const exchanges = Array.from({ length: 20 }, (_, i) => correlator.exchange(call(String(i))))
  correlator.fail(new GatewayError('backend_broke', 'gone'))
  correlator.fail(new GatewayError('backend_broke', 'again'))
  for (const exchange of [...exchanges, correlator.exchange(call('1'))]) {
    await t.rejects(exchange.next(), { code: 'backend_broke', message: 'gone' })
    t.same(await exchange.next(), { done: true, value: undefined })
    exchange.cancel()
  }
  await t.rejects(correlator.send(read(changed)), { code: 'backend_broke' })
  t.equal(written.length, 20)
})

t.test('an exchange whose request cannot be written fails', async t => {
  const { correlator } = setUp({
    pipe: { write: () => Promise.reject(new GatewayError('overloaded', 'full')), resume: () => {} }
  })
  await t.rejects(all(correlator.exchange(call('1'))), { code: 'overloaded' })
  t.equal(correlator.size, 0)
})

t.test('what an owner leaves ends as cancelled; the others go on', async t => {
  const { correlator, written, accept } = setUp()
  const [one, two] = [{}, {}]
  const left = all(correlator.exchange(call('1'), one))
  const kept = all(correlator.exchange(call('2'), two))
  correlator.closeAll(one, true)
  t.same(await left, [])
  t.match(written.at(-1), '"requestId":1')
  accept('{"jsonrpc":"2.0","id":2,"result":{}}')
  t.equal((await kept).length, 1)
})

t.test('an answer that cannot be read fails the call that its ends name', async t => {
  const { correlator } = setUp()
  const error = new GatewayError('backend_too_large', 'large')
  const unreadable = (head: string, tail: string, guess = true) =>
    correlator.unreadable(Buffer.from(head), Buffer.from(tail), error, guess)
  for (const [head, tail] of [
    ['{"jsonrpc":"2.0","id":ID,"result":{"a', 'xxx'],
    ['{ "id": "ID", "result" : {"a', 'xxx'],
    ['{"result":{"a', '"}},"jsonrpc":"2.0","id":ID}'],
    ['{"result":{"a', '"}},"id":"ID","jsonrpc":"2.0"} '],
    ['{"result":{"a', '"]}, "id" : ID }']
  ] as const) {
    const exchange = correlator.exchange(call('1'))
    const other = correlator.exchange(call('1'))
    const number = String(correlator.latest - 1)
    t.ok(unreadable(head.replace('ID', number), tail.replace('ID', number), false), head)
    await t.rejects(exchange.next(), error)
    other.detach()
  }
  const only = correlator.exchange(call('1'))
  t.notOk(unreadable('{"method":"sampling/createMessage","params":{', `},"jsonrpc":"2.0","id":${correlator.latest}}`))
  t.notOk(unreadable(`{"jsonrpc":"2.0","id":${correlator.latest},"method":"x","params":{`, '}'))
  t.notOk(unreadable('{"result":{"a', 'xxx', false))
  t.ok(unreadable('{"result":{"a', 'xxx'), 'the only one open')
  await t.rejects(only.next(), error)
  t.notOk(unreadable('{"result":{"a', 'xxx'), 'none is open')
})

t.test(
  'a reader that is behind holds the pipe, and then loses notifications but neither response nor others',
  async t => {
    const { correlator, written, drops, resumed, accept } = setUp({ patienceMs: 20 })
    const slow = correlator.exchange(call('1'))
    let held = false
    for (let i = 0; i < 16; i++) held = !accept(log)
    t.ok(held, 'asks for a pause')
    for (let i = 0; i < 16; i++) await slow.next()
    t.equal(resumed(), 1, 'caught up')
    for (let i = 0; i < 16; i++) accept(log)
    await until('the patience is over', () => resumed() === 2)
    t.ok(accept(log), 'others go on')
    accept(ask)
    t.same(drops, ['slow_reader', 'slow_reader'])
    t.match(written.at(-1), '{"jsonrpc":"2.0","id":"q","error":')
    for (let i = 0; i < 16; i++) await slow.next()
    accept(log)
    accept('{"jsonrpc":"2.0","id":1,"result":{}}')
    t.equal((await all(slow)).length, 2, 'caught up: nothing is lost any more')
  }
)

t.test('an exchange that ends while it holds the pipe lets it go', t => {
  const { correlator, resumed, accept } = setUp()
  const exchange = correlator.exchange(call('1'))
  for (let i = 0; i < 16; i++) accept(log)
  exchange.cancel()
  t.equal(resumed(), 1)
  const second = correlator.exchange(call('1'))
  for (let i = 0; i < 16; i++) accept(log)
  accept('{"jsonrpc":"2.0","id":2,"result":{}}')
  t.equal(resumed(), 2)
  t.ok(second.over)
  correlator.exchange(call('1'))
  for (let i = 0; i < 16; i++) accept(log)
  correlator.fail(new GatewayError('backend_broke', 'gone'))
  t.end()
})

t.test('with one call open beside a subscription, log messages are of the call', async t => {
  const { correlator, written, received, accept } = setUp()
  correlator.speakModern()
  correlator.exchange(read('{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}'))
  const exchange = correlator.exchange(call('2'))
  const { id } = JSON.parse(written.at(-1)!) as { id: number }
  const log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
  accept(log)
  accept(`{"jsonrpc":"2.0","id":${id},"result":{}}`)
  t.same(await all(exchange), [log, '{"jsonrpc":"2.0","id":2,"result":{}}'])
  t.same(received, [])
})
