import t from 'tap'
import { TaskKeeping } from '../../src/gateway/task-keeping.ts'
import type { Live } from '../../src/sessions/lifecycle.ts'
import { until } from '../helpers/until.ts'

t.test('who stands for a caller is kept for a time after each task that began there, and held once', async t => {
  const held: string[] = []
  const live = { record: { id: 'x' } } as Live
  const keeping = new TaskKeeping({ hold: () => held.push('hold'), drop: () => held.push('drop') }, 20)
  keeping.keep(live)
  keeping.keep(live)
  t.same(held, ['hold'])
  await until('its time is over', () => held.length === 2)
  t.same(held, ['hold', 'drop'])
  keeping.keep(live)
  keeping.close()
  t.same(held, ['hold', 'drop', 'hold'], 'at the end nothing is given back: all of it ends')
})
