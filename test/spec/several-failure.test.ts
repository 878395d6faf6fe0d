/** Backends that are dead, hang or are slow, beside others that are not (MUX-06). */

import type { Test } from 'tap'
import t from 'tap'
import type { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { ask, called, names, type Several, startSeveral, unavailable, wholeList } from '../helpers/several.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const healthy = ['h1', 'h2', 'h3', 'h4', 'h5'] as const
const sick = ['hanging', 'dead', 'slow'] as const

/** Milliseconds that the gateway may wait for backends; what is late by more is late. */
const patience = 400
const tolerance = 1_500

const lists: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates'
}

type Name = (typeof healthy)[number] | (typeof sick)[number]

/** The sick ones first, so that whoever asks one after the other waits for them. */
async function start(t: Test, route: object = {}): Promise<Several<Name>> {
  const of = Object.fromEntries(
    [...sick, ...healthy].map(name => [
      name,
      { tools: [`tool-${name}`], prompts: [`prompt-${name}`], resources: [`${name}://x`], templates: [`${name}://{y}`] }
    ])
  ) as Record<Name, object>
  const several = await startSeveral<Name>(t, of, {
    route: { initTimeout: `${patience}ms`, listTimeout: `${patience}ms`, ...route },
    backends: Object.fromEntries(sick.map(name => [name, { breaker: { pause: '100ms', maxPause: '300ms' } }]))
  })
  const { hanging, dead, slow } = several.catalogs
  hanging.state = 'hanging'
  await dead.goDown()
  for (const method of ['initialize', ...Object.keys(lists)]) {
    slow.server.on(method, async turn => {
      await new Promise(resolve => setTimeout(resolve, 3_000).unref())
      turn.answer(method === 'initialize' ? slow.server.initializeResult : JSON.stringify({ [lists[method]!]: [] }))
    })
  }
  return several
}

async function timed<T>(what: string, t: Test, run: () => Promise<T>): Promise<T> {
  const began = performance.now()
  const result = await run()
  const took = performance.now() - began
  t.ok(took < patience + tolerance, `${what} took ${Math.round(took)} ms`)
  return result
}

t.test('five healthy backends are served while three are dead, hang, and are slow (MUX-06)', async t => {
  const { open, catalogs, status, metric } = await start(t)
  const client = await timed('initialize', t, () => open())
  t.match(client.server.capabilities, { tools: { listChanged: true }, prompts: {}, resources: {} })
  await timed('ping', t, () => client.request('ping'))
  await Promise.all(
    Object.entries(lists).map(async ([method, key]) => {
      const { result, error } = await timed(method, t, () => ask(client, method))
      t.equal(error, undefined, 'what fails is no error of the list')
      t.equal(result[key].length, healthy.length, method)
      t.same(unavailable(result).sort(), [...sick].sort(), method)
    })
  )
  for (const name of healthy) {
    t.match(await timed(name, t, () => called(client, `tool-${name}`)), { result: { from: name } })
  }
  const { error } = await called(client, 'tool-dead')
  t.equal(error.code, -32602, 'what was never listed is unknown')
  const found = new Map((await status()).backends.map(backend => [backend.name, backend]))
  t.not(found.get('dead')!.state, 'up')
  t.ok(found.get('dead')!.lastError)
  for (const name of healthy) t.equal(found.get(name)!.state, 'up', name)
  t.equal(await metric('causeway_backend_up{backend="dead"}'), 0)
  t.equal(await metric('causeway_backend_up{backend="h1"}'), 1)
  t.equal(catalogs.h1.heard('initialize'), 1)
})

t.test(
  'a second client waits for nobody: what is known is kept, what failed is not asked at once again (MUX-06)',
  async t => {
    const { open } = await start(t)
    const first = await open()
    await first.request('tools/list')
    const began = performance.now()
    const second = await open()
    t.equal((await ask(second, 'tools/list')).result.tools.length, healthy.length)
    t.ok(performance.now() - began < patience + tolerance)
  }
)

