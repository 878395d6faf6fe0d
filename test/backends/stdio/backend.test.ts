import t from 'tap'
import { call, open, stdioBackend, textOf } from '../../helpers/stdio.ts'

t.test('BKD-08 each link of scope session has a child of its own, and its state', async t => {
  const backend = stdioBackend()
  t.teardown(() => backend.close())
  const [one, two] = await Promise.all([open(backend), open(backend)])
  for (const expected of ['1', '2', '3']) t.equal(await textOf(call(one.link, 'increment')), expected)
  t.equal(await textOf(call(two.link, 'increment')), '1')
  await Promise.all([one.link.close(), two.link.close()])
  t.same([...one.ended, ...two.ended], [], 'a link that was closed has not ended by itself')
})
