import t, { type Test } from 'tap'
import { type Context, defineTool } from '../../../src/handlers/define.ts'
import { type TestOptions, testHandler } from '../../../src/testing.ts'
import { until } from '../../helpers/until.ts'

/** What a tool says that asks with these options, and what the client was asked. */
async function asked(t: Test, ask: (context: Context) => Promise<string | undefined>, options: TestOptions) {
  const tool = defineTool({
    name: 'ask',
    handler: async (_args, context) => ({ content: [(await ask(context)) ?? 'nothing'] })
  })
  const client = await testHandler(tool, options)
  t.teardown(() => client.close())
  const { content, isError } = await client.callTool('ask')
  return { text: (content[0] as { text: string }).text, isError, params: client.asked[0]?.params }
}

const saying = (answer: string): TestOptions => ({
  answers: { elicit: { action: 'accept', content: { answer } } }
})

t.test('R110d: elicitText asks for one text, which is required', async t => {
  const { text, params } = await asked(t, c => c.elicitText('Which?', { title: 'City', maxLength: 9 }), saying('Oslo'))
  t.equal(text, 'Oslo')
  t.strictSame(params, {
    mode: 'form',
    message: 'Which?',
    requestedSchema: {
      type: 'object',
      properties: { answer: { title: 'City', maxLength: 9, type: 'string' } },
      required: ['answer']
    }
  })
})

t.test('R110d, R110f: who declines or cancels says nothing', async t => {
  for (const elicit of ['decline', 'cancel'] as const) {
    const { text } = await asked(t, c => c.elicitText('Which?'), { answers: { elicit } })
    t.equal(text, 'nothing', elicit)
  }
})

t.test('R110d, R110e: elicitChoice asks for one of a list, or of values with titles', async t => {
  const plain = await asked(t, c => c.elicitChoice('Size?', ['s', 'l']), saying('l'))
  t.equal(plain.text, 'l')
  t.strictSame(plain.params.requestedSchema.properties.answer, { type: 'string', enum: ['s', 'l'] })
  const titled = { s: 'Small', l: 'Large' }
  const { params } = await asked(t, c => c.elicitChoice('Size?', titled), saying('s'))
  t.strictSame(params.requestedSchema.properties.answer, {
    type: 'string',
    oneOf: [
      { const: 's', title: 'Small' },
      { const: 'l', title: 'Large' }
    ]
  })
  const older = await asked(t, c => c.elicitChoice('Size?', titled), { ...saying('s'), version: '2025-06-18' })
  t.match(older.params.requestedSchema.properties.answer, { enum: ['s', 'l'], enumNames: ['Small', 'Large'] })
})

t.test('R110f: an answer that was no choice is an error, as is a client that cannot ask', async t => {
  const wrong = await asked(t, c => c.elicitChoice('Size?', ['s', 'l']), saying('xl'))
  t.match(wrong, { isError: true, text: /answer is not what was asked/ })
  const unable = await asked(t, c => c.elicitText('Which?'), {})
  t.match(unable, { isError: true, text: 'Client does not support elicitation. Cannot request user input.' })
})

t.test('R111: a call is told when roots change, as long as it runs; a listener that throws harms nobody', async t => {
  const roots = [{ uri: 'file:///a' }]
  let told = 0
  const waiting = Promise.withResolvers<void>()
  const tool = defineTool({
    name: 'watch',
    async handler(_args, { roots, onRootsChanged }) {
      const changed = Promise.withResolvers<void>()
      onRootsChanged(() => {
        throw new Error('on purpose')
      })
      onRootsChanged(() => {
        told++
        changed.resolve()
      })
      waiting.resolve()
      await changed.promise
      return (await roots()).map(root => root.uri).join()
    }
  })
  await using client = await testHandler(tool, { answers: { roots: () => roots } })
  const call = client.callTool('watch')
  await waiting.promise
  roots.push({ uri: 'file:///b' })
  await client.notify('notifications/roots/list_changed')
  t.match(await call, { content: [{ text: 'file:///a,file:///b' }] })
  t.match(client.notices, [{ level: 'error', text: /listener for roots/, error: { message: 'on purpose' } }])
  await client.notify('notifications/roots/list_changed')
  await until('the notice', () => client.notices.length === 1)
  t.equal(told, 1)
})
