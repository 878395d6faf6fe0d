/** What is inferred from schemas. Checked by the compiler: a line that must not compile says so. */
import t from 'tap'
import * as z from 'zod'
import { defineHandler, definePrompt, defineTool, type ToolAnnotations } from '../../src/handlers/define.ts'

const same = <A, B>(_: [A] extends [B] ? ([B] extends [A] ? true : false) : false): void => {}

t.test('R156: arguments are typed by a zod schema, its defaults filled in', async t => {
  const tool = defineTool({
    name: 'a',
    inputSchema: z.object({ a: z.string(), n: z.int().default(1), o: z.boolean().optional() }),
    handler(args) {
      same<typeof args, { a: string; n: number; o?: boolean | undefined }>(true)
      // @ts-expect-error: it is a string
      const _: number = args.a
      return args.a
    }
  })
  t.equal(tool.name, 'a')
})

t.test('R156: arguments are typed by plain JSON Schema', async t => {
  defineTool({
    name: 'a',
    inputSchema: {
      type: 'object',
      properties: {
        s: { type: 'string' },
        n: { type: 'integer' },
        b: { type: 'boolean' },
        e: { enum: ['x', 'y'] },
        c: { const: 7 },
        l: { type: 'array', items: { type: 'number' } },
        any: {},
        deep: { type: 'object', properties: { z: { type: 'null' } }, required: ['z'] }
      },
      required: ['s', 'l']
    },
    handler(args) {
      same<typeof args.s, string>(true)
      same<typeof args.n, number | undefined>(true)
      same<typeof args.b, boolean | undefined>(true)
      same<typeof args.e, 'x' | 'y' | undefined>(true)
      same<typeof args.c, 7 | undefined>(true)
      same<typeof args.l, number[]>(true)
      same<typeof args.any, unknown>(true)
      same<typeof args.deep, { z: null } | undefined>(true)
      // @ts-expect-error: there is none
      args.other
      return ''
    }
  })
  t.pass('it compiles')
})

t.test('R156: without a schema, or with one that is not known before, arguments are a record', async t => {
  const schema: { type: string; [keyword: string]: unknown } = { type: 'object' }
  defineTool({
    name: 'a',
    handler(args) {
      same<typeof args, Record<string, unknown>>(true)
      return ''
    }
  })
  defineTool({
    name: 'a',
    inputSchema: schema,
    handler(args) {
      same<typeof args, Record<string, unknown>>(true)
      return ''
    }
  })
  t.pass('it compiles')
})

t.test('R156: an answer is typed by its form, and only an accepted one has content', async t => {
  defineTool({
    name: 'a',
    async handler(_args, { elicit }) {
      const answer = await elicit('?', z.object({ a: z.string() }))
      if (answer.action === 'accept') same<typeof answer.content, { a: string }>(true)
      else same<typeof answer.content, undefined>(true)
      return ''
    }
  })
  t.pass('it compiles')
})

t.test('R156: arguments of a prompt are typed by their declaration', async t => {
  definePrompt({
    name: 'a',
    arguments: [{ name: 'a', required: true }, { name: 'b' }],
    get(args) {
      same<typeof args.a, string>(true)
      same<typeof args.b, string | undefined>(true)
      // @ts-expect-error: there is none
      args.c
      return ''
    }
  })
  t.pass('it compiles')
})

t.test('R156: tools of all kinds go into one handler, written there or before', async t => {
  const annotations: ToolAnnotations = { readOnlyHint: true }
  const handler = defineHandler({
    name: 'h',
    tools: [
      defineTool({ name: 'a', inputSchema: z.object({ a: z.string() }), handler: ({ a }) => a }),
      defineTool({ name: 'b', annotations, handler: () => [{ type: 'text', text: 'b' }] }),
      { name: 'c', inputSchema: { type: 'object' }, handler: (_args, { progress }) => void progress(1) }
    ],
    prompts: [definePrompt({ name: 'p', arguments: [{ name: 'a', required: true }], get: ({ a }) => a })]
  })
  t.same([...handler.tools.keys()], ['a', 'b', 'c'])
})
