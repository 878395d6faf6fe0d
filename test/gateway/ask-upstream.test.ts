import t, { type Test } from 'tap'
import { askUpstream } from '../../src/gateway/ask-upstream.ts'
import { makeRequest } from '../../src/protocol/make.ts'
import { isError } from '../../src/protocol/message.ts'
import { facts, type OperationFact } from '../../src/telemetry/events.ts'
import { FakeLink } from '../helpers/fake-backend.ts'

function scene(t: Test) {
  const link = new FakeLink({} as never, undefined, {})
  const heard: unknown[] = []
  const told: OperationFact[] = []
  t.teardown(facts.operation.subscribe(fact => void told.push(fact)))
  const ask = (timeoutMs = 5_000) =>
    askUpstream(link, makeRequest('0', 'tools/list'), {
      timeoutMs,
      backend: 'b',
      receive: message => void heard.push(message.method)
    })
  return { link, heard, told, ask }
}

t.test('the answer comes, what is said before it is heard, and how long it took is told', async t => {
  const { link, heard, told, ask } = scene(t)
  const answer = ask()
  link.exchanges[0]!.say({ method: 'notifications/message', params: {} })
  link.exchanges[0]!.answer({ tools: [] })
  t.notOk(isError(await answer))
  t.same(heard, ['notifications/message'])
  t.match(told, [{ backend: 'b', method: 'tools/list', durationMs: Number, error: undefined }])
})

t.test('who does not answer in time is told so', async t => {
  const { link, told, ask } = scene(t)
  await t.rejects(ask(5), { code: 'timeout', backend: 'b', message: /did not answer tools\/list within 5 ms/ })
  t.same(link.exchanges[0]!.told, ['cancel took too long'])
  t.match(told, [{ error: 'timeout' }])
})

t.test('a conversation that is closed without an answer is no fault of the backend', async t => {
  const { link, told, ask } = scene(t)
  const answer = ask()
  link.exchanges[0]!.queue.cancel()
  await t.rejects(answer, { code: 'session' })
  t.match(told, [{ error: 'session' }])
})
