/** decisions: rows "GET without Last-Event-ID", "GET streams", "Last-Event-ID" of the channel; R6, R24, R36; STR-01, STR-03. */
import t from 'tap'
import { FaultyLog } from '../helpers/faulty-log.ts'
import { type Legacy, saying, startLegacy } from '../helpers/legacy.ts'
import type { Events, RawClient, RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'
import { connect } from '../helpers/wire.ts'

failOnRejections(t)

const note = (n: number) => ({ method: 'notifications/x', params: { n } })
const say = ({ gateway }: Legacy, n: number): Promise<number> => gateway.broadcast('/mcp', note(n))
const seen = ({ messages }: Events): unknown[] => messages.map(({ params, method }) => params?.n ?? method)

async function opened(client: RawClient, cursor?: string): Promise<RawResponse> {
  const response = await client.get(cursor)
  await response.events.until(({ all, comments }) => all.length + comments.length > 0)
  return response
}

t.test('each message on one stream: of a call on its own, the rest on the channel (R24, STR-01)', async t => {
  const gateway = await startLegacy(t)
  const client = await gateway.open()
  const channel = await opened(client)
  await until('the gateway listens', () => gateway.upstream.listening)
  const call = client.call('held', {}, { progressToken: 'p' })
  const turn = await gateway.held()
  turn.progress(1)
  turn.notify('notifications/message', { level: 'info', data: 'of the call' })
  gateway.server.announce('notifications/tools/list_changed')
  gateway.server.announce('notifications/resources/updated', { uri: 'a:b' })
  const { events } = await call
  await channel.events.until(({ messages }) => messages.length === 2)
  turn.answer(saying('done'))
  await events.whole()
  t.same(
    events.messages.map(({ method, id }) => method ?? id),
    ['notifications/progress', 'notifications/message', 1]
  )
  t.same(seen(channel.events), ['notifications/tools/list_changed', 'notifications/resources/updated'])
})

t.test('the first message that no connection was given yet; only Last-Event-ID moves back', async t => {
  const gateway = await startLegacy(t)
  const client = await gateway.open()
  for (const n of [1, 2]) await say(gateway, n)
  const first = await opened(client)
  await first.events.until(({ messages }) => messages.length === 2)
  t.match(first.events.all[0], { id: /_0$/, retry: 1_000, data: '' })
  first.destroy()
  await until('it is seen to be gone', async () => (await gateway.status()).streams === 0)
  await say(gateway, 3)
  const second = await opened(client)
  await second.events.until(({ messages }) => messages.length === 1)
  t.same(seen(second.events), [3])
  const back = await opened(client, first.events.all[1]!.id)
  await back.events.until(({ messages }) => messages.length === 2)
  t.same(seen(back.events), [2, 3])
  t.equal(back.events.all[0]!.id, first.events.all[1]!.id)
  await second.events.whole()
})

t.test('the upstream is listened to while somebody is, and not longer', async t => {
  const { open, upstream } = await startLegacy(t)
  const client = await open()
  t.equal(upstream.listening, false)
  const channel = await opened(client)
  await until('it listens', () => upstream.listening)
  channel.destroy()
  await until('it does not', () => !upstream.listening)
  await opened(client)
  await until('it does again', () => upstream.listening)
  await client.delete()
  await until('it does no more', () => !upstream.listening)
})

t.test('before notifications/initialized: logs and pings alone, the rest afterwards in order (R6)', async t => {
  const gateway = await startLegacy(t)
  const client = await gateway.open({ operating: false, capabilities: { roots: {} } })
  const channel = await opened(client)
  await until('the gateway listens', () => gateway.upstream.listening)
  gateway.server.announce('notifications/tools/list_changed')
  const roots = gateway.server.ask(json => void gateway.server.outside(json), 'roots/list')
  gateway.server.announce('notifications/message', { level: 'info', data: 'early' })
  await channel.events.message(({ params }) => params?.data === 'early')
  t.equal(channel.events.messages.length, 1)
  t.equal(await say(gateway, 1), 0, 'nor is it broadcast to (R34)')
  await client.post({ method: 'notifications/initialized' })
  const ask = await channel.events.message(({ method }) => method === 'roots/list')
  t.same(seen(channel.events), ['notifications/message', 'notifications/tools/list_changed', 'roots/list'])
  await client.post({ id: ask.id, result: { roots: [] } })
  t.match(await roots, { result: { roots: [] } })
})

t.test('a GET takes over, nothing is lost or said twice; POST streams go on (decisions: "GET streams")', async t => {
  const gateway = await startLegacy(t)
  const client = await gateway.open()
  const call = client.call('held', {}, { progressToken: 'p' })
  const turn = await gateway.held()
  turn.progress(1)
  const { events } = await call
  const first = await opened(client)
  await say(gateway, 1)
  await first.events.until(({ messages }) => messages.length === 1)
  const second = await opened(client)
  await first.events.whole()
  await say(gateway, 2)
  await second.events.until(({ messages }) => messages.length === 1)
  t.same([seen(first.events), seen(second.events)], [[1], [2]])
  const third = await opened(client, first.events.lastId)
  await second.events.whole()
  await third.events.until(({ messages }) => messages.length === 1)
  t.same(seen(third.events), [2], 'one that resumes takes over too')
  turn.answer(saying('done'))
  await events.whole()
  t.equal(events.messages.length, 2)
})

t.test('a GET that resumes a POST stream leaves the channel alone, and the other way round', async t => {
  const gateway = await startLegacy(t)
  const client = await gateway.open()
  const channel = await opened(client)
  const call = client.call('held', {}, { progressToken: 'p' })
  const turn = await gateway.held()
  turn.progress(1)
  const { events } = await call
  await events.message(({ params }) => params?.progress === 1)
  const resumed = await opened(client, events.lastId)
  await events.whole()
  t.equal(channel.events.ended, false)
  const again = await opened(client)
  await channel.events.whole()
  turn.answer(saying('done'))
  await resumed.events.whole()
  t.equal(again.events.ended, false)
})

t.test(
  'two GETs that keep coming back do not evict each other for ever: from the fifth take-over on the older stays (seen)',
  async t => {
    const gateway = await startLegacy(t)
    const client = await gateway.open()
    const gets: RawResponse[] = []
    for (let i = 0; i < 7; i++) gets.push(await opened(client))
    await until('the first four ended', () => gets.slice(0, 4).every(({ events }) => events.ended))
    t.same(
      gets.map(({ events }) => events.ended),
      [true, true, true, true, false, false, false]
    )
    await say(gateway, 1)
    await gets[6]!.events.until(({ messages }) => messages.length === 1)
    t.same([seen(gets[4]!.events), seen(gets[5]!.events)], [[], []])
    await client.delete()
    for (const { events } of gets) await events.whole()
  }
)

t.test(
  'old clients: their channel is cut without a final chunk, because they never return after a clean end (seen)',
  async t => {
    const gateway = await startLegacy(t)
    for (const version of ['2025-06-18', '2025-11-25']) {
      const client = await gateway.open({ version })
      const { hostname, port, pathname } = new URL(gateway.url)
      const wire = await connect(t, gateway.url)
      wire.write(
        `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAccept: text/event-stream\r\n` +
          `Mcp-Session-Id: ${client.session}\r\n\r\n`
      )
      await wire.until(/\r\n\r\n.*\n\n/s)
      await opened(client)
      await wire.until(({ closed, text }) => closed || text.endsWith('0\r\n\r\n'))
      t.equal(wire.text.endsWith('0\r\n\r\n'), version === '2025-11-25', version)
    }
  }
)

t.test(
  'messages that were trimmed: a fresh channel, preceded by list_changed for what the server advertises (decisions)',
  async t => {
    const gateway = await startLegacy(t, { file: { streams: { events: 5 } } })
    const client = await gateway.open()
    await say(gateway, 0)
    const first = await opened(client)
    await first.events.until(({ messages }) => messages.length === 1)
    first.destroy()
    for (let n = 1; n <= 20; n++) await say(gateway, n)
    const again = await opened(client, first.events.lastId)
    await again.events.until(({ messages }) => messages.length === 6)
    t.same(seen(again.events), ['notifications/tools/list_changed', 16, 17, 18, 19, 20])
    const whole = await opened(client, again.events.all.at(-3)!.id)
    await whole.events.until(({ messages }) => messages.length === 2)
    t.same(seen(whole.events), [19, 20])
  }
)

t.test('a subscriber that opens its GET late gets one list_changed, not ten (R36)', async t => {
  const gateway = await startLegacy(t)
  const client = await gateway.open()
  for (let i = 0; i < 10; i++) await gateway.gateway.broadcast('/mcp', { method: 'notifications/tools/list_changed' })
  await say(gateway, 1)
  const { events } = await opened(client)
  await events.until(({ messages }) => messages.length === 2)
  t.same(seen(events), ['notifications/tools/list_changed', 1])
})

t.test(
  'the log takes nothing: the open GET gets it without an id; a resume across it hears of changes (RES-06)',
  async t => {
    const log = Object.assign(new FaultyLog(), { stats: () => log.memory.stats() })
    t.teardown(() => log.close())
    const gateway = await startLegacy(t, { parts: { log } })
    const client = await gateway.open()
    const first = await opened(client)
    await say(gateway, 1)
    await first.events.until(({ messages }) => messages.length === 1)
    log.failing.add('post')
    t.equal(await say(gateway, 2), 1)
    await first.events.until(({ messages }) => messages.length === 2)
    t.equal(first.events.all.at(-1)!.id, undefined)
    log.failing.clear()
    await say(gateway, 3)
    await first.events.until(({ messages }) => messages.length === 3)
    const [, one] = first.events.all
    const again = await opened(client, one!.id)
    await again.events.until(({ messages }) => messages.length === 2)
    t.same(seen(again.events), ['notifications/tools/list_changed', 3])
  }
)

t.test(
  'a request of the backend outside of calls: on the channel while it is open, once, its answer forwarded once (STR-03)',
  async t => {
    const gateway = await startLegacy(t)
    const client = await gateway.open({ capabilities: { roots: {} } })
    const channel = await opened(client)
    await until('the gateway listens', () => gateway.upstream.listening)
    const roots = gateway.server.ask(json => void gateway.server.outside(json), 'roots/list')
    const ask = await channel.events.message(({ method }) => method === 'roots/list')
    const again = await opened(client)
    t.equal((await client.post({ id: ask.id, result: { roots: [{ uri: 'file:///a' }] } })).status, 202)
    t.match(await roots, { result: { roots: [{ uri: 'file:///a' }] } })
    const late = await opened(client, channel.events.all[0]!.id)
    await say(gateway, 1)
    await late.events.until(({ messages }) => messages.length === 1)
    t.same(seen(late.events), [1], 'answered: left out of the replay')
    t.ok(again)
  }
)
