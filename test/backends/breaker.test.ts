/** The circuit breaker on a clock that stands still (B13). */
import fc from 'fast-check'
import t from 'tap'
import { Breaker, type BreakerLimits, type Outcome } from '../../src/backends/breaker.ts'
import { Tally } from '../../src/backends/tally.ts'
import { StillClock } from '../helpers/http-clock.ts'

const limits: BreakerLimits = {
  failures: 5,
  ratio: 0.5,
  window: 30_000,
  minimum: 20,
  pause: 1_000,
  maxPause: 30_000
}

const scene = (some: Partial<BreakerLimits> = {}) => {
  const clock = new StillClock()
  clock.chance = 0
  const told: string[] = []
  const breaker = new Breaker({ ...limits, ...some }, clock, {
    opened: (ms, again, inRow) => void told.push(`${again ? 'again' : 'open'} ${ms} ${inRow}`),
    closed: () => void told.push('closed')
  })
  const call = (outcome: Outcome): void => breaker.leave(breaker.enter()!, outcome)
  const calls = (...outcomes: Outcome[]): void => outcomes.forEach(call)
  return { clock, breaker, told, call, calls }
}

const times = (count: number, outcome: Outcome): Outcome[] => Array.from({ length: count }, () => outcome)

t.test('so many failures in a row open it, and nobody passes for the pause (B13)', async t => {
  const { breaker, clock, told, calls } = scene()
  calls(...times(4, 'failed'), 'ok', ...times(4, 'failed'))
  t.equal(breaker.state, 'closed', 'an answer in between begins anew')
  t.equal(breaker.remaining, 0)
  calls('neutral', 'failed')
  t.equal(breaker.state, 'open')
  t.same(told, ['open 1000 5'])
  t.equal(breaker.enter(), undefined)
  clock.advance(999)
  t.equal(breaker.remaining, 1)
  t.equal(breaker.enter(), undefined)
  t.equal(breaker.state, 'open')
  clock.advance(1)
  t.equal(breaker.state, 'half-open')
})

t.test('a share of failures within the window opens it, once there were enough calls (B13)', async t => {
  const { breaker, clock, calls } = scene()
  for (let i = 0; i < 9; i++) calls('ok', 'failed')
  calls('ok')
  t.equal(breaker.state, 'closed', '9 of 19')
  calls('failed')
  t.equal(breaker.state, 'open', '10 of 20')
  const later = scene()
  for (let i = 0; i < 9; i++) later.calls('ok', 'failed')
  later.clock.advance(30_001)
  later.calls('ok', 'failed')
  t.equal(later.breaker.state, 'closed', 'what is older than the window is forgotten')
  t.equal(clock.now(), 0)
})

t.test('one call is the probe: its answer closes the breaker, and all pass (B13)', async t => {
  const { breaker, clock, told, calls } = scene()
  calls(...times(5, 'failed'))
  clock.advance(1_000)
  const probe = breaker.enter()!
  t.equal(breaker.state, 'half-open')
  for (let i = 0; i < 10; i++) t.equal(breaker.enter(), undefined, 'exactly one')
  breaker.leave(probe, 'ok')
  t.equal(breaker.state, 'closed')
  t.same(told, ['open 1000 5', 'closed'])
  calls(...times(4, 'failed'))
  t.equal(breaker.state, 'closed', 'counted from the start')
})

t.test('a probe that fails doubles the pause, up to the longest, less up to a quarter (B13)', async t => {
  const { breaker, clock, told, calls, call } = scene()
  calls(...times(5, 'failed'))
  for (let i = 0; i < 6; i++) {
    clock.advance(breaker.remaining)
    call('failed')
  }
  t.same(told.slice(1), [
    'again 2000 6',
    'again 4000 7',
    'again 8000 8',
    'again 16000 9',
    'again 30000 10',
    'again 30000 11'
  ])
  clock.chance = 0.8
  clock.advance(30_000)
  call('failed')
  t.equal(breaker.remaining, 24_000)
})

