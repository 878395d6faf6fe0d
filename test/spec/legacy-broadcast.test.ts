/** decisions: row "Broadcast"; R34, R35, R36; STR-01. */
import t from 'tap'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import { FaultyLog } from '../helpers/faulty-log.ts'
import { type Legacy, startLegacy } from '../helpers/legacy.ts'
import { recordOf } from '../helpers/live.ts'
import type { Events, RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const changed = { method: 'notifications/tools/list_changed' }
const seen = ({ messages }: Events): unknown[] => messages.map(({ params, method }) => params?.n ?? method)

async function channel(client: RawClient): Promise<Events> {
  const { events } = await client.get()
  await events.until(({ all }) => all.length > 0)
  return events
}

const viaAdmin = ({ adminUrl }: Legacy, body: object): Promise<Response> =>
  fetch(new URL('/broadcast', adminUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })

t.test(
  'once per session, on one stream of it; later where no GET is open; to its route alone (R34, STR-01)',
  async t => {
    const gateway = await startLegacy(t, {
      file: { routes: { '/mcp': { backends: ['docs'] }, '/other': { backends: ['docs'] } } }
    })
    const [listening, silent, young, other] = [
      await gateway.open(),
      await gateway.open(),
      await gateway.open({ operating: false }),
      await gateway.open({}, '/other')
    ]
    const open = await channel(listening)
    const elsewhere = await channel(other)
    const unready = await channel(young)
    const call = listening.call('held', {}, { progressToken: 1 })
    const turn = await gateway.held()
    turn.progress(1)
    const { events } = await call
    await events.until(({ messages }) => messages.length === 1)
    t.equal(await gateway.gateway.broadcast('/mcp', { method: 'notifications/x', params: { n: 1 } }), 2)
    await open.until(({ messages }) => messages.length === 1)
    const late = await channel(silent)
    await late.until(({ messages }) => messages.length === 1)
    turn.answer('{}')
    await events.whole()
    t.same([seen(open), seen(late), seen(unready), seen(elsewhere)], [[1], [1], [], []])
    t.equal(events.messages.length, 2)
    t.match(open.messages[0], { jsonrpc: '2.0', method: 'notifications/x', params: { n: 1 } })
    t.notOk('id' in open.messages[0])
  }
)

t.test('by the admin listener, bytes as they are (R34)', async t => {
  const gateway = await startLegacy(t)
  const events = await channel(await gateway.open())
  const response = await viaAdmin(gateway, {
    route: '/mcp',
    notification: { method: 'notifications/x', params: { n: 7 } }
  })
  t.equal(response.status, 202)
  await events.until(({ messages }) => messages.length === 1)
  t.same(seen(events), [7])
  const unknown = await viaAdmin(gateway, { route: '/nowhere', notification: changed })
  t.equal(unknown.status, 404)
  await t.rejects(gateway.gateway.broadcast('/nowhere', changed), { code: 'path' })
})

t.test('one session that fails harms no other (R34)', async t => {
  class Log extends FaultyLog {
    poor: string | undefined
    readonly stats = () => this.memory.stats()
    override async post(...args: Parameters<FaultyLog['post']>) {
      if (args[0].session === this.poor) throw new Error('not this one')
      return super.post(...args)
    }
  }
  const log = new Log()
  t.teardown(() => log.close())
  const gateway = await startLegacy(t, { parts: { log } })
  const clients = [await gateway.open(), await gateway.open(), await gateway.open()]
  const channels = await Promise.all([channel(clients[0]!), channel(clients[2]!)])
  log.poor = clients[1]!.session
  t.equal(await gateway.gateway.broadcast('/mcp', changed), 2)
  for (const events of channels) await events.until(({ messages }) => messages.length === 1)
  log.poor = clients[0]!.session
  t.equal(await gateway.gateway.broadcast('/mcp', changed), 3, 'an open GET gets it past the log')
  await channels[0]!.until(({ messages }) => messages.length === 2)
  log.poor = undefined
  for (const client of clients) t.equal((await client.call('echo')).status, 200)
})

t.test('every session hears of a change before the gateway goes: exactly one each (R35)', async t => {
  const gateway = await startLegacy(t)
  const channels = await Promise.all(Array.from({ length: 10 }, async () => channel(await gateway.open())))
  await gateway.gateway.broadcast('/mcp', changed)
  await gateway.gateway.broadcast('/mcp', { method: 'notifications/prompts/list_changed' })
  await gateway.gateway.close({ deadline: 0 })
  for (const events of channels) {
    await events.whole()
    t.same(seen(events), ['notifications/tools/list_changed', 'notifications/prompts/list_changed'])
  }
})

t.test('5,000 sessions in one go, and calls go on meanwhile (R34)', async t => {
  const store = new MemorySessionStore()
  t.teardown(() => store.close())
  const gateway = await startLegacy(t, { parts: { store } })
  const client = await gateway.open()
  const events = await channel(client)
  const caps = { total: 10_000, perGroup: 10_000 }
  for (let i = 0; i < 5_000; i++) await store.create(recordOf({ principal: 'somebody' }), 600_000, caps)
  let over = false
  const began = performance.now()
  const broadcasting = gateway.gateway.broadcast('/mcp', changed).then(reached => {
    over = true
    return reached
  })
  let during = 0
  while (!over) {
    await client.call('echo')
    if (!over) during++
  }
  t.equal(await broadcasting, 5_001)
  await events.until(({ messages }) => messages.length === 1)
  t.ok(during > 0, `${during} calls during a broadcast of ${Math.round(performance.now() - began)} ms`)
})
