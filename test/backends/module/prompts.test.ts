import t from 'tap'
import { definePrompt, type PromptReturn } from '../../../src/handlers/define.ts'
import { image } from '../../fixtures/conformance/content.ts'
import { clientOf } from '../../helpers/module-link.ts'

t.test('R80, R81, R83, R94: prompts/list shows what the author set, and nothing else', async t => {
  const whole = {
    name: 'whole',
    title: 'Whole',
    description: 'All',
    icons: [{ src: 'https://x.example/i.png', theme: 'light' as const }],
    arguments: [{ name: 'a', title: 'A', description: 'One', required: true }, { name: 'b' }],
    _meta: { 'x/y': 1 }
  }
  const client = await clientOf(t, {
    prompts: [
      { ...whole, get: () => '' },
      { name: 'bare', title: '', arguments: [], icons: [], get: () => '' }
    ]
  })
  t.strictSame((await client.ask('prompts/list')).result, { prompts: [whole, { name: 'bare' }] })
})

t.test('R82, R93: what a prompt may give: text, messages, a whole result; blocks keep their annotations', async t => {
  const annotated = { ...image, annotations: { priority: 1 } }
  const given: [PromptReturn, unknown][] = [
    ['hi', { description: 'd', messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] }],
    [
      [{ role: 'assistant', content: annotated }],
      { description: 'd', messages: [{ role: 'assistant', content: annotated }] }
    ],
    [
      { description: 'other', messages: [{ role: 'user', content: 'hi' }], _meta: { a: 1 } },
      { description: 'other', messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], _meta: { a: 1 } }
    ]
  ]
  for (const [value, result] of given) {
    const client = await clientOf(t, { prompts: [{ name: 'p', description: 'd', get: () => value }] })
    t.strictSame((await client.ask('prompts/get', { name: 'p' })).result, result)
  }
})

t.test('R55: an unknown prompt, a missing argument and one that is no string are -32602', async t => {
  const prompt = definePrompt({
    name: 'p',
    arguments: [{ name: 'a', required: true }, { name: 'b' }],
    get: ({ a, b = 'none' }) => `${a} ${b}`
  })
  const client = await clientOf(t, { prompts: [prompt] })
  const get = (params?: unknown) => client.ask('prompts/get', params)
  t.match((await get({ name: 'p', arguments: { a: 'x' } })).result.messages[0].content, { text: 'x none' })
  t.match((await get({ name: 'q' })).error, { code: -32602, message: 'Unknown prompt: q' })
  t.match((await get({ name: 'p' })).error, { code: -32602, message: /"a"/ })
  t.match((await get({ name: 'p', arguments: { a: 1 } })).error, { code: -32602, message: /string/ })
  for (const params of [undefined, {}, { name: 'p', arguments: [] }])
    t.match((await get(params)).error, { code: -32602 })
})

t.test('a prompt that fails, or gives what is no content, is an error of the protocol without a stack', async t => {
  const client = await clientOf(t, {
    prompts: [
      {
        name: 'throws',
        get() {
          throw new Error('no ideas')
        }
      },
      { name: 'broken', get: () => [{ role: 'user', content: { type: 'text' } as never }] }
    ]
  })
  t.strictSame((await client.ask('prompts/get', { name: 'throws' })).error, { code: -32603, message: 'no ideas' })
  t.match((await client.ask('prompts/get', { name: 'broken' })).error, { code: -32603, message: /no text/ })
})