t.test('the pause goes on growing when it opens again soon, else it begins anew (B13)', async t => {
  const { clock, told, calls, call, breaker } = scene()
  const fail = (): void => calls(...times(5, 'failed'))
  fail()
  clock.advance(1_000)
  call('ok')
  fail()
  t.equal(told.at(-1), 'open 2000 5')
  clock.advance(2_000)
  call('ok')
  clock.advance(30_001)
  fail()
  t.equal(told.at(-1), 'open 1000 5')
  t.equal(breaker.remaining, 1_000)
})

t.test('a probe that says nothing of the backend leaves its turn to the next call', async t => {
  const { breaker, clock, calls, told } = scene()
  calls(...times(5, 'failed'))
  clock.advance(1_000)
  breaker.leave(breaker.enter()!, 'neutral')
  t.equal(breaker.state, 'half-open')
  const probe = breaker.enter()
  t.ok(probe)
  t.equal(breaker.enter(), undefined)
  t.same(told, ['open 1000 5'])
})

t.test('a probe that takes as long as a pause lets another one try; its answer counts all the same', async t => {
  const { breaker, clock, calls } = scene()
  calls(...times(5, 'failed'))
  clock.advance(1_000)
  const slow = breaker.enter()!
  clock.advance(999)
  t.equal(breaker.enter(), undefined)
  clock.advance(1)
  const second = breaker.enter()!
  t.ok(second, 'the slow one had its time')
  clock.advance(1_999)
  t.equal(breaker.enter(), undefined, 'twice the time')
  breaker.leave(slow, 'failed')
  t.equal(breaker.enter(), undefined, 'that it fails now is no news')
  clock.advance(1)
  const third = breaker.enter()!
  breaker.leave(second, 'ok')
  t.equal(breaker.state, 'closed')
  breaker.leave(third, 'failed')
  calls(...times(4, 'failed'))
  t.equal(breaker.state, 'closed', 'the end of a former probe does not count any more')
})

t.test('what began before it opened does not count after that', async t => {
  const { breaker, clock, calls, told } = scene()
  const before = [breaker.enter()!, breaker.enter()!, breaker.enter()!] as const
  calls(...times(5, 'failed'))
  breaker.leave(before[0], 'failed')
  breaker.leave(before[1], 'ok')
  t.equal(breaker.state, 'open')
  clock.advance(1_000)
  calls('ok')
  breaker.leave(before[2], 'failed')
  calls(...times(4, 'failed'))
  t.equal(breaker.state, 'closed')
  t.same(told, ['open 1000 5', 'closed'])
})

t.test('a backend that was reached otherwise is tried at once', async t => {
  const { breaker, calls } = scene()
  breaker.hint()
  t.equal(breaker.state, 'closed')
  calls(...times(5, 'failed'))
  breaker.hint()
  const probe = breaker.enter()
  t.ok(probe)
  breaker.hint()
  t.equal(breaker.enter(), undefined, 'still one probe')
})

t.test('random calls, ends and waits: as a naive breaker has it (B13)', async t => {
  const outcomes: readonly Outcome[] = ['ok', 'failed', 'failed', 'neutral']
  const command = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('enter' as const) }) },
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat(50), outcome: fc.nat(3) })
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(1_200) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(20_000) }) }
  )
  const small: BreakerLimits = { failures: 3, ratio: 0.5, window: 5_000, minimum: 6, pause: 500, maxPause: 4_000 }
  let opened = 0
  let closed = 0
  fc.assert(
    fc.property(
      fc.array(command, { minLength: 40, maxLength: 200 }),
      fc.double({ min: 0, max: 0.999 }),
      (run, chance) => {
        const { clock, breaker, told } = scene(small)
        clock.chance = chance
        const model = new Naive(small, chance)
        const held: number[] = []
        for (const step of run) {
          if (step.kind === 'wait') {
            clock.advance(step.ms)
            model.now += step.ms
          } else if (step.kind === 'enter') {
            const pass = breaker.enter()
            if ((pass !== undefined) !== model.enter()) throw new Error(`let in: ${pass !== undefined}`)
            if (pass !== undefined) held.push(pass)
          } else if (held.length > 0) {
            const which = step.which % held.length
            const outcome = outcomes[step.outcome]!
            breaker.leave(held.splice(which, 1)[0]!, outcome)
            model.leave(which, outcome)
          }
          if (breaker.state !== model.state) throw new Error(`${breaker.state}, not ${model.state}`)
          if (Math.abs(breaker.remaining - model.remaining) > 1e-6) throw new Error('another pause')
        }
        opened += told.filter(text => text.startsWith('open')).length
        closed += told.filter(text => text === 'closed').length
      }
    ),
    { numRuns: 1_000 }
  )
  t.ok(opened > 100 && closed > 20, `opened ${opened} times, closed ${closed} times`)
})

