/** Places, the line, and the breaker in front of one backend, on a clock that stands still (B12, B13). */
import fc from 'fast-check'
import t from 'tap'
import type { Backend } from '../../src/backends/backend.ts'
import type { Admission, Ended, Gate } from '../../src/backends/gate.ts'
import { type BackendLimits, defaultLimits, Gates } from '../../src/backends/gates.ts'
import { GatewayError } from '../../src/errors.ts'
import { facts, type NoticeFact } from '../../src/telemetry/events.ts'
import { FakeBackend, settled } from '../helpers/fake-backend.ts'
import { StillClock } from '../helpers/http-clock.ts'

const limits: BackendLimits = { ...defaultLimits, calls: 2, queue: 3, queueTime: 1_000 }

const scene = (some: Partial<BackendLimits> = {}) => {
  const clock = new StillClock()
  clock.chance = 0
  const backend: Backend = new FakeBackend()
  const gates = new Gates(clock)
  gates.set(backend, { ...limits, ...some })
  return { clock, backend, gates, gate: gates.of(backend) }
}

/** Where a call stands, told as it changes. */
const follow = (admission: Admission): { at: string } => {
  if (typeof admission === 'number') return { at: 'in' }
  const told = { at: 'waits' }
  admission.admitted.then(
    () => {
      told.at = 'in'
    },
    ({ code }: GatewayError) => {
      told.at = code
    }
  )
  return told
}

const refused = (gate: Gate): GatewayError => {
  try {
    gate.enter()
  } catch (error) {
    return error as GatewayError
  }
  throw new Error('let in')
}

const error = (code: ConstructorParameters<typeof GatewayError>[0], data?: Record<string, unknown>): GatewayError =>
  new GatewayError(code, 'text', { backend: 'fake', data })

t.test('calls pass while there are places, the next ones wait in line, further ones are turned away (B12)', async t => {
  const { gate, gates, backend, clock } = scene()
  const first = gate.enter()
  const second = gate.enter()
  t.type(first, 'number')
  t.equal(clock.pending, 0, 'no timer for who need not wait')
  const waiting = [gate.enter(), gate.enter(), gate.enter()]
  const at = waiting.map(follow)
  t.equal(clock.pending, 1, 'one timer for the whole line')
  t.match(refused(gate), { code: 'overloaded', status: 503, data: { reason: 'overloaded', backend: 'fake' } })
  gate.leave(first, 'ok')
  await settled()
  t.same(
    at.map(({ at }) => at),
    ['in', 'waits', 'waits'],
    'first come, first served'
  )
  gate.leave(second, error('timeout'))
  gate.leave(waiting[0]!, 'neutral')
  await settled()
  t.same(
    at.map(({ at }) => at),
    ['in', 'in', 'in']
  )
  t.equal(clock.pending, 0)
  t.equal(gate.inFlight, 2)
  t.same(gates.state(backend), {
    breaker: 'closed',
    waiting: 0,
    rejected: { queue_full: 1, queue_time: 0, breaker: 0 }
  })
})

t.test('who is not admitted in time is turned away, each after the same time', async t => {
  const { gate, gates, backend, clock } = scene({ calls: 1 })
  const running = gate.enter()
  const first = gate.enter()
  const one = follow(first)
  clock.advance(400)
  const two = follow(gate.enter())
  clock.advance(599)
  await settled()
  t.equal(one.at, 'waits')
  clock.advance(1)
  await settled()
  t.same([one.at, two.at], ['overloaded', 'waits'])
  gate.leave(first, error('overloaded'))
  t.equal(gate.inFlight, 1, 'who was turned away has no place to give back')
  clock.advance(400)
  await settled()
  t.equal(two.at, 'overloaded')
  t.equal(clock.pending, 0)
  t.equal(gates.state(backend).rejected.queue_time, 2)
  gate.leave(running, 'ok')
  t.equal(gate.inFlight, 0)
})

t.test('who gives up leaves the line, and its place in it is free', async t => {
  const { gate, clock } = scene({ calls: 1, queue: 2 })
  const running = gate.enter()
  const [first, second] = [gate.enter(), gate.enter()]
  const [one, two] = [follow(first), follow(second)]
  gate.leave(first, 'neutral')
  await settled()
  t.equal(one.at, 'in', 'its wait is over, it goes away by itself')
  t.equal(gate.waiting, 1)
  const third = follow(gate.enter())
  gate.leave(running, 'ok')
  await settled()
  t.same([two.at, third.at], ['in', 'waits'])
  // Between the admission and the call that hears of it.
  gate.leave(second, 'neutral')
  await settled()
  t.equal(third.at, 'in')
  t.equal(gate.inFlight, 1)
  t.equal(clock.pending, 0)
})

