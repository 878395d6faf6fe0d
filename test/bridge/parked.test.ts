import t, { type Test } from 'tap'
import type { Backend, Call, Link } from '../../src/backends/backend.ts'
import { Queue } from '../../src/backends/queue.ts'
import { Interaction } from '../../src/bridge/interaction.ts'
import { maxPerPrincipal, Parked } from '../../src/bridge/parked.ts'
import { Countdown } from '../../src/exchanges/countdown.ts'
import { makeNotification, makeRequest, makeResult } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import { Sealer } from '../../src/protocol/seal.ts'
import { value } from '../../src/protocol/write.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'

const principal = { key: 'i alice', issuer: 'i', subject: 'alice' }
const backend = { name: 'b' } as Backend

function parkedOf(t: Test, { timeoutMs = 60_000, rounds = 10 } = {}) {
  const holds: string[] = []
  const parked = new Parked({
    sealer: new Sealer(Buffer.alloc(32)),
    owner: 'me',
    timeout: new Countdown(timeoutMs),
    rounds,
    hold: () => void holds.push('hold'),
    drop: () => void holds.push('drop'),
    spoil: () => void holds.push('spoil')
  })
  t.teardown(() => parked.close())
  const request = (id = '1'): Message => makeRequest(id, 'tools/call', { name: 'x', arguments: {}, _meta: {} })
  const begin = (live = { record: { principal: principal.key } } as Live) => {
    const call: Call = { principal, origin: { route: '/mcp', principal, request: request() } }
    const cancelled: (string | undefined)[] = []
    const sent: Message[] = []
    const upstream = new Queue({ cancel: reason => void cancelled.push(reason), detach() {} })
    const link = { send: async (message: Message) => void sent.push(message), server: { version: '2025-11-25' } }
    const interaction = new Interaction(upstream, request(), call, {
      backend,
      live,
      link: link as unknown as Link,
      bridge: link as unknown as Link,
      parked,
      refusal: () => undefined,
      over: () => {}
    })
    return { call, cancelled, sent, upstream, interaction }
  }
  const ask = async (begun: ReturnType<typeof begin>, id = '7'): Promise<string> => {
    begun.upstream.push(makeRequest(id, 'roots/list'))
    const { value: message } = await begun.interaction.next()
    return (value(message).result as { requestState: string }).requestState
  }
  const origin = (id = '2', route = '/mcp', who = principal) => ({ route, principal: who, request: request(id) })
  return { parked, begin, ask, origin, holds }
}

t.test('a client that left before it had the whole answer cancels; one that came back did not leave', async t => {
  const { parked, begin, ask, origin, holds } = parkedOf(t)
  const gone = begin()
  await ask(gone)
  parked.left(gone.call)
  t.same(gone.cancelled, ['the client left'])
  t.equal(parked.size, 0)
  t.same(holds, ['hold', 'spoil', 'drop'])
  const back = begin()
  const claimed = parked.claim(await ask(back), origin())!
  back.interaction.again(makeRequest('2', 'tools/call', {}), { principal }, claimed.answered)
  parked.left(back.call)
  t.same(back.cancelled, [])
})

t.test('a state is nothing to another principal, and nothing to who came too late', async t => {
  const { parked, begin, ask, origin } = parkedOf(t, { timeoutMs: 30 })
  const begun = begin()
  const state = await ask(begun)
  t.throws(() => parked.claim(state, origin('2', '/mcp', { ...principal, key: 'i bob' })), { code: 'state' })
  t.throws(() => parked.claim(state, origin('2', '/other')), { code: 'state' })
  await begun.interaction.next()
  t.same(begun.cancelled, ['the client did not answer in time'])
  t.throws(() => parked.claim(state, origin()), { code: 'state' })
  t.equal(parked.claim('AAAA', origin()), undefined)
})

t.test('what was parked elsewhere is gone with who has it', async t => {
  const { parked, begin, ask, origin } = parkedOf(t)
  const state = await ask(begin())
  const other = new Parked({
    sealer: new Sealer(Buffer.alloc(32)),
    owner: 'another',
    timeout: new Countdown(1_000),
    rounds: 1,
    hold() {},
    drop() {},
    spoil() {}
  })
  t.throws(() => other.claim(state, origin()), { code: 'backend_unavailable', data: { reason: 'owner' } })
  t.ok(parked.claim(state, origin()))
})

t.test('a call that was claimed and never goes on is given up', async t => {
  const { parked, begin, ask, origin } = parkedOf(t)
  const begun = begin()
  const claimed = parked.claim(await ask(begun), origin())!
  const call: Call = { principal }
  parked.resume(call, claimed)
  parked.over(call)
  t.same(begun.cancelled, ['the call was given up'])
})

t.test('one caller may have so many; those who come after end with an error, upstream too', async t => {
  const { parked, begin, ask } = parkedOf(t)
  await Promise.all(Array.from({ length: maxPerPrincipal }, () => ask(begin())))
  t.equal(parked.size, maxPerPrincipal)
  const last = begin()
  await t.rejects(ask(last), { code: 'overloaded', backend: 'b' })
  t.equal(last.cancelled.length, 1)
  parked.close()
  t.equal(parked.size, 0)
})

t.test(
  'an upstream that ends while it is parked: its answer is kept, its failure is told, nothing is begun again',
  async t => {
    const { parked, begin, ask, origin } = parkedOf(t)
    const again = makeRequest('"second"', 'tools/call', {})
    const answered = begin()
    const first = parked.claim(await ask(answered), origin())!
    answered.upstream.push(makeNotification('notifications/message', { level: 'info', data: 1 }))
    answered.upstream.finish(makeResult('1', { content: [] }))
    await new Promise(setImmediate)
    const { value: message } = await answered.interaction.again(again, { principal }, first.answered).next()
    t.match(value(message), { id: 'second', result: { content: [] } })
    t.match(await answered.interaction.next(), { done: true })
    const closed = begin()
    const second = parked.claim(await ask(closed), origin())!
    closed.upstream.detach()
    await new Promise(setImmediate)
    await t.rejects(closed.interaction.again(again, { principal }, second.answered).next(), { code: 'backend_broke' })
  }
)
