import t from 'tap'
import { diff } from '../../src/config/diff.ts'
import { Outcomes } from '../../src/generations/outcomes.ts'
import { tellChanged, tellRefused, tellRestart } from '../../src/generations/tell.ts'
import { configOf } from '../helpers/gateway.ts'
import { notices } from '../helpers/module-link.ts'

const docs = { kind: 'http', url: 'http://127.0.0.1:1/mcp' }
const wiki = { kind: 'http', url: 'http://127.0.0.1:2/mcp' }
const alone = { '/mcp': { backends: ['docs'] } }

t.test('a change is told by what changed', async t => {
  const told = notices(t)
  const say = (before: object, after: object): void => {
    const [one, other] = [configOf({ ...before }), configOf({ ...after })]
    told.length = 0
    tellChanged(diff(one, other))
  }
  say({ backends: { docs }, routes: alone }, { backends: { docs, wiki }, routes: alone })
  t.strictSame(told, [{ level: 'info', text: 'the config changed', data: { backends: { added: ['wiki'] } } }])
  say(
    { backends: { docs, wiki }, routes: alone },
    { backends: { docs, wiki }, routes: alone, sessions: { idle: '1m' } }
  )
  t.strictSame(told, [{ level: 'info', text: 'the config changed', data: { settings: ['sessions.idle'] } }])
})

t.test('a refusal is told by its first problem, the others beside it', async t => {
  const told = notices(t)
  tellRefused('one')
  tellRefused('one\ntwo')
  t.strictSame(told, [
    { level: 'error', text: 'the config was refused, the one before goes on: one' },
    {
      level: 'error',
      text: 'the config was refused, the one before goes on: one, and 1 more',
      data: { problems: ['one', 'two'] }
    }
  ])
})

t.test('what needs a restart is told when it changes', async t => {
  const told = notices(t)
  const outcomes = new Outcomes()
  for (const restart of [['admin'], ['admin'], [], ['admin']]) tellRestart(restart, outcomes)
  t.equal(told.length, 2)
  t.same(outcomes.restart, ['admin'])
})
