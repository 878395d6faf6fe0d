import t from 'tap'
import { stringParam } from '../../src/protocol/message.ts'
import type { Turn } from '../helpers/scripted.ts'
import { together } from '../helpers/union.ts'
import { until } from '../helpers/until.ts'

t.test('a backend that does not answer one session about its log level is told the levels of the others', async t => {
  const logging = { tools: {}, logging: {} }
  const all = await together(t, {
    a: { tools: ['x'], capabilities: logging },
    b: { tools: ['y'], capabilities: logging }
  })
  const held: Turn[] = []
  all.servers.a!.on('logging/setLevel', turn => turn.answer('{}'))
  all.servers.b!.on('logging/setLevel', turn => void held.push(turn))
  const clients = await Promise.all([all.open(), all.open()])
  for (const client of clients) for (const name of ['x', 'y']) await client.call(name)
  const setting = clients.map(client => client.request('logging/setLevel', { level: 'error' }))
  await until('both are told', () => held.length === 2, 2_000)
  t.same(
    held.map(({ message }) => stringParam(message, 'level')),
    ['error', 'error']
  )
  for (const turn of held) turn.answer('{}')
  for (const { json } of await Promise.all(setting)) t.same(json.result, {})
})
