import t from 'tap'
import * as z from 'zod'
import type { JsonSchema, StandardSchema } from '../../src/handlers/define.ts'
import { isRisky } from '../../src/handlers/guard.ts'
import { compile } from '../../src/handlers/validate.ts'

const object = (properties: Record<string, unknown>, more: object = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...more
})

t.test('R59: JSON Schema is 2020-12, and draft-07 when it says so', async t => {
  const tuple = { a: { type: 'array', prefixItems: [{ type: 'string' }] } }
  t.equal((await compile(object(tuple), 'input').check({ a: [1] })).ok, false)
  const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#' }
  const old = { a: { type: 'array', items: [{ type: 'string' }], additionalItems: false } }
  const check = compile(object(old, draft7), 'input')
  t.equal((await check.check({ a: ['x'] })).ok, true)
  t.equal((await check.check({ a: ['x', 'y'] })).ok, false)
})

t.test('R59: a dialect that is not known is refused by its name', async t => {
  t.throws(() => compile(object({}, { $schema: 'https://json-schema.org/draft/2019-09/schema' }), 'input'), {
    message: /2019-09/
  })
})

t.test('R59: a reference out of the schema is never fetched', async t => {
  t.throws(() => compile(object({ a: { $ref: 'https://x.example/schema.json' } }), 'input'), { message: /x\.example/ })
})

t.test('R59: the root must be an object, and schemas have bounds', async t => {
  t.throws(() => compile({ type: 'array' }, 'input'), { message: /"type": "object"/ })
  t.doesNotThrow(() => compile({ type: 'array' }, 'output'), 'of an output it may be anything')
  t.throws(() => compile({}, 'input'), { message: /"type": "object"/ })
  t.throws(() => compile(z.string(), 'input'), { message: /"type": "object"/ })
  let deep: JsonSchema = { type: 'object' }
  for (let i = 0; i < 40; i++) deep = object({ a: deep })
  t.throws(() => compile(deep, 'input'), { message: /deeper/ })
  t.throws(() => compile(object({ a: { description: 'x'.repeat(300_000) } }), 'input'), { message: /larger/ })
})

t.test('two schemas of one $id do not meet', async t => {
  for (const type of ['string', 'number']) {
    const check = compile(object({ a: { type } }, { $id: 'https://x.example/same' }), 'input')
    t.equal((await check.check({ a: 'x' })).ok, type === 'string')
  }
})

t.test('every problem of a small value is told, up to ten', async t => {
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, { type: 'string' }]))
  const check = compile(object(properties), 'input')
  const small = await check.check(Object.fromEntries(Object.keys(properties).map(key => [key, 1])))
  t.equal(small.ok === false && small.problems.length, 10)
  const large = await check.check(Object.fromEntries(Object.keys(properties).map(key => [key, [key.repeat(2_000)]])))
  t.equal(large.ok === false && large.problems.length, 1)
})

t.test('problems name their place', async t => {
  const check = compile(object({ 'a/b': object({ c: { const: 1 } }) }), 'input')
  t.strictSame(await check.check({ 'a/b': { c: 2 } }), {
    ok: false,
    problems: ['a/b.c: must be equal to constant: 1']
  })
})

t.test('a Standard Schema gives its output; it may take its time, and name places as keys or segments', async t => {
  const schema: StandardSchema<{ a: string }, { b: number }> = {
    '~standard': {
      version: 1,
      vendor: 'own',
      validate: async value =>
        (value as { a?: string }).a === undefined
          ? { issues: [{ message: 'missing', path: ['a', { key: 0 }] }, { message: 'bad' }] }
          : { value: { b: 1 } },
      jsonSchema: { input: () => object({ a: {} }), output: () => object({ b: {} }) }
    }
  }
  const check = compile(schema, 'input')
  t.strictSame(check.json, object({ a: {} }))
  t.strictSame(compile(schema, 'output').json, object({ b: {} }))
  t.strictSame(await check.check({ a: 'x' }), { ok: true, value: { b: 1 } })
  t.strictSame(await check.check({}), { ok: false, problems: ['a.0: missing', 'bad'] })
})

t.test(
  'a Standard Schema tells its JSON Schema by toJSONSchema too, or is refused by the name of its vendor',
  async t => {
    const standard = { version: 1 as const, vendor: 'other', validate: (value: unknown) => ({ value }) }
    const by = { '~standard': standard, toJSONSchema: ({ io }: { io: string }) => object({ [io]: {} }) }
    t.strictSame(compile(by, 'output').json, object({ output: {} }))
    t.throws(() => compile({ '~standard': standard }, 'input'), { message: /other/ })
  }
)

t.test('S16: a pattern, or a comparison of all with all, cannot stall the event loop', async t => {
  const hostile: [JsonSchema, unknown][] = [
    [object({ a: { type: 'string', pattern: '^(a+)+$' } }), { a: `${'a'.repeat(50)}b` }],
    [object({}, { patternProperties: { '^(a|a)*$': {} }, additionalProperties: false }), { [`${'a'.repeat(50)}b`]: 1 }],
    [
      object({ a: { type: 'array', uniqueItems: true } }),
      { a: Array.from({ length: 50_000 }, (_, i) => ({ i, list: [i] })) }
    ]
  ]
  for (const [schema, value] of hostile) {
    const begun = performance.now()
    const checked = await compile(schema, 'input').check(value)
    t.match(checked, { ok: false, problems: [/too long/] })
    t.ok(performance.now() - begun < 2_000, `${performance.now() - begun} ms`)
  }
  const begun = performance.now()
  const zod = z.object({ a: z.string().regex(/^(a+)+$/) })
  t.match(await compile(zod, 'input').check({ a: `${'a'.repeat(50)}b` }), { ok: false, problems: [/too long/] })
  t.ok(performance.now() - begun < 2_000)
})

t.test('S16: what runs under a time limit still checks, and throws what it throws', async t => {
  const check = compile(object({ a: { type: 'string', pattern: '^(a+)+$' } }), 'input')
  t.equal((await check.check({ a: 'aaa' })).ok, true)
  t.equal((await check.check({ a: 'b' })).ok, false)
  const throwing = {
    '~standard': {
      version: 1 as const,
      vendor: 'own',
      validate: () => {
        throw new Error('mine')
      }
    },
    toJSONSchema: () => object({ a: { $ref: '#' } })
  }
  t.throws(() => compile(throwing, 'input').check({}), { message: 'mine' })
})

t.test('S16: plain schemas run without the cost of a time limit', async t => {
  for (const pattern of ['^[a-z0-9-]+$', 'abc', '^\\d{4}-\\d{2}$']) {
    t.equal(isRisky(object({ a: { type: 'string', pattern } })), false, pattern)
  }
  for (const pattern of ['^(a+)+$', '[a-z]+', '^a*b*$', '^(a|b)+$', '^a{2,}b+$']) {
    t.equal(isRisky(object({ a: { type: 'string', pattern } })), true, pattern)
  }
  t.equal(isRisky(object({ a: { type: 'array', uniqueItems: false } })), false)
})
