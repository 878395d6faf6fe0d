import t from 'tap'
import * as z from 'zod'
import { defineTool, ProtocolError, ToolError } from '../../../src/handlers/define.ts'
import { audio, image } from '../../fixtures/conformance/content.ts'
import { clientOf, notices } from '../../helpers/module-link.ts'

/** One tool that returns this. */
const returning = (value: unknown) => ({ tools: [{ name: 'it', handler: () => value as object }] })

t.test('R50, R51, R56, R57, R94: tools/list shows what the author set, as set', async t => {
  const whole = {
    name: 'whole',
    title: 'Whole',
    description: 'Everything',
    icons: [
      { src: 'https://x.example/i.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' as const, 'x-y': 1 }
    ],
    annotations: {
      title: 'Other',
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true
    },
    execution: { taskSupport: 'optional' as const },
    _meta: { 'x/y': null },
    handler: () => ''
  }
  const client = await clientOf(t, { tools: [whole] })
  const { handler: _, ...listed } = whole
  t.strictSame((await client.ask('tools/list')).result, {
    tools: [{ ...listed, inputSchema: { type: 'object', properties: {} } }]
  })
})

t.test('R50, R51, R56, R94: what is unset or empty is absent from tools/list', async t => {
  const empty = { title: '', description: '', icons: [], annotations: {}, _meta: {}, execution: {} }
  const client = await clientOf(t, {
    tools: [
      { name: 'bare', handler: () => '' },
      { name: 'empty', ...empty, handler: () => '' }
    ]
  })
  const inputSchema = { type: 'object', properties: {} }
  t.strictSame((await client.ask('tools/list')).result.tools, [
    { name: 'bare', inputSchema },
    { name: 'empty', inputSchema }
  ])
})

t.test('R50: some annotations are shown alone, and change nothing', async t => {
  const client = await clientOf(t, {
    tools: [{ name: 'a', annotations: { readOnlyHint: true }, handler: () => 'ran' }]
  })
  t.strictSame((await client.ask('tools/list')).result.tools[0].annotations, { readOnlyHint: true })
  t.match(await client.result('a'), { content: [{ text: 'ran' }] })
})

t.test('R52, R59: schemas keep every keyword', async t => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { a: { $anchor: 'a', type: 'string', 'x-y': [1] } },
    properties: { a: { $ref: '#a' }, b: { type: ['string', 'null'] } },
    allOf: [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }],
    additionalProperties: false
  }
  const client = await clientOf(t, {
    tools: [{ name: 'a', inputSchema: schema, outputSchema: schema, handler: args => ({ structuredContent: args }) }]
  })
  const [tool] = (await client.ask('tools/list')).result.tools
  t.strictSame(tool.inputSchema, schema)
  t.strictSame(tool.outputSchema, schema)
  t.same((await client.result('a', { a: 'x' })).structuredContent, { a: 'x' })
  t.equal((await client.result('a', { a: 1 })).isError, true)
})

t.test('R53: structured content is checked and gets a text block with its JSON', async t => {
  const tool = defineTool({
    name: 'sum',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    handler: ({ a, b }) => ({ sum: a + b })
  })
  const client = await clientOf(t, { tools: [tool] })
  t.strictSame(await client.result('sum', { a: 1, b: 2 }), {
    content: [{ type: 'text', text: '{"sum":3}' }],
    structuredContent: { sum: 3 }
  })
})

t.test('R53: content that the author gives stays as it is', async t => {
  const outputSchema = { type: 'object', properties: { a: { type: 'number' } } }
  const client = await clientOf(t, {
    tools: [{ name: 'a', outputSchema, handler: () => ({ content: ['one'], structuredContent: { a: 1 } }) }]
  })
  t.strictSame(await client.result('a'), { content: [{ type: 'text', text: 'one' }], structuredContent: { a: 1 } })
})

t.test('R53: structured content unlike its schema is an error result without it', async t => {
  const outputSchema = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] }
  const client = await clientOf(t, {
    tools: [
      { name: 'bad', outputSchema, handler: () => ({ a: 'x' }) },
      { name: 'none', outputSchema, handler: () => 'text' },
      { name: 'excused', outputSchema, handler: () => ({ content: ['no'], isError: true }) }
    ]
  })
  const bad = await client.result('bad')
  t.equal(bad.isError, true)
  t.notOk('structuredContent' in bad)
  t.match(bad.content[0].text, /a: must be number/)
  t.match(await client.result('none'), { isError: true, content: [{ text: /no structured content/ }] })
  t.strictSame(await client.result('excused'), { content: [{ type: 'text', text: 'no' }], isError: true })
})

