/** Modern clients over backends of older revisions that ask for input: questions come back as `input_required`, answers with the retry. */
import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { lastOf, logLevel, ModernClient } from '../helpers/modern.ts'
import { children } from '../helpers/processes.ts'
import { contractTools, Scripted, type Turn } from '../helpers/scripted.ts'
import { SseUpstream } from '../helpers/sse-upstream.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { until } from '../helpers/until.ts'

type Test = Parameters<typeof startGateway>[0]

const capabilities = { elicitation: {}, sampling: {}, roots: { listChanged: true } }

const ways: Readonly<Record<string, (t: Test, server: Scripted) => Promise<Record<string, unknown>>>> = {
  async http(t, server) {
    const upstream = await HttpUpstream.start(server)
    t.teardown(() => upstream.close())
    return { kind: 'http', url: upstream.url }
  },
  async pooled(t, server) {
    const upstream = await HttpUpstream.start(server)
    t.teardown(() => upstream.close())
    return { kind: 'http', url: upstream.url, pool: 'principal' }
  },
  async sse(t, server) {
    const upstream = await SseUpstream.start(server)
    t.teardown(() => upstream.close())
    return { kind: 'sse', url: upstream.url }
  },
  async stdio(t, server) {
    const { command, args, close } = await stdioUpstream(server)
    t.teardown(close)
    return { kind: 'stdio', command, args }
  },
  async kept(t, server) {
    const { command, args, close } = await stdioUpstream(server)
    t.teardown(close)
    return { kind: 'stdio', command, args, pool: 'principal' }
  }
}

const text = (value: unknown): string => JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(value) }] })
const form = (message: string) => ({ message, requestedSchema: { type: 'object', properties: {} } })

function inputs(server = contractTools(new Scripted())): Scripted {
  server.on('logging/setLevel', turn => turn.answer('{}'))
  server.on('tools/list', turn => turn.answer('{"tools":[]}'))
  server.on('tools/call:three', async turn => {
    const asked = [
      turn.ask('elicitation/create', form('one')),
      turn.ask('sampling/createMessage', { messages: [], maxTokens: 1 }),
      turn.ask('roots/list')
    ]
    turn.answer(text((await Promise.all(asked)).map(({ result }) => result)))
  })
  server.on('tools/call:rounds', async turn => {
    const { count } = JSON.parse(turn.arguments)
    const names = []
    for (let i = 0; i < count; i++) {
      if (turn.token !== undefined) turn.progress(i)
      const { result } = await turn.ask('elicitation/create', form(`round ${i}`))
      names.push((result as any)?.content?.name)
    }
    if (turn.token !== undefined) turn.progress(count)
    turn.answer(text(names))
  })
  return server
}

const accept = (name: string) => ({ action: 'accept', content: { name } })
const textOf = (message: any) => JSON.parse(message.result.content[0].text)

/** The same again, with answers. */
const retry = async (client: ModernClient, { result }: any, name: string, args: unknown, inputResponses: unknown) =>
  lastOf(
    await client.request('tools/call', { name, arguments: args, inputResponses, requestState: result.requestState })
  )

