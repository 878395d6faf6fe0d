import t, { type Test } from 'tap'
import { defaultLimits, Gates } from '../../src/backends/gates.ts'
import { GatewayError } from '../../src/errors.ts'
import { Asked } from '../../src/exchanges/asked.ts'
import { Countdowns } from '../../src/exchanges/countdown.ts'
import { InFlight } from '../../src/exchanges/in-flight.ts'
import { Running, type RunningContext } from '../../src/exchanges/running.ts'
import { Links } from '../../src/links/links.ts'
import { value } from '../../src/protocol/write.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import { facts, type OperationFact } from '../../src/telemetry/events.ts'
import {
  FakeBackend,
  type FakeExchange,
  type FakeLink,
  liveOf,
  messageOf,
  settled,
  updates
} from '../helpers/fake-backend.ts'
import { Timers } from '../helpers/timers.ts'

interface Scene {
  readonly live: Live
  readonly backend: FakeBackend
  readonly inFlight: InFlight
  readonly asked: Asked
  /** What went to the channel. */
  readonly outside: any[]
  readonly operations: OperationFact[]
  call(message?: object, streamable?: boolean): Running
  /** The link, opened by the first call, and the exchange of this one. */
  open(running: Running): Promise<{ link: FakeLink; exchange: FakeExchange; first: Promise<any> }>
}

function scene(t: Test, context: Partial<RunningContext> = {}): Scene {
  const live = liveOf()
  const backend = new FakeBackend()
  const inFlight = new InFlight()
  const asked = new Asked({ timeoutMs: 10_000 })
  const outside: any[] = []
  const operations: OperationFact[] = []
  t.teardown(facts.operation.subscribe(fact => void operations.push(fact)))
  t.teardown(() => asked.close())
  const links = new Links({
    sessions: updates,
    self: live.record.client,
    receive: () => {},
    lost: () => {},
    reopened: async () => {}
  })
  let link: FakeLink | undefined
  const running: RunningContext = {
    links,
    asked,
    inFlight,
    countdowns: new Countdowns(),
    gates: new Gates(),
    limits: () => ({ timeout: 1_000, maxTime: 3_000 }),
    adapt: message => message,
    admit: message => message,
    outside: (_live, message) => void outside.push(value(message)),
    ...context
  }
  return {
    live,
    backend,
    inFlight,
    asked,
    outside,
    operations,
    call: (message = {}, streamable = true) =>
      new Running(
        live,
        backend,
        messageOf({ id: 'c', method: 'tools/call', params: { name: 'n' }, ...message }),
        streamable,
        running
      ),
    async open(call) {
      const first = call.next()
      link ??= backend.last.succeed('S')
      await settled()
      return { link, exchange: link.exchanges.at(-1)!, first: first.then(message => message && value(message)) }
    }
  }
}

const next = async (running: Running): Promise<any> => {
  const message = await running.next()
  return message === undefined ? undefined : value(message)
}

/** Everything that is left. */
const rest = async (running: Running): Promise<any[]> => {
  const messages: any[] = []
  for (let message = await next(running); message !== undefined; message = await next(running)) messages.push(message)
  return messages
}

const log = { method: 'notifications/message', params: { level: 'info', data: 1 } }
const ask = { id: 'up', method: 'elicitation/create', params: {} }

t.test('messages pass in order, the response is the last', async t => {
  const { inFlight, live, operations, call, open } = scene(t)
  const running = call()
  t.equal(inFlight.size, 1)
  t.equal(live.busy, 1)
  const { exchange, first } = await open(running)
  exchange.say(log)
  t.match(await first, log)
  exchange.say(log)
  exchange.answer({ n: 1 })
  t.match(await rest(running), [log, { id: 'c', result: { n: 1 } }])
  t.equal(await next(running), undefined)
  t.equal(inFlight.size, 0)
  t.equal(live.busy, 0)
  t.match(operations, [{ backend: 'fake', method: 'tools/call', name: 'n', error: undefined }])
  t.same(exchange.told, [])
})

