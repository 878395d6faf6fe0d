/** A modern upstream as a legacy session sees it, with an upstream that the test plays. */
import t from 'tap'
import type { Call, Exchange, Link } from '../../src/backends/backend.ts'
import { Queue } from '../../src/backends/queue.ts'
import { LegacyOverModern } from '../../src/bridge/legacy-over-modern.ts'
import type { Listening } from '../../src/bridge/listening.ts'
import { GatewayError } from '../../src/errors.ts'
import { makeError, makeNotification, makeRequest, makeResult } from '../../src/protocol/make.ts'
import { type Message, readMessage } from '../../src/protocol/message.ts'
import { value } from '../../src/protocol/write.ts'
import { FakeBackend, settled } from '../helpers/fake-backend.ts'
import { liveOf } from '../helpers/live.ts'

interface Round {
  readonly sent: any
  readonly queue: Queue
  readonly ended: string[]
}

/** Requests that reach the upstream, in order. */
class Upstream implements Link {
  readonly era = 'modern'
  readonly state = undefined
  readonly rounds: Round[] = []
  readonly server = {
    version: '2026-07-28',
    capabilities: { tools: {}, logging: {} },
    result:
      '{"protocolVersion":"2026-07-28","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"u","version":"1"}}',
    discovered: '{}'
  }

  exchange(request: Message): Exchange {
    const ended: string[] = []
    const queue = new Queue({ cancel: () => ended.push('cancel'), detach: () => ended.push('detach') })
    this.rounds.push({ sent: value(request), queue, ended })
    return queue
  }

  get last(): Round {
    return this.rounds.at(-1)!
  }

  answer(result: object): void {
    this.last.queue.finish(makeResult('0', result))
  }

  resume(): Exchange {
    throw new Error('never')
  }

  async send(): Promise<void> {}
  listen(): void {}
  async close(): Promise<void> {}
}

const call: Call = { principal: { key: 'anonymous' } }
const everything = '{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}'
const form = { method: 'elicitation/create', params: { message: '?', requestedSchema: { type: 'object' } } }
const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
const roots = { method: 'roots/list' }

function on({
  capabilities = everything,
  version = '2025-11-25',
  rounds = 10,
  scope = 'session' as 'session' | 'shared'
} = {}) {
  const upstream = new Upstream()
  const live = liveOf({ client: { version, capabilities, info: '{"name":"c","version":"1"}' } })
  const link = new LegacyOverModern(upstream, live, new FakeBackend(scope), {
    rounds,
    listening: () => {
      throw new Error('this upstream is not listened to')
    },
    receive: () => {},
    heard: () => {}
  })
  const start = (request = makeRequest('"mine"', 'tools/call', { name: 'x', arguments: { n: 1 } })): Exchange =>
    link.exchange(request, call)
  return { upstream, live, link, start }
}

const next = async (exchange: Exchange): Promise<any> => {
  const { value: message } = await exchange.next()
  return message === undefined ? undefined : value(message as Message)
}

const asks = (inputRequests: object, more: object = {}) => ({ resultType: 'input_required', inputRequests, ...more })

t.test('the link is a legacy one', async t => {
  const { link } = on()
  t.equal(link.era, 'legacy')
  t.equal(link.server.version, '2025-11-25')
  t.match(JSON.parse(link.server.result), { protocolVersion: '2025-11-25', serverInfo: { name: 'u' } })
  t.equal(link.state, undefined)
  await t.rejects(link.resume().next())
})

t.test('ping and setLevel are answered here; methods that the modern era has not are refused', async t => {
  const { upstream, start } = on()
  for (const method of ['ping', 'logging/setLevel']) t.same((await next(start(makeRequest('1', method)))).result, {})
  for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']) {
    t.equal((await next(start(makeRequest('1', method)))).error.code, -32601)
  }
  t.same(upstream.rounds, [])
})

t.test('every request says who asks; the level is that of the session, or info', async t => {
  const { upstream, live, start } = on()
  start()
  const meta = upstream.last.sent.params._meta
  t.same(meta['io.modelcontextprotocol/clientInfo'], { name: 'c', version: '1' })
  t.same(meta['io.modelcontextprotocol/clientCapabilities'], JSON.parse(everything))
  t.equal(meta['io.modelcontextprotocol/logLevel'], 'info')
  live.record = { ...live.record, level: 'error' }
  start(
    makeRequest('1', 'tools/call', {
      name: 'x',
      _meta: { progressToken: 7, 'io.modelcontextprotocol/logLevel': 'debug' }
    })
  )
  t.match(upstream.last.sent.params._meta, { progressToken: 7, 'io.modelcontextprotocol/logLevel': 'error' })
  start(makeRequest('1', 'tools/list'))
  t.equal(upstream.last.sent.params._meta['io.modelcontextprotocol/logLevel'], 'error')
})

t.test('where an upstream is shared its requests say of no client what it can do', async t => {
  const { upstream, start } = on({ scope: 'shared' })
  start()
  t.same(upstream.last.sent.params._meta['io.modelcontextprotocol/clientCapabilities'], {})
})

