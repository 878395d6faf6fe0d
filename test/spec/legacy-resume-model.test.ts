/**
 * Random cuts, resumes and take-overs of the stream of a POST and of the channel while the backend goes on: what the client
 * saw is what was sent, once, in order (R17, R24, RES-05). A failing seed is in the name of its test.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { type Legacy, saying, startLegacy } from '../helpers/legacy.ts'
import { Random } from '../helpers/random.ts'
import type { RawClient, RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const messages = 40

/** A client's side of one stream: what it saw, and from where it resumes. */
class Seen {
  readonly values: unknown[] = []
  lastId: string | undefined

  /** Takes what a connection brought, up to the `count`th event. */
  take({ events }: RawResponse, count = events.all.length): void {
    for (const { id, message } of events.all.slice(0, count)) {
      if (id !== undefined) this.lastId = id
      if (message !== undefined) this.values.push(message.params?.progress ?? message.params?.n ?? 'response')
    }
  }
}

const pause = (random: Random): Promise<unknown> =>
  random.pick([() => Promise.resolve(), () => turn(), () => turn(), () => sleep(random.below(4))])()

/**
 * Reads a stream to `last`, over as many connections as the dice say. `twins`: now and then two at once; not on the channel,
 * where the fifth take-over in a row ends nothing.
 */
async function read(
  client: RawClient,
  first: RawResponse,
  last: unknown,
  random: Random,
  { cuts, twins }: { cuts: number; twins: boolean }
): Promise<Seen> {
  const seen = new Seen()
  let connection = first
  for (;;) {
    const { events } = connection
    const enough = cuts > 0 ? 1 + random.below(8) : Number.POSITIVE_INFINITY
    const isLast = (): boolean =>
      events.messages.some(({ params, id }) => (params?.n ?? (params === undefined && id !== undefined)) === last)
    await events.until(({ all, ended }) => ended || (all.length >= enough && events.lastId !== undefined) || isLast())
    cuts--
    await pause(random)
    const takesOver = random.below(2) === 0
    if (!takesOver) connection.destroy()
    if (!takesOver) await events.whole()
    // Whatever the older connection still brings after this belongs to the newer one.
    seen.take(connection)
    if (seen.values.at(-1) === last || (last === true && seen.values.at(-1) === 'response')) {
      connection.destroy()
      return seen
    }
    await pause(random)
    const next = client.get(seen.lastId)
    // A second one at the same moment: one of the two is ended, the other goes on.
    const twin = twins && random.below(4) === 0 ? await client.get(seen.lastId) : undefined
    connection = await next
    if (twin !== undefined) {
      await until('one of the two has ended', () => twin.events.ended || connection.events.ended)
      if (connection.events.ended && !twin.events.ended) connection = twin
      else twin.destroy()
    }
  }
}

async function emit(random: Random, send: (n: number) => unknown): Promise<void> {
  for (let n = 2; n <= messages; n++) {
    await send(n)
    if (random.below(3) === 0) await pause(random)
  }
}

const numbers = Array.from({ length: messages }, (_, i) => i + 1)

async function postStream(gateway: Legacy, random: Random): Promise<Seen> {
  const client = await gateway.open({ version: random.pick(['2025-03-26', '2025-06-18', '2025-11-25']) })
  const call = client.call('held', {}, { progressToken: 'p' })
  const held = await gateway.held()
  held.progress(1)
  const emitting = emit(random, n => held.progress(n)).then(() => held.answer(saying('done')))
  const seen = await read(client, await call, true, random, { cuts: 6, twins: true })
  await emitting
  return seen
}

async function channelStream(gateway: Legacy, path: string, random: Random): Promise<Seen> {
  const client = await gateway.open({}, path)
  const say = (n: number) => gateway.gateway.broadcast(path, { method: 'notifications/x', params: { n } })
  await say(1)
  const first = await client.get()
  const emitting = emit(random, say)
  const seen = await read(client, first, messages, random, { cuts: 3, twins: false })
  await emitting
  await client.delete()
  return seen
}

const seeds = Array.from({ length: 60 }, (_, i) => 1 + i)

t.test('whatever is cut and resumed: what was sent, once, in order (R17, R24, E4)', async t => {
  const paths = ['/mcp', '/a', '/b', '/c', '/d']
  const gateway = await startLegacy(t, {
    file: { routes: Object.fromEntries(paths.map(path => [path, { backends: ['docs'] }])) }
  })
  for (const seed of seeds) {
    await t.test(`seed ${seed}`, async t => {
      const post = await postStream(gateway, new Random(seed))
      t.same(post.values, [...numbers, 'response'], 'the stream of a POST')
      const channel = await channelStream(gateway, paths[seed % paths.length]!, new Random(seed))
      t.same(channel.values, numbers, 'the channel')
    })
  }
})
