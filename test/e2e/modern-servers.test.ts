/** Clients of 2025 use a server of the official SDK v2 that speaks 2026-07-28 alone, through the gateway. */
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { startModernHttp } from '../fixtures/modern/http.ts'
import { startGateway } from '../helpers/gateway.ts'
import { until } from '../helpers/until.ts'
import type { Answers, Connect, Incoming, Peer } from './clients/peer.ts'
import { connectV1 } from './clients/v1.ts'
import { connectV2Legacy } from './clients/v2.ts'

const stdioServer = fileURLToPath(new URL('../fixtures/modern/stdio.ts', import.meta.url))

const overHttp = async (t: Test): Promise<string> => {
  const server = await startModernHttp()
  t.teardown(server.stop)
  return (await startGateway(t, { backends: { modern: { kind: 'http', url: server.url } } })).url
}

const overStdio = async (t: Test): Promise<string> => {
  const modern = { kind: 'stdio', command: process.execPath, args: [stdioServer] }
  return (await startGateway(t, { backends: { modern } })).url
}

const textOf = (result: unknown): string => {
  const { content } = result as { content: { text?: string }[] }
  return content.map(({ text = '' }) => text).join('\n')
}

const jsonOf = (result: unknown): Record<string, unknown> => JSON.parse(textOf(result)) as Record<string, unknown>

const is = (method: string) => (message: Incoming) => message.method === method

const errorOf = (promise: Promise<unknown>): Promise<{ code?: unknown; message?: string }> =>
  promise.then(
    () => Promise.reject(new Error('it resolved, but had to reject')),
    (error: Error) => error as { code?: unknown; message?: string }
  )

const clients: Readonly<Record<string, Connect>> = { 'SDK v1': connectV1, 'SDK v2, legacy mode': connectV2Legacy }
const ways = { http: overHttp, stdio: overStdio }

for (const [client, connect] of Object.entries(clients)) {
  for (const [kind, way] of Object.entries(ways)) {
    t.test(`${client} uses a modern server over ${kind}`, async t => {
      const answers: Answers = {
        roots: [{ uri: 'file:///work', name: 'Work' }],
        sample: 'the model was here',
        elicitation: { action: 'accept', content: { name: 'Ada' } }
      }
      const peer = await connect({ url: await way(t) }, answers)
      t.teardown(() => peer.close().catch(() => {}))
      await plainFeatures(t, peer, kind)
      await questions(t, peer, answers)
      await changes(t, peer)
    })
  }
}

t.test('a route of several backends of both eras is one server to clients of both', async t => {
  const server = await startModernHttp()
  t.teardown(server.stop)
  const old = fileURLToPath(new URL('../fixtures/conformance/module.ts', import.meta.url))
  const { url } = await startGateway(t, {
    backends: { modern: { kind: 'http', url: server.url }, old: { kind: 'module', path: old } },
    routes: { '/mcp': { backends: ['modern', 'old'] } }
  })
  const answers: Answers = { roots: [], sample: 'x', elicitation: { action: 'accept', content: { name: 'Ada' } } }
  for (const connect of Object.values(clients)) {
    const peer = await connect({ url }, answers)
    const names = (await peer.listTools()).tools.map(({ name }) => name)
    t.ok(names.includes('echo') && names.includes('test_simple_text'))
    t.equal(textOf(await peer.callTool('echo', { message: 'x' })), 'Echo: x')
    t.match(textOf(await peer.callTool('test_simple_text')), /simple text/)
    // Both backends have one of that name.
    t.match(jsonOf(await peer.callTool('modern_greet')), { answer: { content: { name: 'Ada' } } })
    t.match(await peer.readResource('note://one'), { contents: [{ text: 'first' }] })
    t.equal(textOf(await peer.callTool('region', { region: 'eu' })), 'eu eu')
    await peer.subscribe('note://one')
    const from = peer.heard.all.length
    await peer.callTool('change')
    await peer.heard.first(is('notifications/resources/updated'), from)
    await peer.close()
  }
  const modern = new Client({ name: 'modern', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await modern.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.equal(textOf(await modern.callTool({ name: 'echo', arguments: { message: 'x' } })), 'Echo: x')
  t.match(textOf(await modern.callTool({ name: 'test_simple_text', arguments: {} })), /simple text/)
  await modern.close()
})

for (const [kind, way] of Object.entries(ways)) {
  t.test(`SDK v2 as it speaks 2026-07-28 uses a modern server over ${kind}`, async t => {
    const client = new Client(
      { name: 'modern', version: '1' },
      { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } }
    )
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }))
    await client.connect(new StreamableHTTPClientTransport(new URL(await way(t))))
    t.teardown(() => client.close())
    t.ok((await client.listTools()).tools.some(({ name }) => name === 'echo'))
    t.equal(textOf(await client.callTool({ name: 'echo', arguments: { message: 'x' } })), 'Echo: x')
    t.same((await client.callTool({ name: 'sum', arguments: { a: 1, b: 2 } })).structuredContent, { sum: 3 })
    t.match(jsonOf(await client.callTool({ name: 'who', arguments: {} })), {
      'io.modelcontextprotocol/clientInfo': { name: 'modern' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} }
    })
    const steps: number[] = []
    const options = { onprogress: ({ progress }: { progress: number }) => void steps.push(progress) }
    await client.callTool({ name: 'steps', arguments: { count: 2 } }, options)
    t.same(steps, [1, 2])
    t.match(await client.readResource({ uri: 'note://one' }), { contents: [{ text: 'first' }] })
    t.equal((await errorOf(client.readResource({ uri: 'other://none' }))).code, -32602)
    t.match(jsonOf(await client.callTool({ name: 'greet', arguments: {} })), {
      answer: { content: { name: 'Ada' } },
      state: 'greeting, "so far" ü'
    })
  })
}