t.test('a call that waits for its client has no place', async t => {
  const { gate } = scene({ calls: 1 })
  const asking = gate.enter()
  const next = gate.enter()
  const other = follow(next)
  gate.aside()
  await settled()
  t.equal(other.at, 'in', 'so that what the client does meanwhile can go on')
  gate.back()
  t.equal(gate.inFlight, 2, 'the answer does not wait')
  gate.leave(asking, 'ok')
  const late = follow(gate.enter())
  t.equal(late.at, 'waits')
  gate.leave(next, 'ok')
  await settled()
  t.equal(late.at, 'in')
})

t.test('tasks/result has places of its own: it starves nobody, and nobody starves it', async t => {
  const { gates, backend, gate } = scene()
  const results = gates.of(backend, 'tasks/result')
  for (let i = 0; i < 2; i++) t.type(results.enter(), 'number')
  t.match(refused(results), { code: 'overloaded' }, 'no line: it would be over before a task is')
  t.type(gate.enter(), 'number')
  t.equal(gates.of(backend, 'tools/call'), gate)
  t.equal(gates.state(backend).rejected.queue_full, 1)
})

t.test('what counts as a failure of the backend (B13)', async t => {
  const counts = (how: Ended, some: Partial<BackendLimits> = {}): boolean => {
    const { gates, gate, backend } = scene(some)
    for (let i = 0; i < 5; i++) gate.leave(gate.enter(), how)
    return gates.state(backend).breaker === 'open'
  }
  t.ok(counts(error('timeout')))
  t.ok(counts(error('backend_broke')))
  t.ok(counts(error('backend_unavailable')))
  t.ok(counts(error('backend_status', { status: 503 })))
  t.notOk(counts('ok'), 'answered, be it with a JSON-RPC error')
  t.notOk(counts('neutral'), 'cancelled')
  t.notOk(counts(error('backend_status', { status: 401 })))
  t.notOk(counts(error('backend_unavailable', { code: -32602 })), 'refused initialize')
  t.notOk(counts(error('backend_unavailable', { retryAfter: 1 })), 'is left alone already')
  for (const code of ['overloaded', 'shutdown', 'session', 'backend_session_lost', 'backend_invalid'] as const) {
    t.notOk(counts(error(code)), code)
  }
  // A program that dies is left alone by its backend, not by both.
  t.notOk(counts(error('backend_broke'), { restarts: true }))
  t.notOk(counts(error('backend_unavailable'), { restarts: true }))
  t.ok(counts(error('timeout'), { restarts: true }))
  t.notOk(counts(error('timeout'), { breaker: undefined }))
})

t.test('an open breaker turns away whoever comes or waits, and tells when to come again (B13)', async t => {
  const notices: NoticeFact[] = []
  t.teardown(facts.notice.subscribe(notice => void notices.push(notice)))
  const { gate, gates, backend, clock } = scene({ calls: 6 })
  const running = Array.from({ length: 6 }, () => gate.enter())
  const waiting = follow(gate.enter())
  for (const one of running.slice(0, 4)) {
    gate.leave(one, error('timeout'))
    gate.leave(gate.enter(), 'neutral')
  }
  await settled()
  t.equal(waiting.at, 'in')
  while (gate.inFlight < 6) gate.enter()
  const late = follow(gate.enter())
  gate.leave(running[4]!, error('backend_broke'))
  await settled()
  t.equal(late.at, 'backend_unavailable')
  t.equal(clock.pending, 0)
  t.match(refused(gate), {
    code: 'backend_unavailable',
    status: 200,
    data: { reason: 'backend_unavailable', backend: 'fake', retryAfter: 1 }
  })
  t.same(gates.state(backend), {
    breaker: 'open',
    waiting: 0,
    rejected: { queue_full: 0, queue_time: 0, breaker: 2 },
    lastError: 'text'
  })
  clock.advance(1_000)
  const probe = gate.enter()
  t.match(refused(gate), { data: { retryAfter: 1 } }, 'one probe')
  t.equal(gates.state(backend).breaker, 'half-open')
  gate.leave(probe, error('timeout'))
  t.equal(gates.state(backend).breaker, 'open')
  gates.hint(backend)
  gate.leave(gate.enter(), 'ok')
  t.equal(gates.state(backend).breaker, 'closed')
  t.type(gate.enter(), 'number')
  t.match(notices, [
    { level: 'warn', backend: 'fake', error: { code: 'backend_broke' }, data: { pauseMs: 1_000, failuresInRow: 5 } },
    { level: 'debug', backend: 'fake', data: { pauseMs: 2_000, failuresInRow: 6 } },
    { level: 'info', backend: 'fake' }
  ])
})

