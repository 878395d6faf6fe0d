/** Field cases of area 19, last part: subscriptions and their ends (LSN-02, LSN-03). */
import t, { type Test } from 'tap'
import { Catalog } from '../helpers/catalog.ts'
import { startGateway } from '../helpers/gateway.ts'
import { ModernClient } from '../helpers/modern.ts'
import { modernScripted, serveModern } from '../helpers/modern-scripted.ts'
import type { RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import type { Scripted, Turn } from '../helpers/scripted.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { until } from '../helpers/until.ts'
import { as, users } from '../helpers/users.ts'

failOnRejections(t)

const tag = 'io.modelcontextprotocol/subscriptionId'
const toolsChanged = 'notifications/tools/list_changed'
const filter = { toolsListChanged: true, resourceSubscriptions: ['file:///a'] }
const lists = { tools: ['tool'], resources: ['file:///a'] }

const listen = (url: string, saying: Parameters<ModernClient['request']>[2] = {}): Promise<RawResponse> =>
  new ModernClient(url).request('subscriptions/listen', { notifications: filter }, saying)

const acknowledged = async (stream: RawResponse): Promise<RawResponse> => {
  await stream.events.message(({ method }) => method === 'notifications/subscriptions/acknowledged')
  return stream
}

const said = ({ events }: RawResponse, method: string): number =>
  events.messages.filter(message => message.method === method).length

t.test('a thousand subscriptions opened and closed at every moment leave nothing (LSN-02)', async t => {
  const docs = await Catalog.start(t, 'docs', lists)
  const { url, gateway } = await startGateway(t, { backends: { docs: docs.config } })
  let left = 1_000
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const stopped = new AbortController()
      const stream = listen(url, { signal: stopped.signal }).catch(() => undefined)
      const moment = left % 5
      if (moment === 0) stopped.abort()
      else if (moment < 4) setTimeout(() => stopped.abort(), moment)
      const opened = await stream
      if (moment === 4) await acknowledged(opened!)
      opened?.destroy()
    }
  }
  await Promise.all(Array.from({ length: 20 }, lane))
  await until('nobody listens upstream', () => docs.channels.size === 0, 10_000)
  await until('no session is left upstream', () => docs.upstream.sessions.size === 0, 10_000)
  t.same(
    [...docs.subscriptions.values()].flatMap(uris => [...uris]),
    []
  )
  const stream = await acknowledged(await listen(url))
  docs.update('file:///a')
  await stream.events.message(({ params }) => params?.uri === 'file:///a')
  stream.destroy()
  await gateway.close({ deadline: 0 })
})

t.test('two subscriptions with one id are two, each tagged with it and ended by itself (LSN-02)', async t => {
  const docs = await Catalog.start(t, 'docs', lists)
  const { url } = await startGateway(t, { backends: { docs: docs.config } })
  const [one, two] = [
    await acknowledged(await listen(url, { id: 1 })),
    await acknowledged(await listen(url, { id: 1 }))
  ]
  await until('it listens', () => docs.channels.size === 1)
  docs.update('file:///a')
  for (const stream of [one, two]) {
    const { params } = await stream.events.message(({ params }) => params?.uri === 'file:///a')
    t.equal(params._meta[tag], 1)
  }
  one.destroy()
  docs.change('tools', ['other'])
  await two.events.message(({ method }) => method === toolsChanged)
  t.equal(docs.channels.size, 1, 'the other one listens on')
  two.destroy()
  await until('the last one closed it', () => docs.channels.size === 0)
})

t.test('bounded: by address, told apart from others or not; a place is free again at once (LSN-02)', async t => {
  const docs = await Catalog.start(t, 'docs', lists)
  const { url } = await startGateway(
    t,
    { backends: { docs: docs.config }, sessions: { perAddress: 3 } },
    import.meta.dirname,
    { authenticator: users }
  )
  const of = (user: string) => listen(url, { id: 'x', headers: as(user) })
  const streams = [await of('alice'), await of('bob'), await of('alice')]
  await Promise.all(streams.map(acknowledged))
  const refused = await of('carol')
  t.match([refused.status, refused.json.id, refused.json.error.data.reason], [503, 'x', 'full'])
  streams[1]!.destroy()
  await until('there is room', async () => {
    const stream = await of('carol')
    stream.destroy()
    return stream.status === 200
  })
  for (const stream of streams) stream.destroy()
})

