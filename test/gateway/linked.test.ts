import t from 'tap'
import { Linked } from '../../src/gateway/linked.ts'
import { FakeBackend, liveOf, messageOf } from '../helpers/fake-backend.ts'

const [a, b] = [new FakeBackend(), new FakeBackend('session', 'other')]
const link = (uri: unknown): object => ({ type: 'resource_link', uri, name: 'x' })
const result = (result: unknown) => messageOf({ id: 1, result: result as object })

t.test('a link is where it was given last, in the session that it was given to', async t => {
  const linked = new Linked()
  const live = liveOf()
  linked.learn(result({ content: [{ type: 'text', text: 'x' }, link('x://1'), link('x://2')] }), live, a, 'tools/call')
  linked.learn(
    result({ messages: [{ role: 'user', content: link('x://2') }, { role: 'user' }] }),
    live,
    b,
    'prompts/get'
  )
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
  for (const response of odd) linked.learn(response, live, a, 'tools/call')
  t.equal(linked.of('x://1', live) ?? linked.of(long, live), undefined)
})

t.test('of many the latest 100 are remembered', async t => {
  const linked = new Linked()
  const live = liveOf()
  linked.learn(result({ content: Array.from({ length: 100 }, (_, i) => link(`x://${i}`)) }), live, a, 'tools/call')
  linked.learn(result({ content: [link('x://0'), link('x://new')] }), live, a, 'tools/call')
  t.equal(linked.of('x://0', live), a, 'given again')
  t.equal(linked.of('x://1', live), undefined)
  t.equal(linked.of('x://2', live), a)
})

t.test('a resource that is embedded, that is part of what was read, or that was updated is known too', async t => {
  const linked = new Linked()
  const live = liveOf()
  const embedded = { type: 'resource', resource: { uri: 'x://in', text: '' } }
  linked.learn(result({ content: [embedded] }), live, a, 'tools/call')
  linked.learn(result({ contents: [{ uri: 'x://', text: '' }, { uri: 'x://part' }] }), live, b, 'resources/read')
  linked.learn(messageOf({ method: 'notifications/resources/updated', params: { uri: 'x://new' } }), live, a, undefined)
  t.equal(linked.of('x://in', live), a)
  t.equal(linked.of('x://part', live), b)
  t.equal(linked.of('x://new', live), a)
})

t.test('large results are not looked at, and notices without a URI say nothing', async t => {
  const linked = new Linked()
  const live = liveOf()
  linked.learn(result({ contents: [{ uri: 'x://1', text: 'x'.repeat(300_000) }] }), live, a, 'resources/read')
  const text = { type: 'text', text: 'x'.repeat(300_000) }
  linked.learn(result({ content: [link('x://1'), text] }), live, a, 'tools/call')
  for (const params of [undefined, { uri: `x://1${'l'.repeat(1_100)}` }]) {
    linked.learn(messageOf({ method: 'notifications/resources/updated', params }), live, a, undefined)
  }
  linked.learn(messageOf({ method: 'notifications/x', params: { uri: 'x://1' } }), live, a, undefined)
  t.equal(linked.of('x://1', live), undefined)
})