t.test(
  'R53: without a schema structured content passes, also with isError; older clients have objects alone',
  async t => {
    for (const structuredContent of [{ a: [1] }, [1, 2], 'x', 0, false]) {
      const content = [{ type: 'text', text: JSON.stringify(structuredContent) }]
      for (const version of ['2025-11-25', '2026-07-28']) {
        const client = await clientOf(t, returning({ structuredContent, isError: true }), { version })
        const passes =
          version === '2026-07-28' || (!Array.isArray(structuredContent) && typeof structuredContent === 'object')
        t.strictSame(await client.result('it'), { content, isError: true, ...(passes && { structuredContent }) })
      }
    }
  }
)

t.test('R53: an output schema of another thing than an object is for clients of 2026-07-28', async t => {
  const outputSchema = { type: 'array' as const, items: { type: 'number' as const } }
  const tools = [
    { name: 'it', outputSchema, handler: () => [1, 2] },
    { name: 'blocks', outputSchema, handler: () => ({ content: [image], structuredContent: [1, 2] }) },
    { name: 'text', outputSchema: { type: 'string' as const }, handler: () => 'words' },
    { name: 'wrong', outputSchema, handler: () => ['x'] }
  ]
  const [older, modern] = [await clientOf(t, { tools }), await clientOf(t, { tools }, { version: '2026-07-28' })]
  t.strictSame((await modern.ask('tools/list')).result.tools[0].outputSchema, outputSchema)
  t.strictSame(Object.keys((await older.ask('tools/list')).result.tools[0]), ['name', 'inputSchema'])
  const text = { type: 'text', text: '[1,2]' }
  t.strictSame(await modern.result('it'), { content: [text], structuredContent: [1, 2] })
  t.strictSame(await older.result('it'), { content: [text] })
  t.strictSame(await modern.result('blocks'), { content: [image], structuredContent: [1, 2] })
  t.strictSame(await older.result('blocks'), { content: [image, text] }, 'none of its blocks is text')
  t.strictSame((await modern.result('text')).structuredContent, 'words')
  t.match(await modern.result('wrong'), { isError: true, content: [{ text: /unlike its schema/ }] })
})

t.test('R54: what a tool throws is an error result with the message and no stack; the log has the stack', async t => {
  const told = notices(t)
  const client = await clientOf(t, {
    tools: [
      {
        name: 'throws',
        handler() {
          throw new TypeError('the disk is full')
        }
      },
      { name: 'rejects', handler: () => Promise.reject(new Error('gone')) },
      {
        name: 'odd',
        handler() {
          throw null
        }
      }
    ]
  })
  t.strictSame(await client.result('throws'), { content: [{ type: 'text', text: 'the disk is full' }], isError: true })
  t.strictSame(await client.result('rejects'), { content: [{ type: 'text', text: 'gone' }], isError: true })
  t.strictSame(await client.result('odd'), { content: [{ type: 'text', text: 'The tool failed.' }], isError: true })
  const errors = told.filter(notice => notice.level === 'error')
  t.match(errors[0], { text: /throws/, backend: 'mod', error: { stack: /tools\.test/ } })
  t.equal(errors.length, 3)
})

t.test('R54: a ToolError is an answer: its content goes out, and nothing is logged', async t => {
  const told = notices(t)
  const client = await clientOf(t, {
    tools: [
      {
        name: 'a',
        handler() {
          throw new ToolError('no such city', ['Try Oslo.', image])
        }
      },
      {
        name: 'broken',
        handler() {
          throw new ToolError('no data', [{ type: 'text' } as never])
        }
      },
      {
        name: 'b',
        handler() {
          throw new ToolError('no such city')
        }
      }
    ]
  })
  t.strictSame(await client.result('a'), { content: [{ type: 'text', text: 'Try Oslo.' }, image], isError: true })
  t.strictSame(await client.result('broken'), { content: [{ type: 'text', text: 'no data' }], isError: true })
  t.strictSame(await client.result('b'), { content: [{ type: 'text', text: 'no such city' }], isError: true })
  t.same(
    told.filter(notice => notice.level === 'error'),
    []
  )
})

