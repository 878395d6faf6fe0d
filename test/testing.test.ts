import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import * as z from 'zod'
import {
  ClientError,
  defineHandler,
  definePrompt,
  defineResource,
  defineTool,
  ProtocolError
} from '../src/handlers/define.ts'
import { testHandler } from '../src/testing.ts'
import { until } from './helpers/until.ts'

const ask = defineTool({
  name: 'ask',
  async handler(_args, { elicit, sample, roots }) {
    const answer = await elicit('Who?', z.object({ name: z.string() }))
    if (answer.action !== 'accept') return answer.action
    const poem = await sample({
      messages: [{ role: 'user', content: { type: 'text', text: answer.content.name } }],
      maxTokens: 10
    })
    const [root] = await roots()
    return [poem.content as { type: 'text'; text: string }, { type: 'text', text: root?.uri ?? 'none' }]
  }
})

t.test('a tool is called with a scripted client in a few lines, and everything it said is there', async t => {
  const count = defineTool({
    name: 'count',
    inputSchema: z.object({ to: z.int() }),
    async handler({ to }, { progress, log, broadcast }) {
      for (let step = 1; step <= to; step++) progress(step, to)
      log.info({ to })
      broadcast('notifications/x', { a: 1 })
      return { content: ['done'], structuredContent: { to } }
    }
  })
  const client = await testHandler(count)
  const result = await client.callTool('count', { to: 2 })
  t.same(result, { content: [{ type: 'text', text: 'done' }], structuredContent: { to: 2 } })
  t.same(client.progress, [
    { progress: 1, total: 2 },
    { progress: 2, total: 2 }
  ])
  t.same(client.logs, [{ level: 'info', logger: 'count', data: { to: 2 } }])
  t.same(client.notifications, [{ method: 'notifications/x', params: { a: 1 } }])
  await client.close()
  await t.rejects(client.callTool('count', { to: 1 }), { code: 'backend_unavailable' }, 'closed is closed')
})

t.test('the client answers by its script, with values or functions, and can what it has an answer for', async t => {
  await using client = await testHandler(ask, {
    answers: {
      elicit: ({ message, requestedSchema }) => ({
        action: 'accept',
        content: { name: `${message} ${Object.keys(requestedSchema.properties)}` }
      }),
      sample: 'a poem',
      roots: [{ uri: 'file:///a' }]
    }
  })
  t.match(await client.callTool('ask'), { content: [{ text: 'a poem' }, { text: 'file:///a' }] })
  t.same(
    client.asked.map(({ method }) => method),
    ['elicitation/create', 'sampling/createMessage', 'roots/list']
  )
  t.equal(client.asked[1]?.params.messages[0].content.text, 'Who? name')
})

t.test('a modern client says with each request who it is, is asked under keys, and brings answers', async t => {
  const form = z.object({ name: z.string() })
  const tool = defineTool({
    name: 'greet',
    async handler(_args, { elicit, sample, client }) {
      const { content } = await elicit('Who?', form, { key: 'who' })
      const poem = await sample({ messages: [], maxTokens: 10 })
      return `${client.era} ${client.version} ${content?.name} ${(poem.content as { text: string }).text}`
    }
  })
  const answers = { elicit: { action: 'accept', content: { name: 'Ada' } }, sample: 'a poem' } as const
  await using client = await testHandler(tool, { version: '2026-07-28', answers })
  const text = 'modern 2026-07-28 Ada a poem'
  t.match(await client.callTool('greet'), { content: [{ text }] })
  t.same(
    client.asked.map(({ key }) => key),
    ['who', 'sample-1']
  )
  const inputResponses = { who: { action: 'accept', content: { name: 'Eve' } } }
  t.match(await client.request('tools/call', { name: 'greet', inputResponses }), { content: [{ text: /Eve/ }] })
  t.same(
    client.asked.map(({ key }) => key),
    ['who', 'sample-1', 'sample-1']
  )
  await using unable = await testHandler(tool, { version: '2026-07-28' })
  await t.rejects(unable.callTool('greet'), {
    code: -32021,
    data: { requiredCapabilities: { elicitation: { form: {} } } }
  })
  await using older = await testHandler(tool, { answers })
  t.match(await older.callTool('greet'), { content: [{ text: 'legacy 2025-11-25 Ada a poem' }] })
  t.notOk(older.asked.some(asked => 'key' in asked))
})

t.test('a short answer is enough to decline; without an answer the client cannot', async t => {
  await using declining = await testHandler(ask, { answers: { elicit: 'decline' } })
  t.match(await declining.callTool('ask'), { content: [{ text: 'decline' }] })
  await using unable = await testHandler(ask)
  t.match(await unable.callTool('ask'), {
    isError: true,
    content: [{ text: 'Client does not support elicitation. Cannot request user input.' }]
  })
  await using untrue = await testHandler(ask, { capabilities: { elicitation: {} } })
  t.match(await untrue.callTool('ask'), { content: [{ text: 'The test has no answer to elicitation/create.' }] })
})

t.test('what a script throws is the error of the client', async t => {
  const tool = defineTool({
    name: 'ask',
    async handler(_args, { sample }) {
      const error = await sample({ messages: [], maxTokens: 1 }).catch((error: unknown) => error)
      return `${(error as ClientError).code} ${(error as ClientError).message}`
    }
  })
  const thrown = async (error: Error): Promise<unknown> => {
    await using client = await testHandler(tool, {
      answers: {
        sample() {
          throw error
        }
      }
    })
    return (await client.callTool('ask')).content[0]
  }
  t.match(await thrown(new ClientError(-1, 'The user said no.')), { text: '-1 The user said no.' })
  t.match(await thrown(new Error('broken')), { text: '-32603 Error: broken' })
})

