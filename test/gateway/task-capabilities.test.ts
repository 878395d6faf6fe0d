import t from 'tap'
import { withTasksFor } from '../../src/gateway/task-capabilities.ts'

const own = { scope: 'session' } as const
const shared = { scope: 'shared' } as const
const all = { tools: {}, tasks: { list: {}, cancel: {} } }

t.test('R120: tasks are told to clients whose revision has them', async t => {
  t.equal(withTasksFor(all, '2025-11-25', own), all, 'as they are')
  t.same(withTasksFor(all, '2025-06-18', own), { tools: {} })
})

t.test('R120: no lists of tasks are told of an upstream that several sessions share', async t => {
  t.same(withTasksFor(all, '2025-11-25', shared), { tools: {}, tasks: { cancel: {} } })
  for (const capabilities of [{}, { tasks: { cancel: {} } }, { tasks: null }]) {
    t.equal(withTasksFor(capabilities, '2025-11-25', shared), capabilities)
  }
})