t.test('R54: invalid arguments are an error result that a model can mend, and the handler does not run', async t => {
  let ran = 0
  const run = () => {
    ran++
    return ''
  }
  const client = await clientOf(t, {
    tools: [
      {
        name: 'plain',
        inputSchema: {
          type: 'object',
          properties: { n: { type: 'integer' }, c: { enum: ['red', 'blue'] } },
          required: ['n'],
          additionalProperties: false
        },
        handler: run
      },
      { name: 'zod', inputSchema: z.object({ n: z.int(), deep: z.object({ a: z.string() }) }), handler: run }
    ]
  })
  const plain = await client.result('plain', { c: 'green', x: 1 })
  t.equal(plain.isError, true)
  t.equal(
    plain.content[0].text,
    'Invalid arguments for tool plain:\n' +
      "- must have required property 'n'\n" +
      '- must NOT have additional properties: "x"\n' +
      '- c: must be equal to one of the allowed values: "red","blue"'
  )
  const zod = await client.result('zod', { n: 1.5, deep: { a: 1 } })
  t.equal(zod.isError, true)
  t.match(zod.content[0].text, /^Invalid arguments for tool zod:\n- n: .*\n- deep\.a: /)
  t.equal(ran, 0)
})

t.test('R53, R54: the handler gets what a Standard Schema makes of the arguments', async t => {
  const tool = defineTool({
    name: 'a',
    inputSchema: z.object({
      n: z.int().default(3),
      s: z
        .string()
        .transform(text => text.length)
        .optional()
    }),
    handler: args => JSON.stringify(args)
  })
  const client = await clientOf(t, { tools: [{ name: 'b', handler: () => '' }, tool] })
  t.match(await client.result('a', { s: 'four' }), { content: [{ text: '{"n":3,"s":4}' }] })
})

t.test('R55: unknown tools and malformed params are protocol errors', async t => {
  const client = await clientOf(t, { tools: [{ name: 'a', handler: () => '' }] })
  t.match((await client.ask('tools/call', { name: 'b' })).error, { code: -32602, message: 'Unknown tool: b' })
  for (const params of [undefined, {}, { name: 1 }, { name: 'a', arguments: [] }, { name: 'a', arguments: 'x' }]) {
    t.match((await client.ask('tools/call', params)).error, { code: -32602 })
  }
  t.match((await client.ask('tools/call', { name: 'a', arguments: null })).result, { content: [] })
  t.match((await client.ask('tools/call', { name: 'toString' })).error, { code: -32602 })
  t.match((await client.ask('toString')).error, { code: -32601 })
})

t.test('R55: a ProtocolError is a JSON-RPC error; the method of a kind that is not there is -32601', async t => {
  const client = await clientOf(t, {
    tools: [
      {
        name: 'a',
        handler() {
          throw new ProtocolError(-32042, 'go there', { elicitations: [] })
        }
      },
      {
        name: 'odd',
        handler() {
          throw new ProtocolError(Number.NaN, 'odd', 1n)
        }
      }
    ]
  })
  t.strictSame((await client.ask('tools/call', { name: 'a' })).error, {
    code: -32042,
    message: 'go there',
    data: { elicitations: [] }
  })
  t.strictSame((await client.ask('tools/call', { name: 'odd' })).error, { code: -32603, message: 'odd' })
  for (const method of ['prompts/list', 'prompts/get', 'resources/list', 'resources/read', 'completion/complete']) {
    t.match((await client.ask(method)).error, { code: -32601 }, method)
  }
})

t.test('R58: a tool name that clients may not take is told to the author, and served', async t => {
  const told = notices(t)
  const client = await clientOf(t, { tools: [{ name: 'a b/c', handler: () => 'ran' }] })
  t.match(await client.result('a b/c'), { content: [{ text: 'ran' }] })
  t.equal(told.filter(notice => /name should be/.test(notice.text)).length, 1)
})

t.test('R61, R90-R93: content blocks of every type, known or not, go out as they are', async t => {
  const annotations = { audience: ['user' as const], priority: 0.5, lastModified: '2025-01-12T15:00:58Z' }
  const blocks = [
    { type: 'text', text: '', annotations, _meta: { 'a/b': 1 } },
    { ...image, annotations },
    { ...audio, annotations },
    {
      type: 'resource_link',
      uri: 'x://y',
      name: 'y',
      title: 'Y',
      size: 5e9,
      icons: [{ src: 'data:image/png;base64,AA==' }],
      annotations
    },
    { type: 'resource', resource: { uri: 'x://y', text: '', annotations: { priority: 0 } }, annotations },
    { type: 'resource', resource: { uri: 'x://y', mimeType: 'a/b', blob: 'AAAA' } },
    { type: 'x-future', z: null, list: [] }
  ]
  const client = await clientOf(t, returning(blocks))
  t.strictSame((await client.result('it')).content, blocks)
})

t.test('R61, R92: bytes become base64', async t => {
  const bytes = new Uint8Array([1, 2, 3])
  const blocks = [
    { type: 'image', data: bytes, mimeType: 'image/png' },
    { type: 'audio', data: Buffer.from(bytes), mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'x://y', blob: bytes } }
  ]
  const client = await clientOf(t, returning(blocks))
  t.strictSame((await client.result('it')).content, [
    { type: 'image', data: 'AQID', mimeType: 'image/png' },
    { type: 'audio', data: 'AQID', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'x://y', blob: 'AQID' } }
  ])
})