t.test('nobody waits in front of an open breaker', async t => {
  const { gate, clock } = scene({ calls: 1 })
  for (let i = 0; i < 5; i++) gate.leave(gate.enter(), error('timeout'))
  clock.advance(1_000)
  gate.enter()
  t.match(refused(gate), { code: 'backend_unavailable' }, 'the one place is that of the probe')
  t.equal(gate.waiting, 0)
})

t.test('one piece of work passes as a whole', async t => {
  const { gate, gates, backend } = scene({ calls: 1 })
  let release: (() => void) | undefined
  const long = gate.run(() => new Promise<string>(resolve => (release = () => resolve('long'))))
  const short = gate.run(async () => 'short')
  t.equal(gate.waiting, 1)
  release!()
  t.same(await Promise.all([long, short]), ['long', 'short'])
  for (let i = 0; i < 5; i++) {
    await t.rejects(
      gate.run(() => Promise.reject(error('timeout'))),
      { code: 'timeout' }
    )
  }
  await t.rejects(
    gate.run(async () => 'never'),
    { code: 'backend_unavailable' }
  )
  t.equal(gate.inFlight, 0)
  gates.set(backend, { ...limits, breaker: undefined })
  await t.rejects(
    gates.of(backend).run(() => Promise.reject(new TypeError('ours'))),
    TypeError
  )
  t.equal(gates.of(backend).inFlight, 0)
})

t.test('limits change while calls are on their way', async t => {
  const { gate, gates, backend } = scene({ calls: 1 })
  const running = gate.enter()
  const waiting = follow(gate.enter())
  gates.set(backend, { ...limits, calls: 2 })
  await settled()
  t.equal(waiting.at, 'in')
  gates.set(backend, { ...limits, calls: 1, queue: 0 })
  t.match(refused(gate), { code: 'overloaded' })
  gate.leave(running, error('timeout'))
  t.match(refused(gate), { code: 'overloaded' })
  gates.set(backend, { ...limits, breaker: { ...defaultLimits.breaker!, failures: 1 } })
  t.equal(gates.of(backend), gate)
  gate.leave(gate.enter(), error('timeout'))
  t.equal(gates.state(backend).breaker, 'open')
  gates.set(backend, { ...limits, breaker: { ...defaultLimits.breaker!, failures: 1 } })
  t.equal(gates.state(backend).breaker, 'open', 'nothing changed')
  gates.set(backend, { ...limits, breaker: undefined })
  t.equal(gates.state(backend).breaker, 'off')
  t.type(gate.enter(), 'number')
  t.equal(gates.state(new FakeBackend()).breaker, 'closed', 'of which nothing is known: the defaults')
})

t.test('random calls: no place is lost, none is given twice, the line keeps its order (B12)', async t => {
  const command = fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('enter' as const) }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat(20), fails: fc.boolean() })
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(900) }) }
  )
  let turnedAway = 0
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 20, maxLength: 80 }), async run => {
      const { gate, clock } = scene({ breaker: undefined })
      /** In the order of coming. */
      const calls: { admission: Admission; told: { at: string }; came: number }[] = []
      for (const step of run) {
        const inside = calls.filter(({ told }) => told.at === 'in').length
        const waiting = calls.length - inside
        if (step.kind === 'wait') {
          clock.advance(step.ms)
        } else if (step.kind === 'leave') {
          if (calls.length === 0) continue
          const [call] = calls.splice(step.which % calls.length, 1)
          gate.leave(call!.admission, step.fails ? error('timeout') : 'ok')
        } else if (inside === 2 && waiting === 3) {
          if (refused(gate).code !== 'overloaded') throw new Error('refused, but not for that')
        } else {
          const admission = gate.enter()
          if ((typeof admission === 'number') !== inside < 2) throw new Error('waits for nothing, or passes the line')
          calls.push({ admission, told: follow(admission), came: clock.now() })
        }
        await settled()
        const late = calls.filter(({ told }) => told.at === 'overloaded')
        if (late.some(({ came }) => clock.now() - came < 1_000)) throw new Error('turned away too early')
        for (const call of late) calls.splice(calls.indexOf(call), 1)
        turnedAway += late.length
        const states = calls.map(({ told }) => told.at)
        if (states.indexOf('waits') !== -1 && states.lastIndexOf('in') > states.indexOf('waits')) {
          throw new Error('somebody was passed over')
        }
        const now = states.filter(state => state === 'in').length
        if (now !== Math.min(2, calls.length) || gate.inFlight !== now) throw new Error(`${now} of ${gate.inFlight}`)
        if (gate.waiting !== calls.length - now) throw new Error('another line')
        if (clock.pending !== (gate.waiting > 0 ? 1 : 0)) throw new Error('a timer for nothing')
      }
    }),
    { numRuns: 300 }
  )
  t.ok(turnedAway > 10, `${turnedAway} waited for nothing`)
})
