/** docs/limits.md, "Several backends behind a route". */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Turn } from '../helpers/scripted.ts'
import { namesIn, together } from '../helpers/union.ts'

const two = { a: { tools: ['x'] }, b: { tools: ['y'] } }

t.test(
  'routes.<path>.initTimeout: a backend that answers in time is told of, a later one is not waited for',
  async t => {
    const { open, servers } = await together(
      t,
      { a: { tools: ['x'] }, b: { prompts: ['p'] }, c: { tools: ['z'] } },
      { route: { initTimeout: '700ms' } }
    )
    const { initializeResult } = servers.b!
    servers.b!.on('initialize', async turn => {
      await sleep(200)
      turn.answer(initializeResult)
    })
    const held: Turn[] = []
    servers.c!.on('initialize', turn => void held.push(turn))
    const began = performance.now()
    const { server } = await open()
    const took = performance.now() - began
    t.ok(took >= 690 && took < 3_000, `${took} ms`)
    t.ok(server.capabilities.prompts)
    t.ok(server.capabilities.completions, 'what is not known yet may come')
    for (const turn of held) turn.answer(servers.c!.initializeResult)
  }
)

t.test('routes.<path>.listTimeout: a list in time is merged, a later one is left out and named', async t => {
  const { open, servers } = await together(t, two, { route: { listTimeout: '700ms' } })
  const client = await open()
  servers.b!.on('tools/list', async turn => {
    await sleep(200)
    turn.answer('{"tools":[{"name":"y","inputSchema":{"type":"object"}}]}')
  })
  t.same(namesIn(await client.request('tools/list')), ['x', 'y'])

  const slow = await together(t, two, { route: { listTimeout: '400ms' } })
  slow.servers.b!.on('tools/list', () => {})
  const other = await slow.open()
  const began = performance.now()
  const list = await other.request('tools/list')
  const took = performance.now() - began
  t.ok(took >= 390 && took < 3_000, `${took} ms`)
  t.same(namesIn(list), ['x'])
  t.same(list.json.result._meta, { 'dev.causeway/unavailable': ['b'] })
})

t.test('routes.<path>.listTtl: within it a list is not read again, after it it is', async t => {
  const { open, servers } = await together(t, two, { route: { listTtl: '500ms' } })
  const client = await open()
  await client.request('tools/list')
  const began = performance.now()
  servers.a!.tools = ['new']
  const again = namesIn(await client.request('tools/list'))
  if (performance.now() - began < 400) t.same(again, ['x', 'y'])
  await sleep(600)
  t.same(namesIn(await client.request('tools/list')), ['new', 'y'])
})

t.test('routes.<path>.page: as many entries are one page, one more is on the next', async t => {
  const { open, servers } = await together(t, two, { route: { page: 3 } })
  servers.a!.tools = ['1', '2']
  servers.b!.tools = ['3']
  const client = await open()
  const whole = await client.request('tools/list')
  t.same(namesIn(whole), ['1', '2', '3'])
  t.equal(whole.json.result.nextCursor, undefined)

  const more = await together(t, two, { route: { page: 3 } })
  more.servers.a!.tools = ['1', '2']
  more.servers.b!.tools = ['3', '4']
  const other = await more.open()
  const first = await other.request('tools/list')
  t.same(namesIn(first), ['1', '2', '3'])
  const { nextCursor: cursor } = first.json.result
  const second = await other.request('tools/list', { cursor })
  t.same(namesIn(second), ['4'])
  t.equal(second.json.result.nextCursor, undefined)
})