t.test('nothing is asked of the upstream before somebody reads', async t => {
  const { backend, call } = scene(t)
  const running = call()
  await settled()
  t.equal(backend.openings.length, 0)
  running.cancel()
  t.same(await rest(running), [])
})

t.test('a call is in flight until its end was read', async t => {
  const { inFlight, call, open } = scene(t)
  const running = call()
  const { exchange, first } = await open(running)
  exchange.answer()
  await first
  t.ok(running.over)
  let idle = false
  void inFlight.idle().then(() => {
    idle = true
  })
  await settled()
  t.notOk(idle, 'the response may not be written yet')
  t.equal(await next(running), undefined)
  await settled()
  t.ok(idle)
})

t.test('cancelled while a read waits: the upstream is told, the read ends', async t => {
  const { inFlight, operations, call, open } = scene(t)
  const running = call()
  const { exchange, first } = await open(running)
  running.cancel('r')
  t.equal(await first, undefined)
  t.same(exchange.told, ['cancel r'])
  t.equal(inFlight.size, 0)
  exchange.answer()
  running.cancel('again')
  running.fail(new GatewayError('timeout', 'late'))
  t.same(await rest(running), [])
  t.match(operations, [{ error: 'cancelled' }])
  t.equal(operations.length, 1)
})

t.test('cancelled while the link opens: no request is sent', async t => {
  const { backend, call } = scene(t)
  const running = call()
  const first = running.next()
  running.cancel()
  t.equal(await first, undefined)
  const link = backend.last.succeed()
  await settled()
  t.same(link.exchanges, [])
})

t.test('what was said before a cancel is still read, nothing after it', async t => {
  const { call, open } = scene(t)
  const running = call()
  const { exchange, first } = await open(running)
  exchange.say(log)
  await first
  running.tell(messageOf(ask))
  exchange.say(log)
  running.cancel()
  t.match(await rest(running), [ask])
})

t.test('the link that cannot be opened is one error', async t => {
  const { backend, operations, call } = scene(t)
  const running = call()
  const first = next(running)
  backend.last.fail()
  t.match(await first, { id: 'c', error: { code: -32603, data: { reason: 'backend_unavailable', backend: 'fake' } } })
  t.equal(await next(running), undefined)
  t.match(operations, [{ error: 'backend_unavailable' }])
})

t.test('what is no error of ours is told as an internal one, and the upstream is told', async t => {
  const { call, open } = scene(t, {
    adapt: () => {
      throw new TypeError('a fault')
    }
  })
  const running = call()
  const { exchange, first } = await open(running)
  exchange.say(log)
  t.match(await first, { id: 'c', error: { code: -32603, message: 'internal error' } })
  t.same(exchange.told, ['cancel internal error'])
})

t.test('a lost session is tried once more, on a new link', async t => {
  const { backend, call, open } = scene(t)
  const running = call()
  const { link, exchange, first } = await open(running)
  exchange.queue.fail(new GatewayError('backend_session_lost', 'lost'))
  link.lose()
  await settled()
  const again = backend.last.succeed('S2')
  await settled()
  t.equal(again.exchanges.length, 1)
  t.equal(again.exchanges[0]!.request, running.request)
  again.exchanges[0]!.queue.fail(new GatewayError('backend_session_lost', 'lost again'))
  t.match(await first, { id: 'c', error: { data: { reason: 'backend_session_lost' } } })
  t.equal(backend.openings.length, 2)
})

t.test('other failures are not tried again', async t => {
  const { backend, call, open } = scene(t)
  const running = call()
  const { exchange, first } = await open(running)
  exchange.queue.fail(new GatewayError('backend_broke', 'broke'))
  t.match(await first, { error: { data: { reason: 'backend_broke' } } })
  t.equal(backend.openings.length, 1)
})

t.test('an exchange that ends without a response was cancelled from elsewhere', async t => {
  const { call, open } = scene(t)
  const running = call()
  const { exchange, first } = await open(running)
  exchange.queue.detach()
  t.equal(await first, undefined)
  t.ok(running.over)
})