t.test('a call is cancelled by its signal', async t => {
  let aborted: unknown
  let started = 0
  const tool = defineTool({
    name: 'wait',
    handler: (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        started++
        signal.addEventListener('abort', () => {
          aborted = signal.reason
          reject(signal.reason)
        })
      })
  })
  await using client = await testHandler(tool)
  const controller = new AbortController()
  const call = client.callTool('wait', {}, { signal: controller.signal })
  await until('the handler runs', () => started === 1)
  controller.abort(new Error('enough'))
  await t.rejects(call, { message: 'enough' })
  t.match(aborted, { name: 'AbortError', message: 'Error: enough' })
  await t.rejects(client.callTool('wait', {}, { signal: controller.signal }), { message: 'enough' })
  const early = new AbortController()
  const cancelled = client.callTool('wait', {}, { signal: early.signal })
  early.abort(new Error('at once'))
  await t.rejects(cancelled, { message: 'at once' })
  t.equal(started, 1, 'what was cancelled before it ran does not run')
})

t.test('resources, prompts, any request, and what the operator is told', async t => {
  const handler = defineHandler({
    name: 'all',
    version: '3.0.0',
    instructions: 'Read on.',
    tools: [
      defineTool({
        name: 'fail',
        handler() {
          throw new Error('no luck')
        }
      })
    ],
    resources: [defineResource({ uri: 'x://1', name: 'one', read: () => 'text' })],
    prompts: [definePrompt({ name: 'p', arguments: [{ name: 'a', required: true }], get: ({ a }) => `say ${a}` })]
  })
  await using client = await testHandler(handler, { version: '2025-06-18', level: 'error', principal: 'me' })
  t.match(client.server, { protocolVersion: '2025-06-18', serverInfo: { version: '3.0.0' }, instructions: 'Read on.' })
  t.same(await client.readResource('x://1'), [{ uri: 'x://1', text: 'text' }])
  t.match(await client.getPrompt('p', { a: 'b' }), { messages: [{ role: 'user', content: { text: 'say b' } }] })
  t.match(await client.request('tools/list'), { tools: [{ name: 'fail' }] })
  await t.rejects(client.readResource('x://2'), { name: 'ProtocolError', code: -32002, data: { uri: 'x://2' } })
  t.match(await client.callTool('fail'), { isError: true, content: [{ text: 'no luck' }] })
  t.match(client.notices, [{ text: 'the tool fail failed', error: Error }])
  handler.addTool({ name: 'new', handler: () => '' })
  await new Promise(resolve => setImmediate(resolve))
  t.same(client.notifications, [{ method: 'notifications/tools/list_changed', params: undefined }])
})

t.test('a folder is served as the gateway would, and what it cannot serve fails the test', async t => {
  const fixtures = new URL('./fixtures/handlers/', import.meta.url)
  await using client = await testHandler(new URL('folder', fixtures))
  t.match(await client.callTool('from_class'), { content: [{ text: 'class' }] })
  await t.rejects(testHandler(new URL('broken', fixtures)), { message: /nothing\.ts cannot be loaded/ })
  await t.rejects(testHandler({ neither: true }), { message: 'this is no handler, tool, resource or prompt' })
  await t.rejects(testHandler({ name: 'bad', inputSchema: { type: 'string' }, handler: () => '' }), {
    message: /root\b/
  })
})

t.test('the package exports it', async t => {
  const { exports } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'))
  for (const [name, file] of [
    ['.', 'index'],
    ['./testing', 'testing']
  ] as const) {
    t.same(exports[name], { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` })
    t.ok(existsSync(new URL(`../src/${file}.ts`, import.meta.url)))
  }
})

const accept = (content: Record<string, string>) => ({ action: 'accept', content }) as const

t.test('callTask runs a task of either era to its result, and answers what it asks', async t => {
  const job = defineTool({
    name: 'job',
    execution: { taskSupport: 'required' },
    inputSchema: z.object({ fail: z.boolean().default(false) }),
    async handler({ fail }, { elicitText, signal }) {
      if (fail) throw new ProtocolError(-32099, 'no')
      const name = await elicitText('Who?', {}, { key: 'who' })
      if (name === 'nobody') await new Promise(resolve => signal.addEventListener('abort', resolve))
      return `for ${name}`
    }
  })
  for (const version of ['2025-11-25', '2026-07-28']) {
    await using client = await testHandler(job, { version, answers: { elicit: accept({ answer: 'Ada' }) } })
    t.match(await client.callTask('job', {}), { content: [{ text: 'for Ada' }] })
    t.match(client.asked, [{ method: 'elicitation/create' }])
    await t.rejects(client.callTask('job', { fail: true }), { code: -32099, message: 'no' })
  }
  await using client = await testHandler(job, {
    version: '2026-07-28',
    answers: { elicit: accept({ answer: 'nobody' }) }
  })
  const gone = new AbortController()
  const call = client.callTask('job', {}, { signal: gone.signal })
  await until('it is asked', () => client.asked.length > 0)
  t.equal(client.asked[0]?.key, 'who')
  gone.abort(new Error('gone'))
  await t.rejects(call, { message: 'gone' })
  await using plain = await testHandler(ask, {
    version: '2026-07-28',
    answers: { elicit: accept({ name: 'x' }), sample: 'y' }
  })
  t.match(await plain.callTask('ask'), { content: [{ text: 'y' }, {}] }, 'what is no task is its result at once')
})