t.test('R90-R92: a block that is broken is an error result that names what is wrong', async t => {
  const broken: [unknown, RegExp][] = [
    [{ type: 'audio', data: 'no base64!', mimeType: 'audio/wav' }, /not base64/],
    [{ type: 'audio', data: 'AAAA', mimeType: '' }, /no mimeType/],
    [{ type: 'image', data: 7, mimeType: 'a/b' }, /not base64/],
    [{ type: 'text' }, /no text/],
    [{ type: 'resource', resource: {} }, /no uri/],
    [{ type: 'resource_link', uri: 'x://y' }, /needs a uri and a name/],
    [{ content: [{ text: 'x' }] }, /no type/],
    [{ content: [null] }, /no type/]
  ]
  for (const [value, problem] of broken) {
    const client = await clientOf(t, returning(value))
    t.match(await client.result('it'), { isError: true, content: [{ type: 'text', text: problem }] })
  }
})

t.test('R92: an embedded resource with both text and blob, or neither, is told to the author, and sent', async t => {
  const told = notices(t)
  const block = { type: 'resource', resource: { uri: 'x://y', text: 'a', blob: 'AAAA' } }
  const client = await clientOf(t, returning(block))
  t.strictSame((await client.result('it')).content, [block])
  t.equal(told.filter(notice => /either text or blob/.test(notice.text)).length, 1)
})

t.test('R54, R61: what else a tool may return', async t => {
  const values: [unknown, unknown][] = [
    ['text', [{ type: 'text', text: 'text' }]],
    ['', [{ type: 'text', text: '' }]],
    [undefined, []],
    [null, []],
    [[], []],
    [42, [{ type: 'text', text: '42' }]],
    [false, [{ type: 'text', text: 'false' }]],
    [{ a: 1 }, [{ type: 'text', text: '{"a":1}' }]],
    [[1, 2], [{ type: 'text', text: '[1,2]' }]],
    [
      ['a', { type: 'text', text: 'b' }],
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' }
      ]
    ],
    [{ content: ['a'], _meta: { 'x/y': 1 } }, [{ type: 'text', text: 'a' }]]
  ]
  for (const [value, content] of values) {
    const client = await clientOf(t, returning(value))
    const result = await client.result('it')
    t.strictSame(result.content, content)
    t.notOk(result.isError)
  }
  const client = await clientOf(t, returning({ content: ['a'], _meta: { 'x/y': 1 }, extra: 1 }))
  t.match(await client.result('it'), { _meta: { 'x/y': 1 }, extra: 1 })
})

t.test('R54: a result that JSON cannot say costs its own call only', async t => {
  const cycle: { self?: object } = {}
  cycle.self = cycle
  let deep: object = {}
  for (let i = 0; i < 2_000; i++) deep = { deep }
  const values = [
    { structuredContent: cycle },
    { content: [], structuredContent: cycle },
    { structuredContent: 1n },
    () => {},
    { structuredContent: deep }
  ]
  for (const value of values) {
    const client = await clientOf(t, returning(value))
    const [answer] = await client.tool('it')
    t.ok(answer?.result?.isError ?? answer?.error, String(value))
    t.same((await client.ask('ping')).result, {})
  }
})

t.test('R60: one tool that cannot be served is left out, and the others are served', async t => {
  const told = notices(t)
  const client = await clientOf(t, {
    tools: [
      { name: 'array', inputSchema: { type: 'array' }, handler: () => '' },
      {
        name: 'far',
        inputSchema: { type: 'object', properties: { a: { $ref: 'https://x.example/s' } } },
        handler: () => ''
      },
      {
        name: 'old',
        inputSchema: { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' },
        handler: () => ''
      },
      { name: 'good', handler: () => 'ran' },
      { name: 'empty', handler: undefined as never }
    ]
  })
  t.same(
    (await client.ask('tools/list')).result.tools.map((tool: { name: string }) => tool.name),
    ['good']
  )
  t.match(await client.result('good'), { content: [{ text: 'ran' }] })
  const reasons = told.map(notice => notice.text).filter(text => /left out/.test(text))
  t.equal(reasons.length, 4)
  const why = [/"array".*"type": "object"/, /"far".*x\.example/, /"old".*draft-04/, /"empty".*no handler/]
  for (const reason of why)
    t.ok(
      reasons.some(text => reason.test(text)),
      String(reason)
    )
})
