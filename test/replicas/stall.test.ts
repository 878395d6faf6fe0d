/** A call that runs while Redis stalls: what its client sees, and what is to be had again afterwards (RES-06). */
import t from 'tap'
import { saying } from '../helpers/legacy.ts'
import { withoutRedis } from '../helpers/redis.ts'
import { startReplicas } from '../helpers/replicas.ts'
import { until } from '../helpers/until.ts'

const skip = withoutRedis

t.test(
  'each message once on the open stream, and one error for whoever resumes at another instance',
  { skip },
  async t => {
    const { open, at, held, server, all } = await startReplicas(t)
    const one = await open()
    const call = one.call('held', {}, { progressToken: 1 })
    const turn = await held()
    turn.progress(1)
    const { events } = await call
    await events.message(({ params }) => params?.progress === 1)
    const cursor = events.lastId
    server.signal('SIGSTOP')
    turn.progress(2)
    turn.progress(3)
    await events.message(({ params }) => params?.progress === 3)
    server.signal('SIGCONT')
    await until('Redis to be used again', () => all.every(({ redis }) => redis.up))
    turn.answer(saying('done'))
    await events.whole()
    t.same(
      events.messages.map(({ params, result }) => params?.progress ?? result.content[0].text),
      [1, 2, 3, 'done'],
      'also what came to stand in the log late'
    )
    const resumed = await at(one, 1).get(cursor)
    await resumed.events.whole()
    t.match(resumed.events.messages.at(-1), {
      id: one.lastId,
      error: { code: -32603, data: { reason: 'response_gone' } }
    })
  }
)

t.test('when only the last message was late the log has it all the same', { skip }, async t => {
  const { open, at, held, server, all } = await startReplicas(t)
  const one = await open()
  const call = one.call('held', {}, { progressToken: 1 })
  const turn = await held()
  turn.progress(1)
  const { events } = await call
  await events.message(({ params }) => params?.progress === 1)
  const cursor = events.lastId
  server.signal('SIGSTOP')
  turn.answer(saying('done'))
  await events.whole()
  t.equal(events.messages.filter(({ result }) => result !== undefined).length, 1)
  server.signal('SIGCONT')
  await until('Redis to be used again', () => all.every(({ redis }) => redis.up))
  const resumed = await at(one, 1).get(cursor)
  await resumed.events.whole()
  t.same(
    resumed.events.messages.map(({ result, error }) => result?.content[0].text ?? error),
    ['done']
  )
})
