import { performance } from 'node:perf_hooks'
import t, { type Test } from 'tap'
import { anonymous } from '../../../src/auth/principal.ts'
import type { Backend } from '../../../src/backends/backend.ts'
import { Backoff } from '../../../src/backends/backoff.ts'
import { createWorkerBackend, type WorkerOptions } from '../../../src/backends/module/worker.ts'
import { type DropFact, facts } from '../../../src/telemetry/events.ts'
import { Clock } from '../../helpers/clock.ts'
import { type ClientOptions, ModuleClient, notices, type Said, saidOf } from '../../helpers/module-link.ts'
import { until } from '../../helpers/until.ts'

const fixture = new URL('../../fixtures/handlers/worker.mjs', import.meta.url).pathname

async function start(t: Test, options: Partial<WorkerOptions> = {}): Promise<Backend> {
  const backend = await createWorkerBackend({ name: 'mod', path: fixture, backoff: quick(), ...options })
  t.teardown(() => backend.close())
  return backend
}

/** Starts again at once. */
const quick = (): Backoff => {
  const clock = new Clock()
  return new Backoff(() => {
    clock.advance(3_600_000)
    return clock.now()
  })
}

interface Connected extends ModuleClient {
  readonly ended: Error[]
}

async function connect(
  backend: Backend,
  { answer, ...options }: ClientOptions = {},
  principal = anonymous.key
): Promise<Connected> {
  const received: Said[] = []
  const ended: Error[] = []
  const link = await backend.open({
    principal: { key: principal },
    client: {
      version: options.version ?? '2025-11-25',
      capabilities: JSON.stringify(options.capabilities ?? {}),
      info: '{"name":"test","version":"1"}'
    },
    signal: new AbortController().signal,
    receive: message => received.push(saidOf(message)),
    ended: error => ended.push(error)
  })
  return Object.assign(new ModuleClient(link, received, answer, principal), { ended })
}

function stuck(t: Test): DropFact[] {
  const drops: DropFact[] = []
  t.teardown(facts.drop.subscribe(fact => drops.push(fact)))
  return drops
}

const texts = (said: Said[]): unknown => said.at(-1)?.result.content[0].text

t.test('it is up from its first use on, as any backend: nobody hears what is told while it is made', async t => {
  const health: boolean[] = []
  t.teardown(facts.backend.subscribe(({ up }) => health.push(up)))
  const backend = await start(t)
  t.same(health, [])
  await connect(backend)
  t.same(health, [true])
})

t.test('handlers in a thread are served like any others', async t => {
  const told = notices(t)
  const backend = await start(t)
  t.match(told, [{ level: 'info', text: '13 tools, 1 resources, 0 resource templates, 0 prompts', backend: 'mod' }])
  const client = await connect(backend, {
    capabilities: { elicitation: {} },
    answer: () => ({ result: { action: 'accept', content: { answer: 'Ada' } } })
  })
  t.match(JSON.parse(client.link.server.result).serverInfo, { name: 'worker' })
  t.equal(texts(await client.tool('echo', { a: [1] })), '{"a":[1]}')
  t.match(await client.tool('ask'), [{ method: 'elicitation/create' }, { result: { content: [{ text: 'Ada' }] } }])
  t.match((await client.ask('resources/read', { uri: 'x://1' })).result.contents, [{ text: 'text' }])
  t.match((await client.ask('tools/call', { name: 'none' })).error, { code: -32602 })
})

t.test('who calls, the session and its subscriptions are those of the link', async t => {
  const backend = await start(t)
  const [one, two] = [await connect(backend, {}, 'me'), await connect(backend, { version: '2025-06-18' })]
  t.equal(texts(await one.tool('count')), '1')
  t.equal(texts(await one.tool('count')), '2')
  t.equal(texts(await two.tool('count')), '1')
  let closed = 0
  const exchange = one.start('tools/call', { name: 'who' }, () => closed++)
  t.equal(texts(await one.all(exchange)), 'me 2025-11-25')
  t.equal(closed, 1, 'closeStream gets there')
  t.equal(texts(await two.tool('who')), 'anonymous 2025-06-18')
  await one.ask('resources/subscribe', { uri: 'x://1' })
  await two.tool('tell')
  await until('the notifications', () => one.received.length === 2 && two.received.length === 1)
  t.same(
    one.received.map(({ method }) => method),
    ['notifications/x', 'notifications/resources/updated']
  )
  const { task } = (await one.ask('tools/call', { name: 'job', task: {} })).result
  t.match((await one.ask('tasks/result', task)).result, { content: [{ text: 'done' }] })
})

t.test('what handlers throw is logged here, with its stack', async t => {
  const told = notices(t)
  const client = await connect(await start(t))
  t.match((await client.tool('fail')).at(-1)?.result, { isError: true, content: [{ text: 'no luck' }] })
  t.match((await client.tool('throw_late')).at(-1)?.result, { isError: true, content: [{ text: 'late' }] })
  t.equal(texts(await client.tool('echo')), '{}', 'the thread goes on')
  const errors = told.filter(({ level }) => level === 'error')
  t.match(errors, [
    { text: 'the tool fail failed', backend: 'mod', error: { message: 'no luck', stack: /worker\.mjs/ } },
    { text: '"throw_late" left an error that nobody caught, in tools/call', error: { message: 'late' } }
  ])
})