t.test('silence ends a call, what the upstream says extends it, the whole has its limit', async t => {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const { call, open } = scene(t)
  const silent = call()
  const { exchange, first } = await open(silent)
  timers.advance(999)
  exchange.say(log)
  await first
  const waiting = next(silent)
  timers.advance(999)
  timers.advance(1)
  t.match(await waiting, { error: { data: { reason: 'timeout', limit: 'timeout', backend: 'fake' } } })
  t.same(exchange.told, ['cancel the backend was silent for 1000 ms'])
  t.equal(await next(silent), undefined)
  t.equal(timers.count, 0)
})

t.test('a reader that is behind is no silence of the upstream', async t => {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const { call, open } = scene(t)
  const running = call()
  const { exchange, first } = await open(running)
  exchange.say(log)
  exchange.say(log)
  await first
  timers.advance(1_500)
  t.notOk(running.over, 'nobody reads')
  t.match(await next(running), log)
  const waiting = next(running)
  timers.advance(1_000)
  t.match(await waiting, { error: { data: { limit: 'timeout' } } })
})

t.test('while the client is asked the limits stand still', async t => {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const { asked, live, call, open } = scene(t)
  const running = call()
  const { link, exchange, first } = await open(running)
  exchange.say(ask)
  const { id } = await first
  const waiting = next(running)
  timers.advance(5_000)
  t.notOk(running.over)
  asked.answer(messageOf({ id, result: { n: 1 } }), live)
  t.match(link.sent, [{ id: 'up', result: { n: 1 } }])
  timers.advance(999)
  t.notOk(running.over)
  timers.advance(1)
  t.match(await waiting, { error: { data: { limit: 'timeout' } } })
})

t.test('with two asks open they stand still until both are answered', async t => {
  const timers = new Timers()
  t.teardown(() => timers.restore())
  const { asked, live, call, open } = scene(t)
  const running = call()
  const { exchange, first } = await open(running)
  exchange.say(ask)
  exchange.say({ ...ask, id: 'second' })
  const ids = [(await first).id, (await next(running)).id]
  void next(running)
  asked.answer(messageOf({ id: ids[0], result: {} }), live)
  timers.advance(5_000)
  t.notOk(running.over)
  asked.answer(messageOf({ id: ids[1], result: {} }), live)
  timers.advance(1_000)
  t.ok(running.over)
})

t.test('what is refused does not reach the client', async t => {
  const { asked, call, open } = scene(t, { admit: () => ({ code: -32601, text: 'no' }) })
  const running = call()
  const { link, exchange, first } = await open(running)
  exchange.say(ask)
  exchange.answer()
  t.match(await first, { id: 'c', result: {} })
  t.match(link.sent, [{ id: 'up', error: { code: -32601, message: 'no' } }])
  t.equal(asked.size, 0)
})

t.test('a call that cannot stream asks on the channel', async t => {
  const { outside, asked, call, open } = scene(t)
  const running = call({}, false)
  const { link, exchange, first } = await open(running)
  exchange.say(ask)
  await settled()
  t.match(outside, [{ method: 'elicitation/create' }])
  running.cancel()
  t.equal(await first, undefined)
  t.match(outside[1], { method: 'notifications/cancelled', params: { requestId: outside[0].id } })
  t.match(link.sent, [{ id: 'up', error: {} }])
  t.equal(asked.size, 0)
})

t.test('notices about asks come before the error that ends the call', async t => {
  const { call, open } = scene(t)
  const running = call()
  const { exchange, first } = await open(running)
  exchange.say(ask)
  const { id } = await first
  running.fail(new GatewayError('shutdown', 'bye'))
  t.match(await rest(running), [
    { method: 'notifications/cancelled', params: { requestId: id } },
    { id: 'c', error: { data: { reason: 'shutdown' } } }
  ])
})