for (const [way, start] of Object.entries(ways)) {
  t.test(`over ${way}: one input, three at once, several rounds, some left open`, async t => {
    const server = inputs()
    const { url } = await startGateway(t, { backends: { docs: await start(t, server) } })
    const client = new ModernClient(url, { capabilities })

    const asked = await lastOf(await client.call('ask'))
    t.match(asked.result, {
      resultType: 'input_required',
      inputRequests: { 'input-1': { method: 'elicitation/create', params: { message: 'Your name?' } } },
      requestState: String
    })
    t.notOk('id' in asked.result.inputRequests['input-1'])
    const named = await retry(client, asked, 'ask', {}, { 'input-1': accept('Ada'), other: 1 })
    t.same(textOf(named), accept('Ada'))
    t.equal(named.result.resultType, 'complete')
    t.match(server.heardOf('initialize').at(-1)!.source.toString(), /"roots":\{\}/, 'declared: its own')

    const three = await lastOf(await client.call('three'))
    t.same(Object.keys(three.result.inputRequests), ['input-1', 'input-2', 'input-3'])
    const some = await retry(client, three, 'three', {}, { 'input-2': { role: 'assistant', model: 'm' } })
    t.same(Object.keys(some.result.inputRequests), ['input-1', 'input-3'], 'the open ones, by the same keys')
    t.not(some.result.requestState, three.result.requestState)
    const all = await retry(client, some, 'three', {}, { 'input-1': { action: 'decline' }, 'input-3': { roots: [] } })
    t.same(textOf(all), [{ action: 'decline' }, { role: 'assistant', model: 'm' }, { roots: [] }])

    let round = await lastOf(await client.call('rounds', { count: 3 }))
    for (let i = 0; i < 3; i++) {
      const key = `input-${i + 1}`
      t.equal(round.result.inputRequests[key].params.message, `round ${i}`)
      round = await retry(client, round, 'rounds', { count: 3 }, { [key]: accept(`n${i}`) })
    }
    t.same(textOf(round), ['n0', 'n1', 'n2'])
    t.equal(server.heardOf('tools/call').length, 3, 'each call was made once')
  })

  t.test(`over ${way}: what is not declared is refused upstream; a client that leaves cancels`, async t => {
    const server = inputs()
    let held: Turn | undefined
    server.on('tools/call:held', async turn => {
      held = turn
      await turn.ask('elicitation/create', form('never mind'))
    })
    const { url } = await startGateway(t, { backends: { docs: await start(t, server) }, input: { timeout: '300ms' } })
    const mute = new ModernClient(url, { capabilities: { sampling: {} } })
    t.match(textOf(await lastOf(await mute.call('ask'))), { code: -32601 })
    const client = new ModernClient(url, { capabilities })
    const asked = await lastOf(await client.call('held'))
    await held!.cancelled
    t.match(await retry(client, asked, 'held', {}, { 'input-1': accept('late') }), { error: { code: -32602 } })
    t.same(textOf(await lastOf(await client.call('echo', { a: 1 }))), { a: 1 })
    const before = server.heardOf('tools/call').length
    t.match(await retry(client, asked, 'held', {}, {}), { error: { code: -32602 } })
    t.equal(server.heardOf('tools/call').length, before)
  })
}

t.test('a state is good for its own request, once (MRT-01, S7)', async t => {
  const server = inputs()
  const { url } = await startGateway(t, {
    backends: { docs: await ways.http!(t, server) },
    routes: { '/mcp': { backends: ['docs'] }, '/other': { backends: ['docs'] } }
  })
  const client = new ModernClient(url, { capabilities })
  const asked = await lastOf(await client.call('rounds', { count: 1, a: [1.0, 'x'] }))
  const answers = { 'input-1': accept('Ada') }
  const bad = { error: { code: -32602, data: { reason: 'state' } } }
  const { requestState } = asked.result
  const changed = `${requestState.slice(0, 20)}${requestState[20] === 'A' ? 'B' : 'A'}${requestState.slice(21)}`
  t.match(await retry(client, { result: { requestState: changed } }, 'rounds', { count: 1, a: [1, 'x'] }, answers), bad)
  t.match(await retry(client, { result: { requestState: 'AAAA' } }, 'rounds', { count: 1 }, answers), bad)
  t.match(await retry(client, { result: { requestState: 'A'.repeat(65_536) } }, 'ask', {}, answers), bad)
  t.match(await retry(client, { result: { requestState: 1 } }, 'ask', {}, answers), { error: { code: -32602 } })
  t.same(textOf(await retry(client, { result: { requestState: null } }, 'echo', { b: 1 }, null)), { b: 1 }, 'none')
  t.match(await retry(client, asked, 'rounds', { count: 2, a: [1, 'x'] }, answers), bad, 'other arguments')
  t.match(await retry(client, asked, 'ask', { count: 1, a: [1, 'x'] }, answers), bad, 'another tool')
  const other = new ModernClient(url.replace('/mcp', '/other'), { capabilities })
  t.match(await retry(other, asked, 'rounds', { count: 1, a: [1, 'x'] }, answers), bad, 'another route')
  t.match(await retry(client, asked, 'rounds', { a: [1, 'x'], count: 1 }, { 'input-1': 'x' }), {
    error: { code: -32602, message: /must be an object/ }
  })
  t.equal(server.heardOf('tools/call').length, 2, 'nothing was executed')
  t.same(textOf(await retry(client, asked, 'rounds', { a: [1, 'x'], count: 1 }, answers)), ['Ada'], 'keys in any order')
  t.match(await retry(client, asked, 'rounds', { count: 1, a: [1, 'x'] }, answers), bad, 'used')
  t.equal(server.heardOf('tools/call').length, 2)
})