async function plainFeatures(t: Test, peer: Peer, kind: string): Promise<void> {
  await t.test('the handshake is answered from discovery', async t => {
    t.match(peer.capabilities, { tools: {}, resources: {}, prompts: {}, logging: {}, completions: {} })
    t.equal(peer.instructions, 'Everything modern')
    await peer.ping()
  })

  await t.test('tools: lists, calls, structured content, errors', async t => {
    const { tools } = await peer.listTools()
    t.ok(tools.some(({ name }) => name === 'echo'))
    t.equal(textOf(await peer.callTool('echo', { message: 'grüße 🌍' })), 'Echo: grüße 🌍')
    const sum = (await peer.callTool('sum', { a: 1, b: 2 })) as Record<string, unknown>
    t.same(sum.structuredContent, { sum: 3 })
    t.equal(sum.resultType, undefined)
    t.match(await peer.callTool('fail'), { isError: true })
  })

  await t.test('requests say who asks', async t => {
    const envelope = jsonOf(await peer.callTool('who'))
    t.equal(envelope['io.modelcontextprotocol/protocolVersion'], '2026-07-28')
    t.match(envelope['io.modelcontextprotocol/clientInfo'], { name: /^e2e/ })
    const capabilities = envelope['io.modelcontextprotocol/clientCapabilities'] as Record<string, unknown>
    t.match(capabilities, { roots: {}, sampling: {}, elicitation: {} })
    t.same(capabilities.roots, {}, 'changes of roots are told to no modern server')
  })

  await t.test('resources, templates, prompts, completion', async t => {
    t.match(await peer.listResources(), { resources: [{ uri: 'note://one' }] })
    t.match(await peer.listResourceTemplates(), { resourceTemplates: [{ uriTemplate: 'note://{id}' }] })
    t.match(await peer.readResource('note://one'), { contents: [{ text: 'first' }] })
    // SDK v2 makes the newer code of the older one by itself.
    t.ok([-32002, -32602].includes(Number((await errorOf(peer.readResource('other://none'))).code)))
    t.match(await peer.listPrompts(), { prompts: [{ name: 'hello' }] })
    t.match(await peer.getPrompt('hello', { name: 'Ada' }), { messages: [{ content: { text: 'Hello Ada' } }] })
    const completion = await peer.complete({ type: 'ref/prompt', name: 'hello' }, { name: 'name', value: 'Al' })
    t.match(completion, { completion: { values: ['Alan'] } })
  })

  await t.test("progress and logs come before the result; the level is the session's", async t => {
    const seen: number[] = []
    const before = peer.heard.all.length
    const onprogress = ({ progress }: { progress: number }): void => void seen.push(progress)
    t.equal(textOf(await peer.callTool('steps', { count: 3 }, { onprogress })), 'all steps')
    t.same(seen, [1, 2, 3])
    const logs = (from: number): unknown[] =>
      peer.heard.all
        .slice(from)
        .filter(is('notifications/message'))
        .map(({ params }) => params?.data)
    t.same(logs(before), ['step 1', 'step 2', 'step 3'])
    await peer.setLevel('debug')
    const then = peer.heard.all.length
    await peer.callTool('steps', { count: 1 })
    t.same(logs(then), ['step 1', 'detail 1'])
    await peer.setLevel('error')
    const last = peer.heard.all.length
    await peer.callTool('steps', { count: 1 })
    t.same(logs(last), [])
  })

  await t.test('a cancelled call is cancelled upstream', async () => {
    const controller = new AbortController()
    const label = `${kind} ${Math.random()}`
    const options = { signal: controller.signal, onprogress: () => controller.abort('enough') }
    await errorOf(peer.callTool('wait', { label }, options))
    await until('the cancel', async () => textOf(await peer.callTool('cancelled')).includes(label))
  })

  await t.test('arguments that are mirrored in headers', async t => {
    const words = textOf(await peer.callTool('region', { region: 'zürich' }))
    t.equal(words, kind === 'http' ? 'zürich =?base64?esO8cmljaA==?=' : 'zürich no header')
  })
}