t.test('asks that are open when the response comes stay open; what is said about them goes to the channel', async t => {
  const { live, outside, asked, call, open } = scene(t)
  const running = call()
  const { link, exchange, first } = await open(running)
  exchange.say(ask)
  exchange.say({ ...ask, id: 'second' })
  const ids = [(await first).id, (await next(running)).id]
  exchange.answer()
  t.match(await rest(running), [{ id: 'c', result: {} }])
  t.equal(asked.size, 2)
  t.equal(asked.answer(messageOf({ id: ids[0], result: {} }), live), 'forwarded')
  asked.cancelled(messageOf({ method: 'notifications/cancelled', params: { requestId: 'second' } }), live, link)
  t.match(outside, [{ method: 'notifications/cancelled', params: { requestId: ids[1] } }])
})

t.test('the upstream takes its ask back on the stream of the call', async t => {
  const { call, open } = scene(t)
  const running = call()
  const { exchange, first } = await open(running)
  exchange.say(ask)
  const { id } = await first
  exchange.say({ method: 'notifications/cancelled', params: { requestId: 'up' } })
  exchange.say({ method: 'notifications/cancelled', params: { requestId: 'unknown' } })
  exchange.answer()
  t.match(await rest(running), [{ method: 'notifications/cancelled', params: { requestId: id } }, { id: 'c' }])
})

t.test('what is not for this client is left out', async t => {
  const { call, open } = scene(t, { adapt: message => (message.kind === 'notification' ? undefined : message) })
  const running = call()
  const { exchange, first } = await open(running)
  for (let i = 0; i < 3; i++) exchange.say(log)
  exchange.answer()
  t.match(await first, { id: 'c', result: {} })
})

t.test('the place is that of what was handed out', async t => {
  const { call, open } = scene(t)
  const running = call()
  t.equal(running.place, undefined)
  const { exchange, first } = await open(running)
  exchange.say(log)
  exchange.queue.stand('P1')
  await first
  t.equal(running.place, 'P1')
  const waiting = next(running)
  running.tell(messageOf(ask))
  await waiting
  exchange.say(log)
  exchange.queue.stand('P2')
  await settled()
  t.equal(running.place, undefined, 'a message of the upstream waits here')
  await next(running)
  t.equal(running.place, 'P2')
  exchange.answer()
  await next(running)
  t.equal(running.place, undefined)
})

t.test('how it ended is told', async t => {
  const { operations, call, open } = scene(t)
  for (const [end, error] of [
    [{ result: { content: [], isError: true } }, 'tool_error'],
    [{ result: { content: [], isError: false } }, undefined],
    [{ result: null, note: '"isError"' }, undefined],
    [{ error: { code: -32602, message: 'm' } }, '-32602'],
    [{ error: null }, 'undefined']
  ] as const) {
    const { exchange, first } = await open(call())
    exchange.queue.finish(messageOf({ id: 'c', ...end }))
    await first
    t.equal(operations.at(-1)!.error, error, JSON.stringify(end))
  }
  t.equal(operations.length, 5)
})

t.test('the connection may be closed while the call goes on', async t => {
  const { call } = scene(t)
  const running = call()
  running.closeStream()
  let closed = 0
  running.onCloseStream(() => void closed++)
  running.closeStream()
  t.equal(closed, 1)
  t.same(running.principal, { key: 'anonymous' })
  running.cancel()
})

t.test('a call waits for its place before anything is sent, and gives it back at its end (B12)', async t => {
  const gates = new Gates()
  const { backend, call, open } = scene(t, { gates })
  gates.set(backend, { ...defaultLimits, calls: 1, queue: 2 })
  const first = call()
  const { link, exchange, first: answered } = await open(first)
  const second = call()
  const waits = second.next()
  const third = call()
  void third.next()
  await settled()
  t.equal(link.exchanges.length, 1)
  t.match((await rest(call()))[0], { error: { code: -32603, data: { reason: 'overloaded', backend: 'fake' } } })
  third.cancel()
  t.equal(gates.state(backend).waiting, 1, 'a call that is cancelled does not wait any longer')
  exchange.answer()
  t.ok(await answered)
  await settled()
  t.equal(link.exchanges.length, 2)
  second.cancel()
  t.equal(await waits, undefined)
  t.equal(gates.of(backend).inFlight, 0)
})