t.test('questions are asked at once; the answers go up with the exact state, arguments and progress token', async t => {
  const { upstream, link, start } = on()
  const exchange = start(
    readMessage(
      Buffer.from(
        '{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"x","arguments":{"n":1},"_meta":{"progressToken":"p"}}}'
      ),
      64
    )
  )
  upstream.answer(asks({ 'a "b"': form, model: sampling, roots }, { requestState: 'opaque ü " \\' }))
  const questions = [await next(exchange), await next(exchange), await next(exchange)]
  t.same(
    questions.map(({ method }) => method),
    ['elicitation/create', 'sampling/createMessage', 'roots/list']
  )
  t.equal(new Set(questions.map(({ id }) => id)).size, 3)
  t.same(questions[0].params, form.params)
  t.equal(questions[2].params, undefined)
  const waiting = next(exchange)
  const answers = [
    { action: 'accept', content: { n: 1 } },
    { role: 'assistant', model: 'm', content: [] },
    { roots: [] }
  ]
  for (const i of [2, 0]) await link.send(makeResult(String(questions[i].id), answers[i]))
  t.equal(upstream.rounds.length, 1, 'one is open')
  await link.send(makeResult(String(questions[1].id), answers[1]))
  await link.send(makeResult(String(questions[1].id), { late: true }))
  await new Promise(setImmediate)
  const { sent } = upstream.last
  t.equal(sent.params.requestState, 'opaque ü " \\')
  t.same(sent.params.inputResponses, { 'a "b"': answers[0], model: answers[1], roots: answers[2] })
  t.same(sent.params.arguments, { n: 1 })
  t.equal(sent.params._meta.progressToken, 'p')
  upstream.answer({ resultType: 'complete', content: [] })
  t.same((await waiting).result, { content: [] })
  t.same(await exchange.next(), { done: true, value: undefined })
})

t.test('a later round has no more state than the server gave', async t => {
  const { upstream, link, start } = on()
  const exchange = start()
  upstream.answer(asks({ a: form }, { requestState: 'one' }))
  await link.send(makeResult(String((await next(exchange)).id), { action: 'decline' }))
  const second = next(exchange)
  await new Promise(setImmediate)
  upstream.answer(asks({ b: form }))
  await link.send(makeResult(String((await second).id), { action: 'cancel' }))
  const third = next(exchange)
  await new Promise(setImmediate)
  t.equal(upstream.last.sent.params.requestState, undefined)
  t.same(upstream.last.sent.params.inputResponses, { b: { action: 'cancel' } })
  upstream.answer({ content: [] })
  t.ok((await third).result)
})

t.test('who does not answer: elicitation is cancelled, roots are none', async t => {
  const { upstream, link, start } = on()
  const exchange = start()
  upstream.answer(asks({ a: form, b: roots, c: form }))
  for (const refusal of [makeError, makeError]) {
    const { id } = await next(exchange)
    await link.send(refusal(String(id), -32603, 'timed out'))
  }
  await link.send(makeResult(String((await next(exchange)).id), 'odd'))
  const last = next(exchange)
  await new Promise(setImmediate)
  t.same(upstream.last.sent.params.inputResponses, {
    a: { action: 'cancel' },
    b: { roots: [] },
    c: { action: 'cancel' }
  })
  upstream.answer({})
  t.ok((await last).result)
})

t.test(
  'a client that refuses to sample ends the call with its own error; its other questions are taken back',
  async t => {
    const { upstream, link, start } = on()
    const exchange = start()
    upstream.answer(asks({ a: sampling, b: form }))
    const [one, two] = [await next(exchange), await next(exchange)]
    await link.send(makeError(String(one.id), -1, 'User rejected', { why: 'no' }))
    t.match(await next(exchange), { method: 'notifications/cancelled', params: { requestId: two.id } })
    t.same(await next(exchange), {
      jsonrpc: '2.0',
      id: 'mine',
      error: { code: -1, message: 'User rejected', data: { why: 'no' } }
    })
    t.equal(upstream.rounds.length, 1)
  }
)

const undeclared: Readonly<Record<string, readonly [string, object]>> = {
  elicitation: ['{"sampling":{}}', { a: sampling, b: form }],
  sampling: ['{"elicitation":{}}', { a: sampling }],
  roots: ['{}', { a: roots }],
  'elicitation by URL': [
    '{"elicitation":{}}',
    { a: { method: 'elicitation/create', params: { mode: 'url', url: 'x:y' } } }
  ]
}

for (const [what, [capabilities, inputs]] of Object.entries(undeclared)) {
  t.test(`${what} that was not declared ends the call, and nothing is asked`, async t => {
    const { upstream, start } = on({ capabilities })
    const exchange = start()
    upstream.answer(asks(inputs))
    t.match(await next(exchange), { id: 'mine', error: { code: -32602 } })
    t.equal(upstream.rounds.length, 1)
  })
}

