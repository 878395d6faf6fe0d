/** Several backends behind one endpoint: sessions that come before any backend was met (MUX-06). */
import t from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { Known } from '../../src/gateway/known.ts'
import { FakeBackend, settled } from '../helpers/fake-backend.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { namesIn, together } from '../helpers/union.ts'
import { until } from '../helpers/until.ts'

const crowd = 300

t.test('sessions that open at the same moment share the first contact: one upstream session, one list', async t => {
  const all = await together(
    t,
    { a: { tools: ['x'] }, b: { tools: ['y'] } },
    { route: { initTimeout: '20s', listTimeout: '20s' }, file: { sessions: { max: 2_000, perAddress: 2_000 } } }
  )
  const { promise: everybody, resolve: open } = Promise.withResolvers<void>()
  for (const server of Object.values(all.servers)) {
    const { initializeResult } = server
    server.on('initialize', async turn => {
      await everybody
      turn.answer(initializeResult)
    })
  }
  const sessions = async (): Promise<number> =>
    Number(/^causeway_sessions (\d+)/m.exec(await (await fetch(`${all.adminUrl}/metrics`)).text())?.[1])
  const opening = Promise.all(Array.from({ length: crowd }, () => RawClient.open(all.url, { operating: false })))
  await until('all are there', async () => (await sessions()) === crowd, 20_000)
  open()
  const clients = await opening
  for (const [name, { sessions }] of Object.entries(all.upstreams)) t.equal(sessions.size, 1, `${name} was met once`)
  for (const { server } of clients) t.same(Object.keys(server.capabilities), ['tools'])
  const lists = await Promise.all(clients.map(client => client.request('tools/list')))
  for (const list of lists) t.same(namesIn(list), ['x', 'y'])
  for (const [name, server] of Object.entries(all.servers)) {
    t.ok(all.upstreams[name]!.sessions.size <= 2, `${name}: the first contact, and who asked for the list first`)
    t.equal(server.heardOf('tools/list').length, 1, `${name} was asked once`)
  }
})

t.test(
  'when the session that makes the first contact ends, another one makes it; a failure is that of all',
  async t => {
    const known = new Known()
    const backend = new FakeBackend()
    const openings: PromiseWithResolvers<void>[] = []
    const open = (): Promise<void> => {
      openings.push(Promise.withResolvers())
      return openings.at(-1)!.promise
    }
    const ended = known.meet(backend, open, 60_000)
    const [second, third] = [known.meet(backend, open, 60_000), known.meet(backend, open, 60_000)]
    t.equal(openings.length, 1)
    openings[0]!.reject(new GatewayError('session', 'the session is over'))
    await t.rejects(ended, { code: 'session' })
    await settled()
    t.equal(openings.length, 2, 'by one of those that wait')
    openings[1]!.reject(new GatewayError('backend_unavailable', 'no'))
    await t.rejects(second, { code: 'backend_unavailable' })
    await t.rejects(third, { code: 'backend_unavailable' })
    const next = known.meet(backend, open, 60_000)
    t.equal(openings.length, 3, 'whoever comes later tries again')
    known.seen(backend, { version: '2025-11-25', capabilities: {}, result: '{}' })
    openings[2]!.resolve()
    await next
    await known.meet(backend, open, 60_000)
    t.equal(openings.length, 3, 'it is known')
  }
)

t.test('a first contact that hangs is not waited for by those who come later', async t => {
  const known = new Known()
  const backend = new FakeBackend()
  const hanging = Promise.withResolvers<void>()
  const first = known.meet(backend, () => hanging.promise, 20)
  await new Promise(resolve => setTimeout(resolve, 30))
  let opened = 0
  await known.meet(backend, async () => void opened++, 20)
  t.equal(opened, 1)
  hanging.resolve()
  await first
})
