import t from 'tap'
import { OverStreams } from '../../src/gateway/over-streams.ts'

const over = (last: number) => ({ ids: ['1'], last, logged: true })

t.test('streams that are over are remembered for their session, the oldest forgotten first', async t => {
  const streams = new OverStreams()
  for (let i = 0; i < 10_001; i++) streams.add({ session: 's', stream: `${i}` }, over(i))
  t.equal(streams.get({ session: 's', stream: '0' }), undefined)
  t.match(streams.get({ session: 's', stream: '1' }), over(1))
  t.match(streams.get({ session: 's', stream: '10000' }), over(10_000))
  t.equal(streams.get({ session: 'other', stream: '1' }), undefined)
})