t.test('who comes back is there again, and is told with one list_changed of each kind (MUX-06)', async t => {
  const { open, catalogs } = await start(t)
  const client = await open()
  const channel = await client.get()
  t.equal((await wholeList(client, 'tools/list')).length, healthy.length)
  t.equal((await wholeList(client, 'prompts/list')).length, healthy.length)
  const told = (kind: string): number =>
    channel.events.messages.filter(({ method }) => method === `notifications/${kind}/list_changed`).length
  const before = { tools: told('tools'), prompts: told('prompts') }
  await catalogs.dead.comeBack()
  await channel.events.until(() => told('tools') > before.tools && told('prompts') > before.prompts, 10_000)
  const listed = names(await wholeList(client, 'tools/list'))
  t.same(listed, ['tool-dead', ...healthy.map(name => `tool-${name}`)], 'in its place')
  t.match(await called(client, 'tool-dead'), { result: { from: 'dead' } })
  // Longer than what is told together.
  await new Promise(resolve => setTimeout(resolve, 1_300))
  t.same({ tools: told('tools'), prompts: told('prompts') }, { tools: before.tools + 1, prompts: before.prompts + 1 })
})

t.test('a list that could not be had is not taken for an empty one (MUX-06)', async t => {
  const { open, catalogs } = await startSeveral(
    t,
    { a: { tools: ['x', 'a1'] }, b: { tools: ['x', 'b1'] } },
    { route: { listTimeout: '200ms' }, backends: { b: { breaker: { pause: '50ms', maxPause: '100ms' } } } }
  )
  const client = await open()
  t.same(names(await wholeList(client, 'tools/list')), ['a_x', 'a1', 'b_x', 'b1'])
  await catalogs.b.goDown()
  const late = await open()
  t.match(await called(late, 'b_x'), { error: { data: { backend: 'b' } } }, 'now it is known')
  await until('it is told as missing', async () => unavailable((await ask(late, 'tools/list')).result).includes('b'))
  t.notOk(names(await wholeList(late, 'tools/list')).includes('x'), 'its names are taken still')
  await catalogs.b.comeBack()
  await until('it is back', async () => names(await wholeList(late, 'tools/list')).join() === 'a_x,a1,b_x,b1', 10_000)
})

t.test('a call to a backend that died is one error, which names it; the others answer (MUX-06)', async t => {
  const { open, catalogs } = await startSeveral(t, { a: { tools: ['a1'] }, b: { tools: ['b1'] } })
  const client = await open()
  await client.request('tools/list')
  await catalogs.b.goDown()
  t.match(await called(client, 'b1'), { error: { code: -32603, data: { backend: 'b', reason: String } } })
  t.match(await called(client, 'a1'), { result: { from: 'a' } })
})

t.test('a call whose backend is still to be found can be cancelled: it ends, and reaches nobody (CAN-01)', async t => {
  const { open, catalogs } = await startSeveral(
    t,
    { a: { tools: ['a1'] }, b: { tools: ['b1'] } },
    { file: { streams: { sseAfter: '20ms' } } }
  )
  const { server } = catalogs.b
  let lists = (): void => {}
  server.on('tools/list', async turn => {
    await new Promise<void>(resolve => {
      lists = resolve
    })
    turn.answer('{"tools":[{"name":"b1","inputSchema":{"type":"object"}}]}')
  })
  const client = await open()
  const call = await client.call('b1')
  await until('the list is asked for', () => catalogs.b.heard('tools/list') === 1)
  await client.post({ method: 'notifications/cancelled', params: { requestId: client.lastId } })
  await call.events.whole(1_000)
  t.same(call.events.messages, [])
  lists()
  t.same(names(await wholeList(client, 'tools/list')), ['a1', 'b1'])
  t.equal(catalogs.b.heard('tools/call'), 0)
})

t.test('onError: fail refuses what would be incomplete (MUX-06)', async t => {
  const { catalogs, open } = await start(t, { onError: 'fail' })
  const attempt = async (): Promise<any> => {
    let client: RawClient
    try {
      client = await open()
    } catch (error) {
      return (error as Error).message
    }
    return JSON.stringify((await ask(client, 'tools/list')).error)
  }
  t.match(await timed('the refusal', t, attempt), /hanging|dead|slow/)
  for (const name of sick) catalogs[name].state = 'up'
  await catalogs.dead.comeBack()
  for (const method of Object.keys(lists))
    catalogs.slow.server.on(method, turn => turn.answer(JSON.stringify({ [lists[method]!]: [] })))
  catalogs.slow.server.on('initialize', turn => turn.answer(catalogs.slow.server.initializeResult))
  let client: RawClient | undefined
  await until(
    'all are there',
    async () => {
      client = await open().catch(() => undefined)
      return client !== undefined
    },
    10_000
  )
  await until(
    'all are listed',
    async () => (await ask(client!, 'tools/list')).result?.tools.length === healthy.length + 2,
    10_000
  )
})
