import t from 'tap'
import * as z from 'zod'
import type { Context, Schema } from '../../../src/handlers/define.ts'
import { type ClientOptions, clientOf, notices } from '../../helpers/module-link.ts'

const sentence = 'Client does not support elicitation. Cannot request user input.'
const form = { type: 'object', properties: { name: { type: 'string' } } } as const

/** A client of one tool that asks by this schema and tells the answer. */
const asking = (t: Parameters<typeof clientOf>[0], schema: Schema, options: ClientOptions, strict = false) =>
  clientOf(
    t,
    {
      tools: [
        {
          name: 'it',
          handler: async (_args: unknown, { elicit }: Context) =>
            JSON.stringify(await elicit('Who?', schema, { strict }))
        }
      ]
    },
    options
  )

const accepting = (content: unknown): ClientOptions => ({
  capabilities: { elicitation: {} },
  answer: () => ({ result: { action: 'accept', content } })
})

t.test('R110a, R110f: accept, decline and cancel reach the handler', async t => {
  for (const result of [{ action: 'accept', content: { name: 'Ada' } }, { action: 'decline' }, { action: 'cancel' }]) {
    const client = await asking(t, form, { capabilities: { elicitation: {} }, answer: () => ({ result }) })
    t.equal((await client.result('it')).content[0].text, JSON.stringify(result))
  }
  const odd = await asking(t, form, {
    capabilities: { elicitation: {} },
    answer: () => ({ result: { action: 'maybe' } })
  })
  t.equal((await odd.result('it')).isError, true)
})

t.test('R110b: a client that cannot ask is told of with the exact sentence, before anything is sent', async t => {
  const unable: ClientOptions[] = [
    {},
    { capabilities: { elicitation: { url: {} } } },
    { capabilities: { elicitation: {} }, version: '2025-03-26' },
    { capabilities: { elicitation: null as never } }
  ]
  for (const options of unable) {
    const client = await asking(t, form, options)
    t.strictSame((await client.tool('it'))[0]?.result, { content: [{ type: 'text', text: sentence }], isError: true })
  }
  for (const elicitation of [{}, { form: {} }, { form: {}, url: {} }]) {
    const client = await asking(t, form, { ...accepting({ name: 'Ada' }), capabilities: { elicitation } })
    t.equal((await client.tool('it'))[0]?.method, 'elicitation/create')
  }
})

t.test('R110c: what is no flat form is refused before anything is sent', async t => {
  const schemas: Schema[] = [
    { type: 'string' },
    { type: 'object' },
    { type: 'object', properties: { a: { type: 'object', properties: {} } } },
    { type: 'object', properties: { a: { $ref: '#/x' } } },
    { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } },
    { type: 'object', properties: { a: { type: 'array', items: { type: 'object' } } } },
    { type: 'object', properties: { a: { type: 'null' } } },
    { type: 'object', properties: { a: true } },
    { type: 'object', properties: { a: { anyOf: [{ type: 'string' }, { type: 'number' }] } } },
    { type: 'object', properties: { a: { type: 'string', oneOf: [{ const: 1, title: 'one' }] } } },
    z.object({ a: z.object({ b: z.string() }) })
  ]
  for (const schema of schemas) {
    const client = await asking(t, schema, accepting({}))
    const said = await client.tool('it')
    t.equal(said.length, 1, JSON.stringify(schema))
    t.equal(said[0]?.result.isError, true)
  }
})

t.test('R110d: what is sent, by version of the client: mode only from 2025-11-25 on, no empty required', async t => {
  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: [] }
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
  const now = await asking(t, schema, accepting({}))
  t.strictSame((await now.tool('it'))[0]?.params, { mode: 'form', message: 'Who?', requestedSchema })
  const before = await asking(t, schema, { ...accepting({}), version: '2025-06-18' })
  t.strictSame((await before.tool('it'))[0]?.params, { message: 'Who?', requestedSchema })
})

const fields = {
  text: { type: 'string', title: 'T', minLength: 1, maxLength: 5, pattern: '^a', format: 'email', default: 'a@b.c' },
  number: { type: 'number', minimum: 0.5, maximum: 9, default: 1 },
  whole: { type: 'integer', default: 0 },
  yes: { type: 'boolean', default: false },
  one: { type: 'string', enum: ['a', 'b'], default: 'a' },
  old: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] }
}
const titled = [
  { const: 'a', title: 'A' },
  { const: 'b', title: 'B' }
]

t.test('R110e: every kind of field goes out as it is to a client of 2025-11-25', async t => {
  const properties = {
    ...fields,
    titled: { type: 'string', oneOf: titled },
    many: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, default: ['a'] },
    manyTitled: { type: 'array', items: { anyOf: titled } }
  }
  const client = await asking(t, { type: 'object', properties }, accepting({}))
  t.strictSame((await client.tool('it'))[0]?.params.requestedSchema.properties, properties)
})

t.test('R110e: clients of 2025-06-18 get titled choices as enumNames, and no choice of several', async t => {
  const old = { ...accepting({}), version: '2025-06-18' }
  const client = await asking(
    t,
    { type: 'object', properties: { ...fields, titled: { type: 'string', title: 'X', oneOf: titled } } },
    old
  )
  t.strictSame((await client.tool('it'))[0]?.params.requestedSchema.properties, {
    ...fields,
    titled: { type: 'string', title: 'X', enum: ['a', 'b'], enumNames: ['A', 'B'] }
  })
  const many = { type: 'array', items: { type: 'string', enum: ['a'] } }
  const refused = await asking(t, { type: 'object', properties: { many } }, old)
  t.match(await refused.tool('it'), [{ result: { isError: true, content: [{ text: /this client cannot/ }] } }])
})

