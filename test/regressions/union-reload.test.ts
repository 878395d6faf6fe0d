/** Backends that leave a route while something of them is open. */
import t from 'tap'
import { configOf } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import type { Turn } from '../helpers/scripted.ts'
import { said, type Together, together } from '../helpers/union.ts'
import { until } from '../helpers/until.ts'

/** `b` leaves `/mcp`, and is served elsewhere. */
const leave = ({ gateway, upstreams }: Together) => {
  const entry = (name: string) => ({ kind: 'http', url: upstreams[name]!.url })
  const routes = { '/mcp': { backends: ['a'] }, '/b': { backends: ['b'] } }
  return gateway.reload(configOf({ backends: { a: entry('a'), b: entry('b') }, routes }))
}

t.test('a call that finds its backend after that one left the route leaves no link there', async t => {
  // Calls that take longer to find it are not waited for.
  const file = { server: { shutdown: { deadline: '50ms' } } }
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } }, { file })
  const client = await all.open()
  const held: Turn[] = []
  all.servers.a!.on('tools/list', turn => void held.push(turn))
  const call = client.request('tools/call', { name: 'y', arguments: {} }, { accept: 'application/json' })
  await until('the lists are read', () => held.length === 1 && all.servers.b!.heardOf('tools/list').length === 1)
  await leave(all)
  await until('its link is closed', () => all.upstreams.b!.sessions.size === 0)
  // What was left to be closed is closed by then.
  await new Promise(resolve => setTimeout(resolve, 300))
  held[0]!.answer('{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}')
  t.equal(said(await call), 'b:y {}', 'it was let in before')
  await until('this link is closed too', () => all.upstreams.b!.sessions.size === 0)
})

t.test('what a backend asked by itself is withdrawn when it leaves the route', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const { b } = all.servers
  const client = await all.open({ capabilities: { elicitation: {} } })
  const { events } = await client.get()
  await until('b is listened to', () => all.upstreams.b!.listening)
  void b!.ask(json => void b!.outside(json), 'elicitation/create', {
    message: 'Your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } }
  })
  const { id } = await events.message(({ method }) => method === 'elicitation/create')
  await leave(all)
  const { params } = await events.message(({ method }) => method === 'notifications/cancelled')
  t.equal(params.requestId, id)
})

t.test('a call that finds its backend after another took its place is answered by the one that it was for', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const next = await HttpUpstream.start(all.servers.b!)
  t.teardown(() => next.close())
  const client = await all.open()
  const held: Turn[] = []
  all.servers.a!.on('tools/list', turn => void held.push(turn))
  const call = client.request('tools/call', { name: 'y', arguments: {} }, { accept: 'application/json' })
  await until('the lists are read', () => held.length === 1 && all.servers.b!.heardOf('tools/list').length === 1)
  const backends = { a: { kind: 'http', url: all.upstreams.a!.url }, b: { kind: 'http', url: next.url } }
  await all.gateway.reload(configOf({ backends, routes: { '/mcp': { backends: ['a', 'b'] } } }))
  await new Promise(resolve => setTimeout(resolve, 600))
  held[0]!.answer('{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}')
  t.equal(said(await call), 'b:y {}')
  await until('the old one is left', () => all.upstreams.b!.sessions.size === 0)
  t.equal(said(await client.call('b_y')), 'b:y {}')
})
