/** Whole sessions, each request on a connection of its own to any of three instances (R10 of the faults, REP-01). */
import t from 'tap'
import { Random } from '../helpers/random.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { withoutRedis } from '../helpers/redis.ts'
import { until } from '../helpers/until.ts'
import { startWorld } from './world.ts'

/** `CAUSEWAY_LONG=1` (npm run replicas) plays a thousand; `REPLICAS_SEED` plays those of a run again. */
const long = process.env.CAUSEWAY_LONG !== undefined
const rounds = long ? 1_000 : 60
const seed = Number(process.env.REPLICAS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const atOnce = 8

if (long) t.setTimeout(900_000)

/** What one client does. Throws what went wrong. */
async function round(any: () => string, name: string): Promise<void> {
  const opened = await RawClient.open(any(), { capabilities: { elicitation: {} }, operating: false })
  const at = (): RawClient => {
    const same = new RawClient(any(), opened.version)
    same.session = opened.session
    return same
  }
  const expect = (what: string, holds: boolean, seen: unknown): void => {
    if (!holds) throw new Error(`${what}: ${JSON.stringify(seen)}`)
  }
  const ready = await at().post({ method: 'notifications/initialized' })
  expect('initialized', ready.status === 202, ready.json)
  const list = await at().request('tools/list')
  expect('list', list.json?.result !== undefined, list.json)
  const progress = await at().call('progress', {}, { progressToken: name })
  const { messages } = await progress.events.whole(10_000)
  const seen = messages.map(({ params, result }) => params?.progress ?? result?.content[0].text)
  expect('progress', seen.join() === '1,2,3,done', messages)
  const asking = await at().call('ask')
  const { id } = await asking.events.message(({ method }) => method === 'elicitation/create', 10_000)
  const answered = await at().post({ id, result: { action: 'accept', content: { name } } })
  expect('answer', answered.status === 202, answered.json)
  const { result } = await asking.events.message(message => message.result !== undefined, 10_000)
  expect('asked', result.content[0].text === name, result)
  const over = await at().delete()
  expect('delete', over.status === 204, over.json)
  const after = await at().request('tools/list')
  expect('after', after.status === 404, after.status)
}

t.test(
  `R10, REP-01: ${rounds} rounds of initialize, list, call with progress, elicitation and DELETE, each request at any of three instances`,
  { skip: withoutRedis },
  async t => {
    const { all, upstream, server, scripted } = await startWorld(t)
    t.comment(`seed ${seed}`)
    const random = new Random(seed)
    const taken = all.map(() => 0)
    const any = (): string => {
      const chosen = random.below(all.length)
      taken[chosen]!++
      return all[chosen]!.url()
    }
    const problems: string[] = []
    let next = 0
    const client = async (): Promise<void> => {
      for (let i = next++; i < rounds; i = next++) {
        await round(any, `client ${i}`).catch((error: unknown) => problems.push(`${i}: ${error}`))
        if (i % 100 === 99) scripted.forget()
      }
    }
    const began = performance.now()
    await Promise.all(Array.from({ length: atOnce }, client))
    t.comment(
      `${rounds - problems.length} clean of ${rounds}, requests ${taken}, ${(performance.now() - began) | 0} ms`
    )
    t.same(problems, [], `seed ${seed}`)
    t.ok(Math.min(...taken) > rounds, 'each instance had its part')
    await until('every upstream session to be ended', () => upstream.sessions.size === 0, 10_000)
    const left = (await server.keys()).filter(name => !name.includes(':alive:'))
    t.same(left, [], 'nothing is left in Redis')
    for (const { output } of all) t.equal(output(), '', 'and nothing was worth a warning')
  }
)
