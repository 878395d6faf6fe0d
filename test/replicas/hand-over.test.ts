/** Calls of clients of 2026-07-28 that wait for input at one instance, and are gone on with by way of another. */
import t, { type Test } from 'tap'
import { saying } from '../helpers/legacy.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { withoutRedis } from '../helpers/redis.ts'
import { startReplicas } from '../helpers/replicas.ts'
import { until } from '../helpers/until.ts'

const skip = withoutRedis

const question = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }

async function startAsking(t: Test) {
  const replicas = await startReplicas(t)
  replicas.scripted.on('tools/call:ask', async turn => {
    const { result } = await turn.ask('elicitation/create', question)
    turn.progress(1)
    turn.answer(saying(`hello ${(result as { content: { name: string } }).content.name}`))
  })
  const [one, two] = replicas.all.map(({ url }) => new ModernClient(url, { capabilities: { elicitation: {} } })) as [
    ModernClient,
    ModernClient
  ]
  const asked = await lastOf(await one.call('ask', {}, { meta: { progressToken: 1 } }))
  const { requestState, inputRequests } = asked.result
  const [key] = Object.keys(inputRequests)
  const inputResponses = { [key!]: { action: 'accept', content: { name: 'Ada' } } }
  const retry = { name: 'ask', arguments: {}, requestState, inputResponses }
  return { ...replicas, one, two, retry }
}

t.test(
  'a retry at another instance is handed over to the one where the call waits: the result comes, once',
  { skip },
  async t => {
    const { one, two, retry, scripted, server } = await startAsking(t)
    const result = await lastOf(await two.request('tools/call', retry))
    t.match(result, { id: two.lastId, result: { resultType: 'complete', content: [{ text: 'hello Ada' }] } })
    t.equal(scripted.heard.filter(({ method }) => method === 'tools/call').length, 1)
    for (const client of [one, two]) {
      t.match(await lastOf(await client.request('tools/call', retry)), { error: { code: -32602 } }, 'good once')
    }
    await until('nothing of it to be left', async () => !(await server.keys()).some(key => /\}[mex]back$/.test(key)))
  }
)

t.test('what the call says meanwhile comes too, as an event stream', { skip }, async t => {
  const { two, retry } = await startAsking(t)
  const { events } = await two.request('tools/call', retry, { meta: { progressToken: 7 } })
  await events.whole()
  t.match(events.messages, [
    { method: 'notifications/progress', params: { progressToken: 7, progress: 1 } },
    { id: two.lastId, result: { content: [{ text: 'hello Ada' }] } }
  ])
})

t.test('a refusal is that of the instance where it waits', { skip }, async t => {
  const { two, retry } = await startAsking(t)
  const response = await two.request('tools/call', { ...retry, inputResponses: { 'input-1': 'no object' } })
  t.match(await lastOf(response), { id: two.lastId, error: { code: -32602 } })
  t.match(await lastOf(await two.request('tools/call', { ...retry, arguments: { other: 1 } })), {
    error: { code: -32602 }
  })
})

t.test('a client that leaves cancels the call where it runs', { skip }, async t => {
  const replicas = await startReplicas(t)
  const { scripted, held, all } = replicas
  const clients = all.map(({ url }) => new ModernClient(url, { capabilities: { elicitation: {} } }))
  const call = clients[0]!.call('held')
  const turn = await held()
  const answered = turn.ask('elicitation/create', question)
  const { requestState, inputRequests } = (await lastOf(await call)).result
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map(key => [key, { action: 'decline' }]))
  const leaving = new AbortController()
  const retry = clients[1]!.request(
    'tools/call',
    { name: 'held', arguments: {}, requestState, inputResponses },
    { signal: leaving.signal }
  )
  await answered
  leaving.abort()
  await t.rejects(retry)
  await turn.cancelled
  t.ok(scripted)
})

t.test(
  'the instance where the call waits is gone: the retry is told so, and the call is not sent again',
  { skip },
  async t => {
    const { two, retry, all, scripted } = await startAsking(t)
    await all[0]!.redis.close()
    await until('the death to be noticed', async () => !(await all[1]!.presence.alive(all[0]!.presence.id)))
    t.match(await lastOf(await two.request('tools/call', retry)), {
      error: { code: -32603, data: { reason: 'owner' } }
    })
    t.equal(scripted.heard.filter(({ method }) => method === 'tools/call').length, 1)
  }
)
