import t from 'tap'
import { Subscription } from '../../src/gateway/subscription.ts'
import { makeNotification } from '../../src/protocol/make.ts'
import { FakeReader } from '../helpers/fake-reader.ts'

const updated = (uri: string) => makeNotification('notifications/resources/updated', { uri })
const said = ({ given }: FakeReader): any[] => given.map(({ data }) => JSON.parse(data!))
const filter = { lists: [], uris: ['file:///'], tasks: [] }

t.test('a reader who is behind gets each change once, when there is room', async t => {
  const subscription = new Subscription('1', filter)
  const reader = new FakeReader()
  reader.slow = true
  subscription.begin(reader, filter, '{}')
  for (let round = 0; round < 3; round++)
    for (const uri of ['file:///a', 'file:///b']) t.ok(subscription.tell(updated(uri)))
  t.equal(reader.given.length, 2, 'the acknowledgement, and what was under way')
  reader.slow = false
  reader.drain()
  await new Promise(setImmediate)
  t.same(
    said(reader).map(({ params }) => params.uri),
    [undefined, 'file:///a', 'file:///b', 'file:///a'].slice(0, reader.given.length)
  )
  t.equal(reader.given.length, 4)
  t.notOk(subscription.tell(updated('other:///')))
})

t.test('too many changes for a reader who takes none end it with its result', async t => {
  const subscription = new Subscription('"x"', filter)
  const reader = new FakeReader()
  reader.slow = true
  subscription.begin(reader, filter, '{"name":"causeway"}')
  let told = 0
  while (subscription.tell(updated(`file:///${told}`))) told++
  t.ok(told > 1_000 && told < 1_010, `${told}`)
  t.match(said(reader).at(-1), { id: 'x', result: { resultType: 'complete' } })
  t.equal(reader.ended, 'clean')
  subscription.end()
  t.equal(said(reader).filter(({ id }) => id === 'x').length, 1, 'once')
})

t.test('ended before it began: acknowledgement, result, end', async t => {
  const subscription = new Subscription('1', filter)
  t.ok(subscription.tell(updated('file:///early')))
  subscription.end()
  t.notOk(subscription.tell(updated('file:///late')))
  const reader = new FakeReader()
  subscription.begin(reader, filter, '{}')
  t.match(said(reader), [
    { method: 'notifications/subscriptions/acknowledged' },
    { params: { uri: 'file:///early' } },
    { id: 1, result: {} }
  ])
  t.equal(reader.ended, 'clean')
})