t.test('a handler that blocks does not block the gateway; it is named, its thread ended and started anew', async t => {
  const told = notices(t)
  const drops = stuck(t)
  const backend = await start(t, { timeout: 300 })
  const client = await connect(backend)
  const waiting = client.tool('never')
  const began = performance.now()
  const blocked = client.tool('block')
  await new Promise(resolve => setTimeout(resolve, 20))
  t.ok(performance.now() - began < 300, 'this thread turns')
  for (const call of [waiting, blocked]) await t.rejects(call, { code: 'backend_broke', backend: 'mod' })
  t.match(drops, [{ reason: 'stuck_handler', backend: 'mod', name: 'block' }], 'and not the one that only waits')
  t.match(told.slice(1), [
    { text: 'the handler of "block" blocks its thread, which is ended' },
    { level: 'error', text: /took no messages/, data: { running: ['block'] } }
  ])
  t.match(client.ended, [{ code: 'backend_broke' }])
  await t.rejects(client.tool('echo'), { code: 'backend_broke' })
  t.equal(texts(await (await connect(backend)).tool('echo')), '{}')
})

t.test('one that blocks later is named with those that wait, for it cannot be told apart', async t => {
  const drops = stuck(t)
  const client = await connect(await start(t, { timeout: 100 }))
  const calls = [client.tool('never'), client.tool('block_later')]
  for (const call of calls) await t.rejects(call, { code: 'backend_broke' })
  t.same(drops.map(({ name }) => name).sort(), ['block_later', 'never'])
})

t.test('a handler that takes all memory ends its thread only', async t => {
  const told = notices(t)
  const backend = await start(t, { memory: 128 * 1024 ** 2 })
  await t.rejects((await connect(backend)).tool('hoard'), { code: 'backend_broke', message: /memory/ })
  t.match(told.at(-1), { level: 'error', text: /memory/, data: { running: ['hoard'] } })
  t.equal(texts(await (await connect(backend)).tool('echo')), '{}')
})

t.test('a handler that ends its thread ends nothing else', async t => {
  const backend = await start(t)
  await t.rejects((await connect(backend)).tool('leave'), { code: 'backend_broke', message: /ended with 3/ })
  t.equal(texts(await (await connect(backend)).tool('echo')), '{}')
})

t.test(
  'after its end a thread is started with back-off; meanwhile openings are refused, and say until when',
  async t => {
    const clock = new Clock()
    const health: boolean[] = []
    t.teardown(facts.backend.subscribe(({ up }) => health.push(up)))
    const backend = await start(t, { backoff: new Backoff(clock.now, () => 0) })
    for (const wait of [1_000, 2_000]) {
      const client = await connect(backend)
      await t.rejects(client.tool('leave'), { code: 'backend_broke' })
      clock.advance(wait)
    }
    const client = await connect(backend)
    await t.rejects(client.tool('leave'), { code: 'backend_broke' })
    await t.rejects(connect(backend), { code: 'backend_unavailable', data: { retryAfter: 4 } })
    clock.advance(4_000)
    t.equal(texts(await (await connect(backend)).tool('echo')), '{}')
    t.same(health, [true, false, true, false, true, false, true])
  }
)

t.test('a call that nobody waits for any more is cancelled in its thread, and named when it runs on', async t => {
  const client = await connect(await start(t))
  const exchange = client.start('tools/call', { name: 'never' })
  const next = exchange.next()
  exchange.cancel('enough')
  t.match(await next, { done: true })
  t.equal(texts(await client.tool('echo')), '{}')
})

t.test('handlers that cannot be served refuse to start, as those of the gateway’s own thread do', async t => {
  const folder = t.testdir({
    'broken.mjs': "throw new Error('on purpose')",
    'endless.mjs': 'for (;;);',
    'good.mjs': "export default { name: 'good', handler: () => '' }"
  })
  const open = (path: string, more: Partial<WorkerOptions> = {}) =>
    createWorkerBackend({ name: 'mod', path: `${folder}/${path}`, ...more })
  await t.rejects(open('broken.mjs'), {
    code: 'backend_unavailable',
    message: /broken\.mjs cannot be loaded: on purpose/
  })
  await t.rejects(open('none'), { code: 'backend_unavailable', message: /ENOENT/ })
  await t.rejects(open('endless.mjs', { timeout: 100, loading: 200 }), {
    code: 'backend_unavailable',
    message: /took no messages/
  })
  const strict = t.testdir({
    'broken.mjs': "throw new Error('x')",
    'good.mjs': "export default { name: 'g', handler() {} }"
  })
  await t.rejects(createWorkerBackend({ name: 'mod', path: strict, strict: true }), { message: /broken\.mjs/ })
  const lenient = await createWorkerBackend({ name: 'mod', path: strict })
  await lenient.close()
})

t.test('an opening that was given up leaves nothing behind', async t => {
  const backend = await start(t)
  const options = {
    principal: anonymous,
    client: { version: '2025-11-25', capabilities: '{}', info: '{}' },
    receive() {},
    ended() {}
  }
  await t.rejects(backend.open({ ...options, signal: AbortSignal.abort(new Error('gone')) }), {
    code: 'backend_unavailable',
    message: /given up/
  })
})

t.test('closing ends a thread that lets itself be ended, and one that does not', async t => {
  const gentle = await createWorkerBackend({ name: 'mod', path: fixture })
  await gentle.close()
  await t.rejects(connect(gentle), { code: 'backend_unavailable' })
  const blocked = await createWorkerBackend({ name: 'mod', path: fixture })
  const call = (await connect(blocked)).tool('block')
  call.catch(() => {})
  await blocked.close()
  await t.rejects(call, { code: 'backend_broke' })
})