t.test('only calls of tools, prompts and resources may ask; answers without a state begin a call anew', async t => {
  const server = inputs()
  const refusals: unknown[] = []
  server.on('completion/complete', async turn => {
    refusals.push((await turn.ask('elicitation/create', form('?'))).error)
    turn.answer('{"completion":{"values":[]}}')
  })
  server.on('prompts/get', async turn => {
    const { result } = await turn.ask('roots/list')
    turn.answer(JSON.stringify({ messages: [], asked: result }))
  })
  server.on('resources/read', async turn => {
    const { result } = await turn.ask('roots/list')
    turn.answer(JSON.stringify({ contents: [], asked: result }))
  })
  const { url } = await startGateway(t, { backends: { docs: await ways.http!(t, server) } })
  const client = new ModernClient(url, { capabilities })
  t.match(await lastOf(await client.request('completion/complete', { ref: {}, argument: {} })), {
    result: { completion: { values: [] } }
  })
  t.match(refusals, [{ code: -32601, message: /completion\/complete/ }])
  for (const [method, params] of [
    ['prompts/get', { name: 'p' }],
    ['resources/read', { uri: 'a:b' }]
  ] as const) {
    const { result } = await lastOf(await client.request(method, params))
    t.match(result.inputRequests, { 'input-1': { method: 'roots/list' } })
    const inputResponses = { 'input-1': { roots: [] } }
    const anew = await lastOf(await client.request(method, { ...params, inputResponses }))
    t.equal(anew.result.resultType, 'input_required', 'a call of its own')
    const { requestState } = result
    const done = await lastOf(await client.request(method, { ...params, inputResponses, requestState }))
    t.match(done.result, { resultType: 'complete', asked: { roots: [] } })
    t.equal(server.heardOf(method).length, 2)
    t.notMatch(server.heardOf(method)[1]!.source.toString(), 'inputResponses')
  }
})

t.test('too many rounds end the call, upstream too; progress has the token of each round', async t => {
  const server = inputs()
  let turn: Turn | undefined
  server.on('tools/call:endless', async call => {
    turn = call
    for (;;) await call.ask('elicitation/create', form('again'))
  })
  const { url } = await startGateway(t, { backends: { docs: await ways.http!(t, server) }, input: { rounds: 2 } })
  const client = new ModernClient(url, { capabilities })
  let round = await lastOf(await client.call('endless'))
  round = await retry(client, round, 'endless', {}, { 'input-1': accept('x') })
  round = await retry(client, round, 'endless', {}, { 'input-2': accept('x') })
  t.match(round, { error: { code: -32603, data: { reason: 'backend_invalid' } } })
  await turn!.cancelled

  const first = await client.call('rounds', { count: 1 }, { meta: { progressToken: 'a' } })
  const asked = await lastOf(first)
  t.same(
    first.events.messages.map(({ params }) => params?.progressToken),
    ['a', undefined]
  )
  const again = await client.request(
    'tools/call',
    {
      name: 'rounds',
      arguments: { count: 1 },
      inputResponses: { 'input-1': accept('x') },
      requestState: asked.result.requestState
    },
    { meta: { progressToken: 7 } }
  )
  const { messages } = await again.events.whole()
  t.same(
    messages.map(({ params }) => params && [params.progressToken, params.progress]),
    [[7, 1], undefined]
  )
})

t.test('each round has the log level that it asks for, from its answers on', async t => {
  const server = inputs()
  server.on('tools/call:logging', async turn => {
    const say = (data: string): void => turn.notify('notifications/message', { level: 'info', data })
    say('before')
    await turn.ask('elicitation/create', form('one'))
    say(`after ${server.heardOf('logging/setLevel').length}`)
    turn.answer('{"content":[]}')
  })
  const { url } = await startGateway(t, { backends: { docs: await ways.http!(t, server) } })
  const client = new ModernClient(url, { capabilities })
  const first = await client.call('logging')
  const { requestState } = (await lastOf(first)).result
  t.equal(server.heardOf('logging/setLevel').length, 0)
  const again = await client.request(
    'tools/call',
    { name: 'logging', arguments: {}, inputResponses: { 'input-1': accept('x') }, requestState },
    { meta: logLevel('info') }
  )
  const { messages } = await again.events.whole()
  t.match(messages, [{ method: 'notifications/message', params: { data: 'after 1' } }, { result: { content: [] } }])
})

