import t from 'tap'
import { headerValue, InvalidParamHeaders, paramHeaders } from '../../src/protocol/param-headers.ts'

const schema = (properties: object, rest: object = {}) => ({ type: 'object', properties, ...rest })

t.test('parameters with an annotation are found by their path, nested ones too', async t => {
  const found = paramHeaders(
    schema({
      region: { type: 'string', 'x-mcp-header': 'Region' },
      size: { type: 'integer', 'x-mcp-header': 'Size' },
      plain: { type: 'number' },
      options: schema({ dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' } })
    })
  )
  t.same(found, [
    { name: 'Region', path: ['region'], type: 'string' },
    { name: 'Size', path: ['size'], type: 'integer' },
    { name: 'Dry-Run', path: ['options', 'dry'], type: 'boolean' }
  ])
  const args = { region: 'eu', size: 3, options: { dry: false } }
  t.same(
    found.map(header => headerValue(header, args)),
    ['eu', '3', 'false']
  )
  t.same(
    found.map(header => headerValue(header, { region: null, options: 'x' })),
    [undefined, undefined, undefined],
    'what is not there, or null, has no header'
  )
})

t.test('a parameter, a default or an example that is called like the annotation is none', async t => {
  const named = schema({ 'x-mcp-header': { type: 'string' }, a: { default: { 'x-mcp-header': 'A b' } } })
  t.same(paramHeaders(named), [])
  t.same(paramHeaders(undefined), [])
  t.same(paramHeaders('schema'), [])
})

const annotated = { type: 'string', 'x-mcp-header': 'A' }

const invalid: Readonly<Record<string, unknown>> = {
  'an empty name': schema({ a: { type: 'string', 'x-mcp-header': '' } }),
  'a name with a blank': schema({ a: { type: 'string', 'x-mcp-header': 'a b' } }),
  'a name with a line break': schema({ a: { type: 'string', 'x-mcp-header': 'a\r\nb' } }),
  'a name with a colon': schema({ a: { type: 'string', 'x-mcp-header': 'a:b' } }),
  'a name that is no string': schema({ a: { type: 'string', 'x-mcp-header': 1 } }),
  'two names that differ in case': schema({ a: annotated, b: { type: 'string', 'x-mcp-header': 'a' } }),
  'a number': schema({ a: { type: 'number', 'x-mcp-header': 'A' } }),
  'an object': schema({ a: { type: 'object', 'x-mcp-header': 'A' } }),
  'no type': schema({ a: { 'x-mcp-header': 'A' } }),
  'several types': schema({ a: { type: ['string', 'null'], 'x-mcp-header': 'A' } }),
  'the root': { type: 'string', 'x-mcp-header': 'A' },
  'items of an array': schema({ a: { type: 'array', items: annotated } }),
  'properties of items': schema({ a: { type: 'array', items: schema({ b: annotated }) } }),
  'one of several': schema({ a: { oneOf: [annotated] } }),
  'a condition': schema({}, { if: schema({ a: annotated }) }),
  'a definition': schema({}, { $defs: { a: annotated } }),
  'a pattern of names': schema({}, { patternProperties: { '^a': annotated } })
}

for (const [what, inputSchema] of Object.entries(invalid)) {
  t.test(`an annotation of ${what} makes the tool invalid (M26-05)`, async t => {
    t.ok(refused(inputSchema) instanceof InvalidParamHeaders)
  })
}

t.test('a schema without end is not looked through', async t => {
  let deep: unknown = annotated
  for (let i = 0; i < 500; i++) deep = schema({ a: deep })
  t.ok(refused(deep) instanceof InvalidParamHeaders)
})

function refused(inputSchema: unknown): unknown {
  try {
    return paramHeaders(inputSchema)
  } catch (error) {
    return error
  }
}