t.test('a question by URL has an id of ours', async t => {
  const { upstream, start } = on()
  const exchange = start()
  upstream.answer(asks({ a: { method: 'elicitation/create', params: { mode: 'url', url: 'x:y', message: 'm' } } }))
  t.match((await next(exchange)).params, { mode: 'url', url: 'x:y', message: 'm', elicitationId: /^[\w-]{36}$/ })
})

t.test('a round that asks for patience alone is sent again after a while', async t => {
  const { upstream, start } = on()
  const exchange = start()
  const begun = performance.now()
  upstream.answer({ resultType: 'input_required', requestState: 's' })
  const last = next(exchange)
  while (upstream.rounds.length === 1) await new Promise(resolve => setTimeout(resolve, 10))
  t.ok(performance.now() - begun > 240)
  t.equal(upstream.last.sent.params.requestState, 's')
  t.equal(upstream.last.sent.params.inputResponses, undefined)
  upstream.answer({})
  t.ok((await last).result)
})

const broken: Readonly<Record<string, object>> = {
  'an unknown type': { resultType: 'task' },
  'a type that is no text': { resultType: 7 },
  'nothing asked': { resultType: 'input_required' },
  'an unknown method': asks({ a: { method: 'tools/call' } }),
  'questions that are no object': asks([form]),
  'a state that is no text': { resultType: 'input_required', requestState: {} }
}

for (const [what, result] of Object.entries(broken)) {
  t.test(`a result with ${what} is the call's error`, async t => {
    const { upstream, start } = on()
    const exchange = start()
    upstream.answer(result)
    await t.rejects(exchange.next(), { code: 'backend_invalid' })
  })
}

t.test('only calls, prompts and reads may ask', async t => {
  const { upstream, start } = on()
  const exchange = start(makeRequest('1', 'tools/list'))
  upstream.answer(asks({ a: form }))
  await t.rejects(exchange.next(), { code: 'backend_invalid' })
})

t.test('progress of later rounds is told as far as it rises', async t => {
  const { upstream, link, start } = on()
  const exchange = start()
  const progress = (n: number): void => {
    upstream.last.queue.push(makeNotification('notifications/progress', { progressToken: 1, progress: n }))
  }
  progress(5)
  t.equal((await next(exchange)).params.progress, 5)
  upstream.answer(asks({ a: form }))
  await link.send(makeResult(String((await next(exchange)).id), { action: 'accept' }))
  const after = next(exchange)
  await new Promise(setImmediate)
  for (const n of [1, 5, 6]) progress(n)
  t.equal((await after).params.progress, 6)
})

t.test('cancel reaches the round that runs; while the client is asked there is none', async t => {
  const { upstream, link, start } = on()
  const running = start()
  const waiting = running.next()
  running.cancel('enough')
  t.same(await waiting, { done: true, value: undefined })
  t.same(upstream.last.ended, ['cancel'])
  const asking = start()
  upstream.answer(asks({ a: form }))
  const { id } = await next(asking)
  const open = asking.next()
  asking.cancel()
  t.same(await open, { done: true, value: undefined })
  await link.send(makeResult(String(id), { action: 'accept' }))
  t.equal(upstream.rounds.length, 2, 'the late answer sends nothing')
  const detached = start()
  detached.detach()
  t.same(upstream.last.ended, ['detach'])
})

t.test('what fails upstream fails once; closing ends what is open', async t => {
  const { upstream, link, start } = on()
  const failing = start()
  upstream.last.queue.fail(new GatewayError('backend_broke', 'gone'))
  await t.rejects(failing.next(), { code: 'backend_broke' })
  t.same(await failing.next(), { done: true, value: undefined })
  const open = start()
  const read = open.next()
  await link.close()
  t.same(await read, { done: true, value: undefined })
  await t.rejects(start().next(), { code: 'backend_unavailable' })
})

t.test('its lists are heard once the upstream agreed, and until the session listens no more', async t => {
  const agreed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const heard: boolean[] = []
  let asked = 0
  const upstream = Object.assign(new Upstream(), {
    upstream: { exchange: () => new Queue({ cancel() {}, detach() {} }) }
  })
  upstream.server.capabilities = { tools: { listChanged: true } } as never
  const link = new LegacyOverModern(upstream, liveOf(), new FakeBackend('session'), {
    rounds: 10,
    listening: () => ({ changed: () => agreed[asked++]!.promise, leave() {} }) as unknown as Listening,
    receive: () => {},
    heard: (_backend, _live, on) => void heard.push(on)
  })
  link.listen(true)
  t.same(heard, [])
  agreed[0]!.resolve()
  await agreed[0]!.promise
  await settled()
  t.same(heard, [true])
  link.listen(false)
  t.same(heard, [true, false])
  link.listen(true)
  await link.close()
  agreed[1]!.resolve()
  await settled()
  t.same(heard, [true, false], 'who is gone hears nothing')
})
