import t from 'tap'
import { Sealer } from '../../src/protocol/seal.ts'

const facts = { a: 'é', b: [1] }

t.test('what was sealed is opened, with the same key and for the same purpose', async t => {
  const key = Buffer.alloc(32, 7)
  const sealed = new Sealer(key).seal('x', facts)
  t.match(sealed, /^[\w-]+$/)
  t.notMatch(Buffer.from(sealed, 'base64url').toString('latin1'), '"a"')
  t.same(new Sealer(key).open('x', sealed), facts)
  t.not(new Sealer(key).seal('x', facts), sealed)
  t.equal(new Sealer(key).open('y', sealed), undefined)
  t.equal(new Sealer().open('x', sealed), undefined)
})

t.test('whatever was changed is not opened, however little (S7)', async t => {
  const sealer = new Sealer()
  const sealed = sealer.seal('x', facts)
  for (let i = 0; i < sealed.length; i++) {
    const other = sealed[i] === 'A' ? 'B' : 'A'
    t.equal(sealer.open('x', sealed.slice(0, i) + other + sealed.slice(i + 1)), undefined)
    t.equal(sealer.open('x', sealed.slice(0, i)), undefined)
  }
  for (const text of [`${sealed}=`, ` ${sealed}`, `${sealed}A`, '', 'no', 'x'.repeat(100_000)]) {
    t.equal(sealer.open('x', text), undefined, text.slice(0, 20))
  }
})
