import fc from 'fast-check'
import t from 'tap'
import { channelStream, eventId, newStream, parseEventId } from '../../src/streams/event-id.ts'
import { ids } from '../fuzz/ids.ts'

t.test('what an id was made from is read back, whatever the name of the stream has in it (R17)', async () => {
  fc.assert(ids.properties['an event id is read back as it was made'])
  fc.assert(ids.properties['what is read as an event id is one, written the one way'])
})

t.test('streams of POSTs and of sessions have names of their own', async t => {
  t.not(newStream(), newStream())
  t.equal(channelStream('a'), channelStream('a'), 'the same on every instance')
  t.not(channelStream('a'), channelStream('b'))
  for (const stream of [newStream(), channelStream('a')]) {
    t.match(parseEventId(eventId(stream, 7)), { stream, number: 7 })
  }
})

for (const text of [
  '',
  '0',
  'abcdefgh',
  'abcdefgh_',
  'abcdefgh_-1',
  'abcdefgh_01',
  'abcdefgh_1.5',
  'abcdefgh_1e3',
  'abcdefgh_1\n',
  'abcdefgh_9999999999999999',
  'short_1',
  'with space_1',
  'ümläute-_1',
  `${'x'.repeat(33)}_1`,
  'x'.repeat(5_000)
]) {
  t.test(`no event id: ${JSON.stringify(text.slice(0, 40))} (RES-03)`, async t => {
    t.equal(parseEventId(text), undefined)
  })
}