t.test('a call whose time is over while it waits for its place was not sent, and says so', async t => {
  const gates = new Gates()
  const { backend, call, open } = scene(t, { gates, limits: () => ({ timeout: 20, maxTime: 3_000 }) })
  gates.set(backend, { ...defaultLimits, calls: 1 })
  const first = call()
  const { link } = await open(first)
  gates.of(backend).back()
  t.match(await rest(first), [{ error: { data: { reason: 'timeout' } } }])
  t.match(await rest(call()), [{ error: { data: { reason: 'overloaded', backend: 'fake' } } }])
  t.equal(link.exchanges.length, 1)
  t.equal(gates.state(backend).waiting, 0)
  t.equal(gates.state(backend).rejected.queue_time, 1)
})

t.test('a call that asked the client has no place until it is answered, or over', async t => {
  const gates = new Gates()
  const { backend, call, open, asked, live } = scene(t, { gates })
  gates.set(backend, { ...defaultLimits, calls: 1 })
  const gate = gates.of(backend)
  for (const end of ['answer', 'cancel', 'respond'] as const) {
    const running = call()
    const { exchange, first } = await open(running)
    t.equal(gate.inFlight, 1)
    exchange.say(ask)
    exchange.say({ ...ask, id: 'up2' })
    const { id } = await first
    void running.next()
    await settled()
    t.equal(gate.inFlight, 0, 'it waits for people')
    if (end === 'answer') {
      asked.answer(messageOf({ id, result: {} }), live)
      t.equal(gate.inFlight, 0, 'the second is open')
      asked.forget(live)
      t.equal(gate.inFlight, 1)
    }
    void running.next()
    if (end === 'cancel') running.cancel()
    else exchange.answer()
    await settled()
    t.equal(gate.inFlight, 0, end)
    asked.forget(live)
    t.equal(gate.inFlight, 0)
  }
})

t.test('calls that fail open the breaker, the next one is refused at once (B13)', async t => {
  const gates = new Gates()
  const { backend, call, open } = scene(t, { gates })
  const { exchange, first } = await open(call())
  exchange.answer()
  await first
  for (let i = 0; i < 5; i++) {
    const running = call()
    const { exchange } = await open(running)
    exchange.queue.fail(new GatewayError('backend_broke', 'broke', { backend: 'fake' }))
    t.match(await rest(running), [{ error: { data: { reason: 'backend_broke' } } }])
  }
  t.match(await rest(call()), [{ error: { data: { reason: 'backend_unavailable', retryAfter: 1 } } }])
  t.equal(gates.state(backend).breaker, 'open')
})

t.test('calls in line, and calls that are over, give no places to others while the client is asked', async t => {
  const gates = new Gates()
  const { backend, call, open } = scene(t, { gates })
  gates.set(backend, { ...defaultLimits, calls: 1, queue: 10 })
  const gate = gates.of(backend)
  const running = call({ id: 'first' })
  await open(running)
  const inLine = ['second', 'third', 'fourth'].map(id => {
    const one = call({ id })
    void one.next()
    return one
  })
  await settled()
  t.equal(gate.waiting, 3)
  // An upstream asked outside of its calls: all stand still.
  for (const one of [running, ...inLine]) one.asked()
  t.equal(gate.waiting, 2, 'the place of the one that had one')
  t.equal(gate.inFlight, 1)
  running.cancel()
  await settled()
  t.equal(gate.waiting, 2, 'it had given its place away')
  t.equal(gate.inFlight, 1)
  for (const one of [running, ...inLine]) one.answered()
  t.equal(gate.inFlight, 1)
  for (const one of inLine) one.cancel()
  await settled()
  t.equal(gate.inFlight, 0)
  t.equal(gate.waiting, 0)
})
