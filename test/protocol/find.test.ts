import assert from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { elements, find } from '../../src/protocol/find.ts'
import { space } from '../../src/protocol/grammar.ts'
import { anyKey, jsonText, object, spacing, writeString } from '../helpers/json.ts'

const names = fc.constantFrom('a', 'taskId', '_meta', 'x/y', 'é', '__proto__', '')
const tree = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    jsonText,
    fc
      .tuple(
        fc.array(fc.tuple(fc.oneof(names, anyKey), tie('value')), { maxLength: 4 }),
        spacing,
        fc.array(fc.nat(5), { maxLength: 4 })
      )
      .map(([members, s, choices]) =>
        object(
          members.map(([key, value]) => [writeString(key, choices), value]),
          s
        )
      )
  )
})).value

/** What JSON.parse finds there; undefined when there is nothing. */
function parsedAt(text: string, path: readonly string[]): unknown {
  let value: unknown = JSON.parse(text)
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

t.test('R196: what stands at a path is what JSON.parse finds there', async () => {
  fc.assert(
    fc.property(tree, fc.array(names, { maxLength: 3 }), spacing, (text, path, [before]) => {
      const bytes = Buffer.from(before + text)
      const span = find(bytes, space(bytes, 0), path)
      const expected = parsedAt(text, path)
      if (expected === undefined) assert.equal(span, undefined)
      else assert.deepEqual(JSON.parse(bytes.toString('utf8', span!.start, span!.end)), expected)
    }),
    { numRuns: 3_000 }
  )
})

t.test('R196: the elements of an array are those of JSON.parse', async () => {
  fc.assert(
    fc.property(fc.array(tree, { maxLength: 5 }), spacing, (texts, s) => {
      const bytes = Buffer.from(`[${s[0]}${texts.join(`${s[0]},${s.at(-1)}`)}${s.at(-1)}]`)
      const spans = elements(bytes, 0)!
      assert.deepEqual(
        spans.map(({ start, end }) => bytes.toString('utf8', start, end)),
        texts.map(text => Buffer.from(text).toString())
      )
    })
  )
})

t.test('the last of equal names counts, however it is written', async t => {
  const bytes = Buffer.from('{"a":{"b":1},"\\u0061":{"b":2,"c":3,"b":4}}')
  const span = find(bytes, 0, ['a', 'b'])!
  t.equal(bytes.toString('utf8', span.start, span.end), '4')
  t.equal(find(bytes, 0, ['a', 'd']), undefined)
  t.equal(find(bytes, 0, ['a', 'b', 'c']), undefined, 'a number has no members')
  t.equal(elements(bytes, 0), undefined, 'an object has no elements')
})
