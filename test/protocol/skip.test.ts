import fc from 'fast-check'
import t from 'tap'
import { skip } from '../../src/protocol/skip.ts'

t.test('the end of any value is found, whatever follows it', async t => {
  const property = fc.property(
    fc.jsonValue({ maxDepth: 4 }),
    fc.constantFrom('', ' ', '\t'),
    fc.constantFrom(',1', ' ,1', ']', '}', '\n}'),
    (value, space, rest) => {
      const text = JSON.stringify(value, null, space)
      const bytes = Buffer.from(`[${text}${rest}`)
      return skip(bytes, 1) === 1 + Buffer.byteLength(text)
    }
  )
  fc.assert(property, { numRuns: 2_000 })
  t.equal(skip(Buffer.from('["a\\"]}",2]'), 1), 8)
  t.equal(skip(Buffer.from('[-0.5e+1 ,2]'), 1), 8)
  t.equal(skip(Buffer.from('[{"a":[{}]}]'), 1), 11)
})
