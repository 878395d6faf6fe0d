import t from 'tap'
import { Linked } from '../../src/gateway/linked.ts'
import { FakeBackend, liveOf, messageOf } from '../helpers/fake-backend.ts'

const [a, b] = [new FakeBackend(), new FakeBackend('session', 'other')]
const link = (uri: unknown): object => ({ type: 'resource_link', uri, name: 'x' })
const result = (result: unknown) => messageOf({ id: 1, result: result as object })

t.test('a link is where it was given last, in the session that it was given to', async t => {
  const linked = new Linked()
  const live = liveOf()
  linked.learn(result({ content: [{ type: 'text', text: 'x' }, link('x://1'), link('x://2')] }), live, a)
  linked.learn(result({ messages: [{ role: 'user', content: link('x://2') }, { role: 'user' }] }), live, b)
  t.equal(linked.of('x://1', live), a)
  t.equal(linked.of('x://2', live), b)
  t.equal(linked.of('x://1', liveOf()), undefined)
})

t.test('what is no link is none', async t => {
  const linked = new Linked()
  const live = liveOf()
  const long = `x://${'l'.repeat(1_024)}`
  const odd = [
    result({ content: [{ type: 'text', text: 'resource_link', uri: 'x://1' }, link(1), link(long), 'resource_link'] }),
    result({ content: link('x://1') }),
    result({ contents: [link('x://1')] }),
    result(['resource_link']),
    messageOf({ id: 1, error: { code: 1, message: 'resource_link' } })
  ]
  for (const response of odd) linked.learn(response, live, a)
  t.equal(linked.of('x://1', live) ?? linked.of(long, live), undefined)
})

t.test('of many the latest 100 are remembered', async t => {
  const linked = new Linked()
  const live = liveOf()
  linked.learn(result({ content: Array.from({ length: 100 }, (_, i) => link(`x://${i}`)) }), live, a)
  linked.learn(result({ content: [link('x://0'), link('x://new')] }), live, a)
  t.equal(linked.of('x://0', live), a, 'given again')
  t.equal(linked.of('x://1', live), undefined)
  t.equal(linked.of('x://2', live), a)
})
