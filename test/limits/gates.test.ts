/** docs/limits.md, "Calls and backends": how many calls a backend gets at once, and when it gets none. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { saying, startLegacy } from '../helpers/legacy.ts'
import { until } from '../helpers/until.ts'

async function start(t: Test, backend: Record<string, unknown>) {
  const gateway = await startLegacy(t, { backend })
  const client = await gateway.open()
  const calls = () => gateway.server.heardOf('tools/call').length
  const error = async (name: string): Promise<unknown> => {
    const { json, events } = await client.call(name)
    return (json ?? (await events.whole()).messages.at(-1)).error
  }
  return { ...gateway, client, calls, error }
}

const overloaded = { code: -32603, data: { reason: 'overloaded', backend: 'docs' } }
const spared = { code: -32603, data: { reason: 'backend_unavailable', backend: 'docs' } }
const broke = { code: -32603, data: { reason: 'backend_broke', backend: 'docs' } }

t.test('backends.<name>.calls: so many reach the backend at once, the next one when one of them ended', async t => {
  const { client, held, calls } = await start(t, { calls: 2 })
  const all = Array.from({ length: 3 }, () => client.call('held'))
  const first = await held()
  const second = await held()
  await sleep(100)
  t.equal(calls(), 2)
  first.answer(saying('1'))
  const third = await held()
  second.answer(saying('2'))
  third.answer(saying('3'))
  for (const call of all) t.ok((await call).json.result)
})

t.test('backends.<name>.queue: so many wait, one more is refused at once', async t => {
  const { client, held, calls, error } = await start(t, { calls: 1, queue: 2 })
  const all = [client.call('held')]
  const first = await held()
  all.push(client.call('held'), client.call('held'))
  await sleep(100)
  t.match(await error('held'), overloaded)
  t.equal(calls(), 1)
  first.answer(saying('1'))
  for (let n = 2; n <= 3; n++) (await held()).answer(saying(`${n}`))
  for (const call of all) t.ok((await call).json.result)
})

t.test('backends.<name>.queueTime: a call that waits shorter is served, longer it is refused', async t => {
  const { client, held, error } = await start(t, { calls: 1, queueTime: '600ms' })
  const call = client.call('held')
  const first = await held()
  const next = client.call('held')
  await sleep(200)
  first.answer(saying('1'))
  const second = await held()
  t.ok((await call).json.result)
  const began = performance.now()
  t.match(await error('held'), overloaded)
  t.ok(performance.now() - began >= 590)
  second.answer(saying('2'))
  t.ok((await next).json.result)
})

t.test(
  'backends.<name>.breaker.failures: with one less calls go on, with so many in a row they are refused',
  async t => {
    const { error, calls } = await start(t, { breaker: { failures: 3, pause: '1m' } })
    for (const name of ['die', 'die', 'echo', 'die', 'die']) await error(name)
    t.match(await error('die'), broke, 'two in a row, a success between')
    t.match(await error('echo'), { ...spared, data: { retryAfter: Number } })
    t.equal(calls(), 6, 'the backend is not asked')
  }
)

t.test('backends.<name>.breaker.minimum: below so many calls their share says nothing', async t => {
  const { error } = await start(t, { breaker: { failures: 100, ratio: 0.5, minimum: 6, pause: '1m' } })
  for (const name of ['echo', 'die', 'die', 'die']) await error(name)
  t.equal(await error('echo'), undefined, 'three of four')
  await error('die')
  t.match(await error('echo'), spared, 'four of six')
})

t.test('backends.<name>.breaker.window: failures within it are counted as a share, older ones are not', async t => {
  const breaker = { failures: 100, ratio: 0.5, minimum: 4, window: '1s', pause: '1m' }
  const { error } = await start(t, { breaker })
  for (let n = 0; n < 3; n++) await error('die')
  await sleep(1200)
  await error('die')
  t.equal(await error('echo'), undefined)
  for (let n = 0; n < 2; n++) await error('die')
  t.match(await error('echo'), spared)
})

t.test('backends.<name>.breaker.pause: before it no call is let through, after it one is, and decides', async t => {
  const { error, calls } = await start(t, { breaker: { failures: 1, pause: '1s' } })
  await error('die')
  t.match(await error('echo'), spared)
  await sleep(300)
  t.match(await error('echo'), spared, 'not yet')
  const before = calls()
  await sleep(700)
  t.equal(await error('echo'), undefined)
  t.equal(await error('echo'), undefined, 'and so are the next')
  t.equal(calls(), before + 2)
})

t.test('backends.<name>.breaker.maxPause: pauses are doubled up to it, and then no more', async t => {
  const { error } = await start(t, { breaker: { failures: 1, pause: '400ms', maxPause: '500ms' } })
  await error('die')
  for (let n = 0; n < 3; n++) {
    await sleep(500)
    t.match(await error('die'), broke, 'it is let through again')
    t.match(await error('echo'), spared, 'and not at once')
  }
  await until('the breaker lets a call through', async () => (await error('echo')) === undefined)
})