t.test('what the upstream says while the call is parked is kept for the retry', async t => {
  const server = inputs()
  let turn: Turn | undefined
  server.on('tools/call:hasty', call => {
    turn = call
    void call.ask('elicitation/create', form('one'))
  })
  const { url } = await startGateway(t, { backends: { docs: await ways.http!(t, server) } })
  const client = new ModernClient(url, { capabilities })
  const asked = await lastOf(await client.call('hasty'))
  turn!.notify('notifications/cancelled', { requestId: 'ask-1' })
  void turn!.ask('elicitation/create', form('two'))
  const second = await retry(client, asked, 'hasty', {}, { 'input-1': accept('too late') })
  t.same(Object.keys(second.result.inputRequests), ['input-2'])
  turn!.answer(text('done'))
  t.same(textOf(await retry(client, second, 'hasty', {}, {})), 'done')
  t.same(
    server.heard.filter(({ kind }) => kind === 'response'),
    []
  )
})

t.test('closing the connection of a retry cancels the call', async t => {
  const server = inputs()
  let answered: Turn | undefined
  server.on('tools/call:long', async turn => {
    await turn.ask('elicitation/create', form('one'))
    answered = turn
  })
  const { url } = await startGateway(t, { backends: { docs: await ways.http!(t, server) } })
  const client = new ModernClient(url, { capabilities })
  const { result } = await lastOf(await client.call('long'))
  const abort = new AbortController()
  const params = { name: 'long', arguments: {}, inputResponses: { 'input-1': accept('x') } }
  const again = { ...params, requestState: result.requestState }
  client.request('tools/call', again, { signal: abort.signal }).catch(() => {})
  await until('the answer is there', () => answered !== undefined)
  abort.abort()
  t.equal(typeof (await answered!.cancelled), 'string')
})

t.test('input_required of several backends that are one server, and addresses to be opened first', async t => {
  const server = inputs()
  server.initializeResult = server.initializeResult.replace('"tools":', '"prompts":{},"tools":')
  const tools = ['ask', 'url'].map(name => ({ name, inputSchema: { type: 'object' } }))
  server.on('tools/list', turn => turn.answer(JSON.stringify({ tools })))
  let opened = false
  server.on('tools/call:url', turn => {
    const elicitations = [{ mode: 'url', elicitationId: 'e', url: 'https://x.test/', message: 'Log in' }]
    if (opened) turn.answer(text('in'))
    else turn.refuse(-32042, 'log in first', { elicitations })
    opened = true
  })
  const { url } = await startGateway(t, {
    backends: { docs: await ways.http!(t, server), more: await ways.http!(t, inputs()) },
    routes: { '/mcp': { backends: ['docs', 'more'] } }
  })
  const client = new ModernClient(url, { capabilities: { elicitation: { form: {}, url: {} } } })
  const asked = await lastOf(await client.call('docs_ask'))
  t.same(textOf(await retry(client, asked, 'docs_ask', {}, { 'input-1': accept('Ada') })), accept('Ada'))
  const first = await lastOf(await client.call('docs_url'))
  t.same(first.result.inputRequests, {
    'input-1': { method: 'elicitation/create', params: { mode: 'url', message: 'Log in', url: 'https://x.test/' } }
  })
  t.same(textOf(await lastOf(await client.call('docs_url', {}, {}))), 'in')
})

t.test(
  'over stdio one child has one call at a time; who waits too long has a clear error; no child is left',
  async t => {
    const server = inputs()
    const backend = { ...(await ways.stdio!(t, server)), maxProcesses: 3, queueTime: '5s' }
    const { url, gateway } = await startGateway(t, { backends: { docs: backend } })
    const client = new ModernClient(url, { capabilities })
    const parked = await Promise.all([1, 2].map(async () => lastOf(await client.call('ask'))))
    t.ok(
      parked.every(({ result }) => result?.resultType === 'input_required'),
      JSON.stringify(parked)
    )
    const waiting = [1, 2, 3].map(async () => lastOf(await client.call('ask')))
    for (const [i, one] of parked.entries()) {
      t.same(textOf(await retry(client, one, 'ask', {}, { 'input-1': accept(`n${i}`) })), accept(`n${i}`))
    }
    for (const [i, one] of (await Promise.all(waiting.slice(0, 2))).entries()) {
      t.same(textOf(await retry(client, one, 'ask', {}, { 'input-1': accept(`w${i}`) })), accept(`w${i}`))
    }
    t.equal((await waiting[2]).result.resultType, 'input_required')
    await gateway.close({ deadline: 0 })
    await until('no child is left', async () => (await children()).length === 0)
  }
)