/** Calls as a list, each with the time of its place in history; no counters. */
class Naive {
  now = 0
  readonly #limits: BreakerLimits
  readonly #chance: number
  /** Calls on their way, in the order of coming: which period they belong to, and, of probes, whether they are the last. */
  #calls: { period: number; probe: boolean }[] = []
  #ended: { at: number; failed: boolean }[] = []
  #period = 0
  #until: number | undefined
  #last: { period: number; probe: boolean } | undefined
  #pauses = 0
  #closedAt = Number.NEGATIVE_INFINITY

  constructor(limits: BreakerLimits, chance: number) {
    this.#limits = limits
    this.#chance = chance
  }

  get state(): string {
    if (this.#until === undefined) return 'closed'
    return this.#last !== undefined || this.now >= this.#until ? 'half-open' : 'open'
  }

  get remaining(): number {
    return this.#until === undefined ? 0 : Math.max(0, this.#until - this.now)
  }

  enter(): boolean {
    if (this.#until === undefined) {
      this.#calls.push({ period: this.#period, probe: false })
      return true
    }
    if (this.now < this.#until) return false
    if (this.#last !== undefined) this.#pauses++
    this.#last = { period: this.#period, probe: true }
    this.#calls.push(this.#last)
    this.#until = this.now + this.#pause
    return true
  }

  leave(which: number, outcome: Outcome): void {
    const [call] = this.#calls.splice(which, 1)
    if (call!.period !== this.#period) return
    if (call!.probe) {
      if (outcome === 'ok') {
        this.#until = undefined
        this.#last = undefined
        this.#period++
        this.#ended = []
        this.#closedAt = this.now
      } else if (call === this.#last) {
        this.#last = undefined
        if (outcome === 'failed') this.#pauses++
        this.#until = outcome === 'failed' ? this.now + this.#pause : this.now
      }
      return
    }
    if (outcome === 'neutral') return
    this.#ended.push({ at: this.now, failed: outcome === 'failed' })
    const { failures, minimum, ratio, window } = this.#limits
    const slot = (at: number): number => Math.floor(at / (window / 10))
    const recent = this.#ended.filter(({ at }) => slot(this.now) - slot(at) < 10)
    const failed = recent.filter(one => one.failed).length
    const row = this.#ended.length - 1 - this.#ended.findLastIndex(one => !one.failed)
    const share = recent.length >= minimum && failed >= ratio * recent.length
    if (outcome !== 'failed' || (row < failures && !share)) return
    this.#pauses = this.now - this.#closedAt > window ? 1 : this.#pauses + 1
    this.#period++
    this.#until = this.now + this.#pause
  }

  get #pause(): number {
    const { pause, maxPause } = this.#limits
    return Math.min(maxPause, pause * 2 ** (this.#pauses - 1)) * (1 - 0.25 * this.#chance)
  }
}

t.test('a tally forgets by tenths of its window', async t => {
  const tally = new Tally(1_000)
  tally.add(true, 0)
  tally.add(false, 99)
  tally.add(true, 950)
  t.same([tally.total, tally.failed], [3, 2])
  tally.add(false, 1_000)
  t.same([tally.total, tally.failed], [2, 1], 'the first tenth is over')
  tally.add(false, 1_950)
  t.same([tally.total, tally.failed], [2, 0])
  tally.add(true, 1_000_000)
  t.same([tally.total, tally.failed], [1, 1])
  tally.clear()
  t.same([tally.total, tally.failed], [0, 0])
})
