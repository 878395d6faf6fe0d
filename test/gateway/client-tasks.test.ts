import t from 'tap'
import { ClientTasks } from '../../src/gateway/client-tasks.ts'
import { FakeBackend, liveOf, messageOf } from '../helpers/fake-backend.ts'

const [a, b] = [new FakeBackend(), new FakeBackend('session', 'other')]
const created = (taskId: unknown) => messageOf({ id: 1, result: { task: { taskId, status: 'working' } } })
const asks = (method: string, taskId: unknown) => messageOf({ id: 1, method, params: { taskId } })

t.test('R126: a backend does not get at tasks that the client runs for another', async t => {
  const tasks = new ClientTasks()
  const live = liveOf()
  tasks.learn(created('7'), 'sampling/createMessage', live, a)
  tasks.learn(created('8'), 'elicitation/create', live, b)
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    t.equal(tasks.refusal(asks(method, '7'), live, a), undefined, `${method} of its own`)
    t.match(tasks.refusal(asks(method, '7'), live, b), { code: -32602 }, `${method} of another`)
    t.equal(tasks.refusal(asks(method, '9'), live, b), undefined, 'the client judges what is not known here')
    t.equal(tasks.refusal(asks(method, '7'), liveOf(), b), undefined, 'so it does in another session')
    t.equal(tasks.refusal(asks(method, 7), live, b), undefined)
  }
  t.match(tasks.refusal(messageOf({ id: 1, method: 'tasks/list' }), live, a), { code: -32601 })
  t.equal(tasks.refusal(messageOf({ id: 1, method: 'roots/list' }), live, b), undefined)
  t.equal(tasks.owner('8', live), b)
})

t.test('what creates no task is not remembered, and of many tasks the latest 1,000', async t => {
  const tasks = new ClientTasks()
  const live = liveOf()
  tasks.learn(created('7'), 'roots/list', live, a)
  tasks.learn(created(8), 'elicitation/create', live, a)
  tasks.learn(messageOf({ id: 1, error: { code: 1, message: '' } }), 'elicitation/create', live, a)
  tasks.learn(messageOf({ id: 1, result: { action: 'accept' } }), 'elicitation/create', live, a)
  t.equal(tasks.owner('7', live) ?? tasks.owner('8', live), undefined)
  for (let i = 0; i <= 1_000; i++) tasks.learn(created(`t${i}`), 'elicitation/create', live, a)
  t.equal(tasks.owner('t0', live), undefined)
  t.equal(tasks.owner('t1', live), a)
})
