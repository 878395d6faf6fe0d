/** What sessions hear of a route that is served otherwise than before (LIF-03). */
import t, { type Test } from 'tap'
import { configOf } from '../helpers/gateway.ts'
import type { RawClient } from '../helpers/raw-client.ts'
import { namesIn, type ServerScript, together } from '../helpers/union.ts'
import { until } from '../helpers/until.ts'

const everything: ServerScript = { tools: ['t'], prompts: ['p'], resources: ['r://1'] }

/** `members`: of the route, in order; of each what its entry says besides. */
async function on(t: Test, scripts: Readonly<Record<string, ServerScript>>, members: Readonly<Record<string, object>>) {
  const all = await together(t, scripts)
  const reload = (of: Readonly<Record<string, object>>, route: object = {}) => {
    const entries = Object.entries(of).map(([name, more]) => [
      name,
      { kind: 'http', url: all.upstreams[name]?.url, ...more }
    ])
    const routes = { '/mcp': { backends: Object.keys(of), ...route } }
    return all.gateway.reload(configOf({ backends: Object.fromEntries(entries), routes }))
  }
  await reload(members)
  /** What a session that has listed these heard since then. */
  const open = async (...lists: string[]) => {
    const client = await all.open()
    const { events } = await client.get()
    for (const list of lists) await client.request(`${list}/list`)
    await until('it listens', () => Object.keys(members).every(name => all.upstreams[name]!.listening))
    // What it hears of what was found out before.
    await new Promise(resolve => setTimeout(resolve, 100))
    const before = events.messages.length
    return { client, heard: () => events.messages.slice(before).map(({ method }) => String(method).split('/')[1]) }
  }
  return { ...all, reload, open }
}

/** Longer than news takes. */
const aWhile = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 1_300))

const tools = async (client: RawClient): Promise<string[]> => namesIn(await client.request('tools/list'))

t.test('a choice of tools is heard of by tools alone, whatever a session has listed', async t => {
  const { open, reload } = await on(t, { a: everything, b: { ...everything, tools: ['u'] } }, { a: {}, b: {} })
  const sessions = [await open('tools', 'prompts', 'resources'), await open(), await open('prompts')]
  await reload({ a: {}, b: { tools: { deny: ['u'] } } })
  for (const { heard } of sessions) await until('it is told', () => heard().length > 0)
  await aWhile()
  for (const { heard, client } of sessions) {
    t.same(heard(), ['tools'])
    t.same(await tools(client), ['t'])
  }
})

t.test('of a backend that comes, and of one that leaves, the kinds are heard of that it has', async t => {
  const scripts = { a: everything, b: { ...everything, tools: ['u'] }, c: { tools: ['v'] } }
  const { open, reload } = await on(t, scripts, { a: {}, b: {} })
  const [lister, other] = [await open('tools', 'prompts', 'resources'), await open()]
  await reload({ a: {}, b: {}, c: {} })
  for (const { heard } of [lister, other]) await until('it is told', () => heard().length > 0)
  t.same(await tools(lister.client), ['t', 'u', 'v'])
  await aWhile()
  for (const { heard } of [lister, other]) t.same(heard(), ['tools'])
  await reload({ a: {}, b: {} })
  for (const { heard } of [lister, other]) await until('it is told', () => heard().length > 1)
  await aWhile()
  for (const { heard } of [lister, other]) t.same(heard(), ['tools', 'tools'])
})

t.test('another backend that lists the same is not heard of by who has the lists', async t => {
  const scripts = { a: everything, b: { tools: ['u'] }, c: { tools: ['u'] } }
  const { open, reload, upstreams, servers } = await on(t, scripts, { a: {}, b: {} })
  const { client, heard } = await open('tools', 'prompts', 'resources')
  await reload({ a: {}, b: { url: upstreams.c!.url } })
  await until('the new one was read', () => servers.c!.heardOf('tools/list').length > 0)
  await aWhile()
  t.same(heard(), [])
  servers.c!.tools.push('w')
  servers.c!.announce('notifications/tools/list_changed')
  await until('it is told', () => heard().length > 0)
  t.same(await tools(client), ['t', 'u', 'w'])
})

t.test('what a backend said just before the change is not forgotten', async t => {
  const { open, reload, servers } = await on(t, { a: everything, b: { tools: ['u'] } }, { a: {}, b: {} })
  const { client, heard } = await open('tools')
  servers.b!.tools.push('v')
  servers.b!.announce('notifications/tools/list_changed')
  // Heard, and not told yet.
  await until('it is heard', async () => (await tools(client)).includes('v'))
  t.same(heard(), [])
  await reload({ a: {}, b: {} }, { listTtl: '1m' })
  await until('it is told', () => heard().length > 0)
  await aWhile()
  t.same(heard(), ['tools'])
})

t.test('a session that has listed nothing is told though the backend that comes does not answer', async t => {
  const { open, reload, servers } = await on(t, { a: everything, b: everything, c: everything }, { a: {}, b: {} })
  servers.c!.on('initialize', () => {})
  const { heard } = await open()
  await reload({ a: {}, b: {}, c: {} }, { initTimeout: '200ms' })
  await until('it is told of everything', () => heard().length === 3)
  t.same(heard().toSorted(), ['prompts', 'resources', 'tools'])
})
