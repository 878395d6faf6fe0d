/** What a handler does wrong costs its own call only. What needs a process of its own is in test/cli/handler-faults.test.ts. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createModuleBackend } from '../../../src/backends/module/backend.ts'
import { faultOfHandler } from '../../../src/backends/scope.ts'
import { type Context, defineTool } from '../../../src/handlers/define.ts'
import { type DropFact, facts } from '../../../src/telemetry/events.ts'
import { clientOf, notices } from '../../helpers/module-link.ts'

const tool = (handler: (context: Context) => unknown) => ({
  tools: [defineTool({ name: 'it', handler: (_args, context) => handler(context) as Promise<object> })]
})

function stuck(t: Test): DropFact[] {
  const drops: DropFact[] = []
  t.teardown(
    facts.drop.subscribe(fact => {
      if (fact.reason === 'stuck_handler') drops.push(fact)
    })
  )
  return drops
}

/** Where Node would tell of an error that nobody caught. */
const uncaught = (error: unknown): void => {
  if (!faultOfHandler(error)) throw error
}

t.test('an error that nobody caught ends the call that it came of, and the operator is told', async t => {
  const told = notices(t)
  const client = await clientOf(
    t,
    tool(() => {
      setImmediate(() => uncaught(new Error('thrown late')))
      return new Promise(() => {})
    })
  )
  t.match(await client.result('it'), { isError: true, content: [{ text: 'thrown late' }] })
  t.match(
    told.filter(({ level }) => level === 'error'),
    [
      {
        text: '"it" left an error that nobody caught, in tools/call',
        backend: 'mod',
        error: { message: 'thrown late' }
      }
    ]
  )
})

t.test('of another handler than a tool it is an error', async t => {
  const client = await clientOf(t, {
    resources: [
      {
        uri: 'x://1',
        name: 'one',
        read() {
          setImmediate(() => uncaught('text'))
          return new Promise(() => {})
        }
      }
    ]
  })
  t.match((await client.ask('resources/read', { uri: 'x://1' })).error, { code: -32603, message: 'text' })
})

t.test('after the call it is told, and nothing else', async t => {
  const told = notices(t)
  const later = Promise.withResolvers<void>()
  const client = await clientOf(
    t,
    tool(() => {
      setImmediate(() => {
        uncaught(new Error('after'))
        later.resolve()
      })
      return 'done'
    })
  )
  t.match(await client.tool('it'), [{ result: { content: [{ text: 'done' }] } }])
  await later.promise
  t.equal(told.filter(({ text }) => /nobody caught/.test(text)).length, 1)
})

t.test('of no handler it is nobody else’s either', async t => {
  t.notOk(faultOfHandler(new Error('own')))
})

t.test('what a module does by itself is told with its backend', async t => {
  const told = notices(t)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  Object.assign(globalThis, { causewayTest: (error: unknown) => resolve(faultOfHandler(error)) })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'causewayTest'))
  const folder = t.testdir({
    'background.mjs': `
      setTimeout(() => globalThis.causewayTest(new Error('background')), 1)
      export default { name: 'it', handler: () => '' }`
  })
  const backend = await createModuleBackend({ name: 'mod', path: folder })
  t.teardown(() => backend.close())
  t.equal(await promise, true)
  t.match(told, [{}, { text: 'a module left an error that nobody caught', backend: 'mod', error: Error }])
})

t.test('a handler that runs on after its call ended is named in the log and counted', async t => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
  t.teardown(() => mock.timers.reset())
  const told = notices(t)
  const drops = stuck(t)
  const settles = Promise.withResolvers<string>()
  const work = [() => new Promise(() => {}), () => settles.promise, () => new Promise(() => {})]
  const client = await clientOf(
    t,
    tool(() => work.shift()?.())
  )
  const calls = [client.start('tools/call', { name: 'it' }), client.start('tools/call', { name: 'it' })]
  await new Promise(resolve => setImmediate(resolve))
  for (const call of calls) call.cancel('the call took longer than 300 ms')
  const third = client.start('tools/call', { name: 'it' })
  await new Promise(resolve => setImmediate(resolve))
  mock.timers.tick(5_000)
  third.cancel()
  settles.resolve('at last')
  await new Promise(resolve => setImmediate(resolve))
  mock.timers.tick(4_999)
  t.same(drops, [])
  mock.timers.tick(1)
  t.same(drops, [{ reason: 'stuck_handler', backend: 'mod', name: 'it' }])
  t.equal(told.at(-1)?.text, 'the handler of "it" still runs 10 s after its call ended: it should heed its signal')
  mock.timers.tick(5_000)
  t.equal(drops.length, 2)
})

t.test('whoever only waits for the end of a task is not stuck', async t => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
  t.teardown(() => mock.timers.reset())
  const drops = stuck(t)
  const client = await clientOf(t, {
    tools: [
      defineTool({
        name: 'it',
        execution: { taskSupport: 'required' },
        handler: (_args, { signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      })
    ]
  })
  const { task } = (await client.ask('tools/call', { name: 'it', task: {} })).result
  const result = client.start('tasks/result', task)
  await new Promise(resolve => setImmediate(resolve))
  result.cancel()
  mock.timers.tick(60_000)
  t.match((await client.ask('tasks/cancel', task)).result, { status: 'cancelled' })
  await new Promise(resolve => setImmediate(resolve))
  mock.timers.tick(60_000)
  t.same(drops, [])
})
