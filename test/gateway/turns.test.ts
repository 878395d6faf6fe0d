import t from 'tap'
import { Turns } from '../../src/gateway/turns.ts'

t.test('what has the same key is done one after another, in order', async t => {
  const turns = new Turns()
  const order: string[] = []
  const ends: (() => void)[] = []
  const slow = (name: string) => () =>
    new Promise<string>(resolve => {
      order.push(name)
      ends.push(() => resolve(name))
    })
  const a = turns.run('k', slow('a'))
  const b = turns.run('k', slow('b'))
  const other = turns.run('other', slow('other'))
  await Promise.resolve()
  t.same(order, ['a', 'other'])
  ends[1]!()
  ends[0]!()
  t.equal(await a, 'a')
  await new Promise(resolve => setImmediate(resolve))
  t.same(order, ['a', 'other', 'b'])
  ends[2]!()
  t.same(await Promise.all([b, other]), ['b', 'other'])
})

t.test('one that fails fails alone', async t => {
  const turns = new Turns()
  const failing = turns.run('k', () => Promise.reject(new Error('no')))
  const next = turns.run('k', async () => 'next')
  await t.rejects(failing, { message: 'no' })
  t.equal(await next, 'next')
  t.equal(await turns.run('k', async () => 'later'), 'later')
})
