import t from 'tap'
import { type Placed, UnderWay } from '../../src/backends/under-way.ts'

class One implements Placed {
  list: unknown
  before: Placed | undefined
  after: Placed | undefined
  readonly name: number
  constructor(name: number) {
    this.name = name
  }
}

t.test('what comes and goes is there, oldest first, and leaves nothing of itself', async t => {
  const list = new UnderWay<One>()
  const expected: One[] = []
  for (let i = 0; i < 2_000; i++) {
    if (expected.length > 0 && Math.random() < 0.5) {
      const [gone] = expected.splice(Math.floor(Math.random() * expected.length), 1)
      t.equal(list.delete(gone!), true)
      t.equal(list.delete(gone!), false)
      t.match([gone!.list, gone!.before, gone!.after], [undefined, undefined, undefined])
    } else {
      const one = new One(i)
      list.add(one)
      expected.push(one)
    }
    if (list.size !== expected.length) t.fail(`${list.size} instead of ${expected.length}`)
  }
  t.same(
    list.now().map(({ name }) => name),
    expected.map(({ name }) => name)
  )
})

t.test('what is in another list is not there', async t => {
  const [list, other] = [new UnderWay<One>(), new UnderWay<One>()]
  const one = new One(1)
  other.add(one)
  t.equal(list.delete(one), false)
  t.equal(other.size, 1)
  for (const each of other.now()) other.delete(each)
  t.same(other.now(), [])
})
