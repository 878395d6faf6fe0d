/** The end of a gateway with several backends, and what can be set for a route (LIF-01, LIF-03). */
import t from 'tap'
import { upstreamOf } from '../helpers/behind.ts'
import { Catalog } from '../helpers/catalog.ts'
import { startGateway } from '../helpers/gateway.ts'
import { children } from '../helpers/processes.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { contractTools, Scripted, type Turn } from '../helpers/scripted.ts'
import { called, startSeveral } from '../helpers/several.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

t.test('at the end short calls are answered, long ones told, and every backend left in order (LIF-01)', async t => {
  const [a, b] = [await Catalog.start(t, 'a', { tools: ['short'] }), await Catalog.start(t, 'b', { tools: ['long'] })]
  const server = contractTools(new Scripted())
  server.on('tools/list', turn => turn.answer('{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}'))
  const { config } = await upstreamOf(t, 'stdio', server)
  const { gateway, url } = await startGateway(t, {
    backends: { a: a.config, b: b.config, child: config },
    routes: { '/mcp': { backends: ['a', 'b', 'child'] } },
    streams: { sseAfter: '20ms' }
  })
  const turns: Turn[] = []
  a.server.on('tools/call:short', turn => void turns.push(turn))
  b.server.on('tools/call:long', () => {})
  const client = await RawClient.open(url)
  const channel = await client.get()
  t.match(await called(client, 'echo'), { result: { content: [{ type: 'text' }] } })
  t.ok(children().length > 0)
  const [short, long] = await Promise.all([client.call('short'), client.call('long')])
  await until('the call is at its backend', () => turns.length === 1)
  const closing = gateway.close({ deadline: 500 })
  const late = await client.call('short').catch(() => undefined)
  t.ok(late === undefined || late.status === 503, 'nothing new is taken')
  turns[0]!.answer('{"content":[],"from":"a"}')
  t.match(await short.events.message(({ result }) => result !== undefined), { result: { from: 'a' } })
  await closing
  t.match(long.events.messages.at(-1), { id: 2, error: { code: -32603, data: { reason: 'shutdown' } } })
  for (const { events } of [short, long, channel]) await events.whole()
  t.same([a.upstream.sessions.size, b.upstream.sessions.size], [0, 0], 'their sessions are ended')
  await until('the child is gone', () => children().length === 0)
})

const wrong: readonly (readonly [what: string, route: object])[] = [
  ['no backend', { backends: [] }],
  ['a backend twice', { backends: ['a', 'a'] }],
  ['a backend that does not exist', { backends: ['a', 'nobody'] }],
  ['an unknown key', { onErrors: 'skip' }],
  ['a word that is none of the choices', { onError: 'ignore' }],
  ['another one', { prefix: 'sometimes' }],
  ['a time without a unit', { listTimeout: '10' }],
  ['no time', { initTimeout: '0s' }],
  ['a negative page', { page: -1 }],
  ['a separator that names cannot hold', { separator: ' / ' }]
]
for (const [what, route] of wrong) {
  t.test(`${what} on a route of several backends is refused, with its place (LIF-03)`, async t => {
    await t.rejects(startSeveral(t, { a: {}, b: {} }, { route }), { message: /routes\["\/mcp"\].*line/s })
  })
}