interface Told {
  readonly turns: Turn[]
  readonly server: Scripted
}

/** Acknowledges, and keeps the stream for the test. */
function telling(): Told {
  const turns: Turn[] = []
  const server = modernScripted({ capabilities: { tools: { listChanged: true }, resources: { subscribe: true } } })
  server.on('subscriptions/listen', turn => {
    turns.push(turn)
    const { notifications } = JSON.parse(turn.message.source.toString()).params
    turn.notify('notifications/subscriptions/acknowledged', { notifications, _meta: tagOf(turn) })
  })
  return { turns, server }
}

const tagOf = (turn: Turn): object => ({ [tag]: JSON.parse(turn.message.id!) })

const ends: Readonly<Record<string, (turn: Turn) => void>> = {
  'breaks off': turn => turn.die(),
  'is completed': turn => turn.answer(JSON.stringify({ resultType: 'complete', _meta: tagOf(turn) })),
  'is taken back': turn => {
    turn.notify('notifications/cancelled', { requestId: JSON.parse(turn.message.id!), reason: 'going down' })
    turn.die()
  },
  fails: turn => turn.refuse(-32603, 'out of order')
}

const ways: Readonly<Record<string, (t: Test, server: Scripted) => Promise<object>>> = {
  http: async (t, server) => (await serveModern(t, server)).config,
  async stdio(t, server) {
    const { command, args, close } = await stdioUpstream(server)
    t.teardown(close)
    return { kind: 'stdio', command, args, scope: 'shared' }
  }
}

for (const [way, start] of Object.entries(ways)) {
  for (const [how, end] of Object.entries(ends)) {
    t.test(
      `the stream of a modern backend over ${way} ${how}: clients stay, it is listened to again (LSN-02)`,
      async t => {
        const { turns, server } = telling()
        const { url } = await startGateway(t, { backends: { docs: await start(t, server) } })
        const stream = await acknowledged(await listen(url))
        await until('it is listened to', () => turns.length > 0)
        const before = said(stream, toolsChanged)
        end(turns.at(-1)!)
        const { length } = turns
        await until('it is listened to again', () => turns.length > length, 10_000)
        await stream.events.until(() => said(stream, toolsChanged) > before)
        turns.at(-1)!.notify('notifications/resources/updated', { uri: 'file:///a', _meta: tagOf(turns.at(-1)!) })
        await stream.events.message(({ params }) => params?.uri === 'file:///a')
        t.equal(stream.events.ended, false)
        stream.destroy()
      }
    )
  }
}

t.test(
  'on two instances each who listens hears of a change once, whichever of them it came through (LSN-03)',
  async t => {
    const docs = await Catalog.start(t, 'docs', lists)
    docs.server.on('tools/call:touch', turn => {
      docs.update('file:///a')
      turn.answer('{"content":[]}')
    })
    const [one, two] = [1, 2].map(() => startGateway(t, { backends: { docs: docs.config } }))
    const streams = await Promise.all([await one!, await two!].map(async ({ url }) => acknowledged(await listen(url))))
    await until('both listen', () => docs.channels.size === 2)
    t.equal((await new ModernClient((await two!).url).call('touch')).status, 200)
    for (const { events } of streams) await events.message(({ params }) => params?.uri === 'file:///a')
    docs.change('tools', ['other'])
    for (const { events } of streams) await events.message(({ method }) => method === toolsChanged)
    for (const stream of streams) {
      t.same([said(stream, 'notifications/resources/updated'), said(stream, toolsChanged)], [1, 1])
      stream.destroy()
    }
  }
)