const wrong: [Schema, unknown][] = [
  [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, {}],
  [{ type: 'object', properties: { a: { type: 'string' } } }, { a: 1 }],
  [{ type: 'object', properties: { a: { type: 'boolean' } } }, { a: 'x' }],
  [{ type: 'object', properties: { a: { type: 'integer', maximum: 3 } } }, { a: 4 }],
  [{ type: 'object', properties: { a: { type: 'integer' } } }, { a: 1.5 }],
  [{ type: 'object', properties: { a: { type: 'string', enum: ['x'] } } }, { a: 'y' }],
  [{ type: 'object', properties: { a: { type: 'string', oneOf: titled } } }, { a: 'y' }],
  [{ type: 'object', properties: { a: { type: 'array', items: { anyOf: titled } } } }, { a: ['y'] }],
  [{ type: 'object', properties: { a: { type: 'array', items: { type: 'string', enum: ['x'] } } } }, { a: 'x' }],
  [form, 'text'],
  [z.object({ a: z.email() }), { a: 'x' }]
]

t.test('R110f: an answer unlike the form is told to the operator and passed, or refused with strict', async t => {
  const told = notices(t)
  for (const [schema, content] of wrong) {
    const client = await asking(t, schema, accepting(content))
    t.strictSame(JSON.parse((await client.result('it')).content[0].text), { action: 'accept', content })
    t.match(told.pop(), { level: 'warn', text: /unlike the form/ }, JSON.stringify(content))
    const strict = await asking(t, schema, accepting(content), true)
    t.match(await strict.result('it'), { isError: true, content: [{ text: /unlike the form/ }] })
    told.length = 0
  }
})

t.test('R110f: an answer like the form is told nobody; defaults of a Standard Schema are filled in', async t => {
  const told = notices(t)
  const properties = {
    s: { type: 'string' },
    n: { type: 'number', minimum: 0, maximum: 2 },
    b: { type: 'boolean' },
    o: { type: 'string', oneOf: titled },
    m: { type: 'array', items: { type: 'string', enum: ['x'] } }
  }
  const content = { s: 'a', n: 1.5, b: false, o: 'a', m: ['x'] }
  const plain = await asking(t, { type: 'object', properties, required: ['s'] }, accepting(content), true)
  t.match(JSON.parse((await plain.result('it')).content[0].text), { content })
  const zod = await asking(t, z.object({ a: z.string(), n: z.int().default(3) }), accepting({ a: 'x' }), true)
  t.match(JSON.parse((await zod.result('it')).content[0].text), { content: { a: 'x', n: 3 } })
  t.same(
    told.filter(notice => notice.level === 'warn'),
    []
  )
})

t.test('R110g: a form that asks for what looks like a secret is told to the author once, and sent', async t => {
  for (const name of ['password', 'api_key', 'apiKey', 'access_token', 'clientSecret']) {
    const told = notices(t)
    const client = await asking(t, { type: 'object', properties: { [name]: { type: 'string' } } }, accepting({}))
    t.equal((await client.tool('it'))[0]?.method, 'elicitation/create')
    await client.tool('it')
    t.equal(told.filter(notice => /looks like a secret/.test(notice.text)).length, 1, name)
  }
})

t.test('R110h: a user may take as long as they like: no timer runs while they do', async t => {
  const timers = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
  const before = timers()
  const client = await asking(t, form, { capabilities: { elicitation: {} } })
  const exchange = client.start('tools/call', { name: 'it' })
  t.equal((await exchange.next()).value?.method, 'elicitation/create')
  t.equal(timers(), before)
  exchange.cancel()
})

const askingForUrl = (t: Parameters<typeof clientOf>[0], url: string, options: ClientOptions) =>
  clientOf(
    t,
    {
      tools: [
        {
          name: 'it',
          async handler(_args: unknown, { elicitUrl }: Context) {
            const { action, done } = await elicitUrl('Open it', url)
            if (action === 'accept') done()
            return action
          }
        }
      ]
    },
    options
  )

t.test('R110i: an address is opened, and its end told to this client only', async t => {
  const client = await askingForUrl(t, 'https://x.example/a', {
    capabilities: { elicitation: { url: {} } },
    answer: () => ({ result: { action: 'accept' } })
  })
  const said = await client.tool('it')
  const { elicitationId, ...params } = said[0]?.params ?? {}
  t.strictSame(params, { mode: 'url', message: 'Open it', url: 'https://x.example/a' })
  t.match(elicitationId, /^[0-9a-f-]{36}$/)
  t.equal(said.at(-1)?.result.content[0].text, 'accept')
  t.match(client.received, [{ method: 'notifications/elicitation/complete', params: { elicitationId } }])
})

t.test('R110i: an address is not asked of clients that cannot, nor is what is no address', async t => {
  for (const options of [
    { capabilities: { elicitation: {} } },
    { capabilities: { elicitation: { url: {} } }, version: '2025-06-18' }
  ]) {
    const client = await askingForUrl(t, 'https://x.example/a', options)
    t.strictSame(await client.result('it'), { content: [{ type: 'text', text: sentence }], isError: true })
  }
  const client = await askingForUrl(t, 'nowhere', { capabilities: { elicitation: { url: {} } } })
  t.match(await client.tool('it'), [{ result: { isError: true, content: [{ text: /no URL/ }] } }])
})