async function questions(t: Test, peer: Peer, answers: Answers): Promise<void> {
  await t.test('a question becomes elicitation/create, and its answer the next round with the exact state', async t => {
    const from = peer.heard.all.length
    const state = 'greeting, "so far" ü'
    t.same(jsonOf(await peer.callTool('greet')), { answer: { action: 'accept', content: { name: 'Ada' } }, state })
    t.match(await peer.heard.first(is('elicitation/create'), from), { params: { message: 'Your name?' } })
    answers.elicitation = { action: 'decline' }
    t.same(jsonOf(await peer.callTool('greet')).answer, { action: 'decline' })
    answers.elicitation = { action: 'cancel' }
    t.same(jsonOf(await peer.callTool('greet')).answer, { action: 'cancel' })
    answers.elicitation = { action: 'accept', content: { name: 'Ada' } }
  })

  await t.test('several questions at once: a form, sampling, roots', async t => {
    t.match(jsonOf(await peer.callTool('survey')), {
      who: { action: 'accept', content: { name: 'Ada' } },
      model: { content: { text: 'the model was here' } },
      roots: { roots: [{ uri: 'file:///work' }] }
    })
  })

  await t.test('several rounds, with progress that rises; a round that asks for patience', async t => {
    const seen: number[] = []
    const onprogress = ({ progress }: { progress: number }): void => void seen.push(progress)
    t.equal(textOf(await peer.callTool('rounds', { rounds: 4 }, { onprogress })), '4 rounds')
    t.same(seen, [1, 2, 3, 4, 5])
    t.equal(textOf(await peer.callTool('patience')), 'done')
  })

  await t.test('a URL elicitation has an id for clients of 2025', async t => {
    const from = peer.heard.all.length
    t.equal(jsonOf(await peer.callTool('visit')).action, 'accept')
    const { params } = await peer.heard.first(is('elicitation/create'), from)
    t.match(params, { mode: 'url', url: 'https://example.com/login', elicitationId: /^.{10,}$/ })
  })

  await t.test('rounds without an end are ended', async t => {
    t.match((await errorOf(peer.callTool('rounds', { rounds: 100 }))).message, /10 rounds/)
  })
}

async function changes(t: Test, peer: Peer): Promise<void> {
  await t.test('changes of lists and of subscribed resources reach the client', async t => {
    t.match(peer.capabilities, { tools: { listChanged: true }, resources: { subscribe: true } })
    await peer.subscribe('note://one')
    const from = peer.heard.all.length
    await peer.callTool('change')
    await peer.heard.first(is('notifications/tools/list_changed'), from)
    t.same((await peer.heard.first(is('notifications/resources/updated'), from)).params, { uri: 'note://one' })
    await peer.unsubscribe('note://one')
    const then = peer.heard.all.length
    await peer.callTool('change')
    await peer.heard.first(is('notifications/tools/list_changed'), then)
    t.same(
      peer.heard.all.filter(is('notifications/resources/updated')).map(({ params }) => params?.uri),
      ['note://one'],
      'of one resource, while it was subscribed'
    )
  })
}
