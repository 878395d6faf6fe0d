/** Requests of upstreams on their way to the client and back (decisions: "Server requests", "Waiting for the client"; R7, R24, R110-R113). */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { textParam } from '../../src/protocol/message.ts'
import { value } from '../../src/protocol/write.ts'
import { type Behind, type BehindOptions, behind, type Kind } from '../helpers/behind.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { Scripted, type Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

/** Backends whose links are a session's own: nobody else can be asked. */
const own: readonly Kind[] = ['http', 'sse', 'stdio']

const everything = { elicitation: {}, sampling: {}, roots: {} }

const form = { message: 'Your name?', requestedSchema: { type: 'object', properties: {} } }

/** `ask`: elicits and answers with what it got. `ask-raw`: the arguments are the request, its id included. */
function asking(server = new Scripted()): Scripted {
  const told = (turn: Turn, got: unknown): void =>
    turn.answer(JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(got) }] }))
  server.on('tools/call:ask', async turn => {
    const { method = 'elicitation/create', params = form } = JSON.parse(turn.arguments)
    const { result, error } = await turn.ask(method, params)
    told(turn, result ?? error)
  })
  server.on('tools/call:say', turn => turn.raw(JSON.stringify({ jsonrpc: '2.0', ...JSON.parse(turn.arguments) })))
  server.on('tools/call:wait', async turn => {
    await turn.cancelled
  })
  server.on('tools/call:ask-and-leave', turn => {
    void turn.ask('elicitation/create', form)
    turn.answer('{"content":[]}')
  })
  return server
}

const isAsk = (message: any): boolean => message.method !== undefined && message.id !== undefined

const asked = ({ events }: RawResponse, ms?: number): Promise<any> => events.message(isAsk, ms)

/** What the tool `ask` was answered with. */
const toldBy = async (response: RawResponse): Promise<any> => {
  const message = response.json ?? (await response.events.message(one => one.result !== undefined))
  return JSON.parse(message.result.content[0].text)
}

/** Answers that reached the upstream. */
const answers = (server: Scripted): any[] => server.heard.filter(({ kind }) => kind === 'response').map(value)

const cancels = ({ events }: RawResponse): any[] =>
  events.messages.filter(({ method }) => method === 'notifications/cancelled')

for (const kind of own) {
  void t.test(kind, async t => {
    const shared = await behind(t, kind, { server: asking() })
    /** One gateway for all that want nothing special; what was heard before is forgotten. */
    const open = async (t: Test, options?: BehindOptions): Promise<Behind> => {
      if (options !== undefined) return behind(t, kind, { server: asking(), ...options })
      shared.server.forget()
      return shared
    }

    t.test('an ask has an id of ours, and its answer goes back once (R110a, R113)', async t => {
      const { url, server } = await open(t)
      const [client, other] = await Promise.all([
        RawClient.open(url, { capabilities: everything }),
        RawClient.open(url, { capabilities: everything })
      ])
      const call = await client.call('ask')
      const ask = await asked(call)
      t.match(ask, { method: 'elicitation/create', params: form })
      t.match(ask.id, /^[0-9a-z]+\.[\w-]{22}$/)
      const again = await asked(await other.call('ask'))
      t.not(again.id.split('.')[1], ask.id.split('.')[1])

      const answer = { id: ask.id, result: { action: 'accept', content: { name: 'Ada' } } }
      const guessed = { ...answer, id: `${again.id.split('.')[0]}.${ask.id.split('.')[1]}` }
      for (const [who, wrong] of [
        [other, answer],
        [client, { ...answer, id: again.id }],
        [client, guessed],
        [client, { ...answer, id: 'ask-1' }],
        [client, { ...answer, id: 1 }]
      ] as const) {
        const refused = await who.post(wrong)
        t.equal(refused.status, 400)
        t.match(refused.json, { error: { code: -32600, data: { reason: 'not_asked' } } })
      }
      t.same(answers(server), [], 'nothing was forwarded')

      const accepted = await client.post(answer)
      t.equal(accepted.status, 202)
      t.equal(accepted.text, '')
      t.same(await toldBy(call), answer.result)
      t.equal((await client.post({ ...answer, result: { action: 'decline' } })).status, 202, 'late')
      t.match(answers(server), [{ id: /^ask-/, result: answer.result }])
    })

    t.test('refusals and errors of the client reach the upstream as they are', async t => {
      const { url } = await open(t)
      const client = await RawClient.open(url, { capabilities: everything })
      for (const answer of [
        { result: { action: 'decline' } },
        { result: { action: 'cancel', _meta: { n: 1 } } },
        { error: { code: -1, message: 'User rejected', data: { why: null } } }
      ]) {
        const call = await client.call('ask')
        await client.post({ id: (await asked(call)).id, ...answer })
        t.strictSame(await toldBy(call), answer.result ?? answer.error)
      }
    })

    t.test('the same id asked twice by two upstream sessions is not mixed up', async t => {
      const { url, server } = await open(t)
      const clients = await Promise.all([1, 2].map(() => RawClient.open(url, { capabilities: everything })))
      const message = { id: 'same', method: 'elicitation/create', params: form }
      const calls = await Promise.all(clients.map(client => client.call('say', message)))
      for (const [i, client] of clients.entries()) {
        const { id } = await asked(calls[i]!)
        await client.post({ id, result: { action: 'accept', content: { i } } })
      }
      await until('two answers', () => answers(server).length === 2)
      t.strictSame(
        answers(server).map(({ id, result }) => [id, result.content.i]),
        [
          ['same', 0],
          ['same', 1]
        ]
      )
    })

    t.test(
      'what the client did not declare is refused, and the upstream was never told of it (R7, R110b, STR-03)',
      async t => {
        const { url, server } = await open(t)
        const url30 = { mode: 'url', message: 'x', url: 'https://example.com', elicitationId: 'e' }
        const tools = { messages: [], maxTokens: 1, tools: [] }
        for (const [capabilities, method, params, code] of [
          [{}, 'elicitation/create', form, -32601],
          [{}, 'sampling/createMessage', { messages: [], maxTokens: 1 }, -32601],
          [{}, 'roots/list', undefined, -32601],
          [{ elicitation: {} }, 'elicitation/create', url30, -32602],
          [{ elicitation: { url: {} } }, 'elicitation/create', form, -32602],
          [{ elicitation: { url: {} } }, 'elicitation/create', { ...form, mode: 'form' }, -32602],
          [{ elicitation: { form: {}, url: {} } }, 'elicitation/create', { ...form, mode: '__proto__' }, -32602],
          [{ sampling: {} }, 'sampling/createMessage', tools, -32602],
          [{ sampling: null }, 'sampling/createMessage', { messages: [] }, -32601]
        ] as const) {
          const client = await RawClient.open(url, { capabilities })
          t.equal(textParam(server.heardOf('initialize').at(-1)!, 'capabilities'), JSON.stringify(capabilities))
          const call = await client.call('ask', { method, params })
          t.equal(call.headers['content-type'], 'application/json', 'the client saw nothing of it')
          t.match(await toldBy(call), { code, message: String }, `${method} with ${JSON.stringify(capabilities)}`)
        }
      }
    )

    t.test('what it declared, and what nobody knows, is put to it', async t => {
      const { url } = await open(t)
      for (const [capabilities, method, params] of [
        [{ elicitation: {} }, 'elicitation/create', { ...form, mode: 'form' }],
        [{ elicitation: { url: {} } }, 'elicitation/create', { mode: 'url', url: 'https://example.com' }],
        [{ elicitation: { form: {} } }, 'elicitation/create', form],
        [{ sampling: { tools: {} } }, 'sampling/createMessage', { messages: [], tools: [], toolChoice: {} }],
        [{ roots: { listChanged: true } }, 'roots/list', undefined],
        [{}, 'x/vendor', { any: 'thing' }]
      ] as const) {
        const client = await RawClient.open(url, { capabilities })
        const call = await client.call('ask', { method, params })
        const ask = await asked(call)
        t.match(ask, { method, ...(params === undefined ? {} : { params }) })
        await client.post({ id: ask.id, result: { x: 1 } })
        t.strictSame(await toldBy(call), { x: 1 })
      }
    })

    t.test('pings are answered both ways and go no further (R103)', async t => {
      const { url, server } = await open(t)
      const client = await RawClient.open(url)
      t.strictSame((await client.post({ id: 'p', method: 'ping' })).json, { jsonrpc: '2.0', id: 'p', result: {} })
      t.equal(server.heardOf('ping').length, 0)
      const call = await client.call('ask', { method: 'ping' })
      t.equal(call.headers['content-type'], 'application/json')
      t.strictSame(await toldBy(call), {})
    })

    // A child has to start in that time too.
    const timeout = kind === 'stdio' ? '2s' : '300ms'

    t.test('while the client is asked, the limits of the call stand still (R110h)', async t => {
      const { url } = await open(t, { backend: { timeout, maxTime: timeout } })
      const client = await RawClient.open(url, { capabilities: everything })
      const call = await client.call('ask')
      const { id } = await asked(call)
      await sleep(kind === 'stdio' ? 2_500 : 600)
      t.notOk(call.events.ended)
      await client.post({ id, result: { action: 'accept' } })
      t.strictSame(await toldBy(call), { action: 'accept' })
      const silent = await client.call('wait')
      const error = silent.json ?? (await silent.events.message(message => message.error !== undefined))
      t.match(error, { error: { code: -32603, data: { reason: 'timeout' } } }, 'they go on')
    })

    t.test('input.timeout ends the wait: the upstream gets an error, the client is told (STR-03)', async t => {
      const { url, server } = await open(t, { file: { input: { timeout: '200ms' } } })
      const client = await RawClient.open(url, { capabilities: everything })
      const call = await client.call('ask')
      const { id } = await asked(call)
      t.match(await toldBy(call), { code: -32603, data: { reason: 'input_timeout' } })
      t.match(cancels(call), [{ params: { requestId: id, reason: String } }])
      t.equal((await client.post({ id, result: { action: 'accept' } })).status, 202, 'late, dropped')
      t.equal(answers(server).length, 1)
    })

    t.test('the upstream takes its request back: the client is told by the id that it knows', async t => {
      const { url, server } = await open(t)
      server.on('tools/call:take-back', async turn => {
        turn.raw(
          `{"jsonrpc":"2.0","id":9007199254740993,"method":"elicitation/create","params":${JSON.stringify(form)}}`
        )
        turn.raw(
          '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993,"reason":"r","zz":1.0}}'
        )
        turn.raw('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}')
        turn.raw('{"jsonrpc":"2.0","method":"notifications/cancelled"}')
        turn.answer('{"content":[]}')
      })
      const client = await RawClient.open(url, { capabilities: everything })
      const call = await client.call('take-back')
      await call.events.whole()
      const { id } = call.events.messages.find(isAsk)
      t.strictSame(cancels(call), [
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: 'r', zz: 1 } }
      ])
      t.equal((await client.post({ id, result: {} })).status, 202)
      t.same(answers(server), [])
    })

    t.test('the client gives the call up: its asks are over, at both ends', async t => {
      const { url, server } = await open(t)
      const client = await RawClient.open(url, { capabilities: everything })
      const call = await client.post({ id: 'c', method: 'tools/call', params: { name: 'ask' } })
      const { id } = await asked(call)
      t.equal(
        (await client.post({ method: 'notifications/cancelled', params: { requestId: 'c', reason: 'r' } })).status,
        202
      )
      await call.events.whole()
      t.match(call.events.messages, [{ id }, { method: 'notifications/cancelled', params: { requestId: id } }])
      await until('the answer upstream', () => answers(server).length === 1)
      t.match(answers(server), [{ id: /^ask-/, error: { code: -32603, data: { reason: 'cancelled' } } }])
      t.equal((await client.post({ id, result: {} })).status, 202)
    })

    t.test('an ask that is open when the call is answered stays open', async t => {
      const { url, server } = await open(t)
      const client = await RawClient.open(url, { capabilities: everything })
      const call = await client.call('ask-and-leave')
      await call.events.whole()
      t.match(call.events.messages, [{ method: 'elicitation/create' }, { result: {} }])
      t.equal((await client.post({ id: call.events.messages[0].id, result: { late: true } })).status, 202)
      await until('the answer upstream', () => answers(server).length === 1)
      t.match(answers(server), [{ id: /^ask-/, result: { late: true } }])
    })

    t.test('a JSON-only client is asked on its channel, or not at all', async t => {
      const { url } = await open(t)
      const client = await RawClient.open(url, { capabilities: everything })
      const json = { accept: 'application/json' }
      const refused = await client.request('tools/call', { name: 'ask' }, json)
      t.match(await toldBy(refused), { code: -32601, message: /no event stream/ })
      const channel = await client.get()
      const calling = client.request('tools/call', { name: 'ask' }, json)
      const ask = await asked(channel)
      await client.post({ id: ask.id, result: { action: 'accept' } })
      t.strictSame(await toldBy(await calling), { action: 'accept' })
    })

    t.test('an ask of no call goes to the channel, else to the oldest call, else it waits for the channel', async t => {
      const { url, server } = await open(t, { file: { streams: { sseAfter: '50ms' } } })
      const client = await RawClient.open(url, { capabilities: everything })
      const outside = (id: string): boolean =>
        server.outside(JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params: form }))
      const channel = await client.get()
      const calls = await Promise.all([1, 2].map(() => client.call('wait')))
      await until('the upstream can ask', () => outside('first'))
      const first = await asked(channel)
      t.same(
        calls.flatMap(({ events }) => events.messages),
        []
      )
      await client.post({ id: first.id, result: { n: 1 } })
      await until('the answer upstream', () => answers(server).length === 1)
      t.match(answers(server), [{ id: 'first', result: { n: 1 } }])
      if (kind !== 'http') {
        // Over HTTP nothing of the upstream is heard without its GET stream.
        channel.destroy()
        await until('the channel is closed', async () => {
          if (cancelsOf(calls) > 0) return true
          outside('second')
          await sleep(20)
          return calls.some(({ events }) => events.messages.some(isAsk))
        })
        t.ok(calls[0]!.events.messages.some(isAsk), 'the oldest')
        t.notOk(calls[1]!.events.messages.some(isAsk))
        for (const { params } of calls.map((_, i) => ({ params: { requestId: i + 1 } }))) {
          await client.post({ method: 'notifications/cancelled', params })
        }
        await Promise.all(calls.map(({ events }) => events.whole()))
        outside('third')
        const later = await client.get()
        const ask = await later.events.message(message => isAsk(message) && message.id !== first.id)
        await client.post({ id: ask.id, result: { n: 3 } })
        await until('the answer upstream', () => answers(server).some(({ result }) => result?.n === 3))
      }
    })

    t.test('a resumed stream has the ask while it is pending, and not once it is answered', async t => {
      const { url } = await open(t, { server: twoQuestions() })
      const client = await RawClient.open(url, { capabilities: everything })
      const call = await client.call('two')
      const first = await asked(call)
      const primed = call.events.all[0]!.id
      call.destroy()
      const resumed = await client.get(primed)
      t.equal((await asked(resumed)).id, first.id, 'still open')
      await client.post({ id: first.id, result: { n: 1 } })
      const second = await resumed.events.message(message => isAsk(message) && message.id !== first.id)
      resumed.destroy()
      const again = await client.get(primed)
      t.equal((await asked(again)).id, second.id, 'the first is answered')
      await client.post({ id: second.id, result: { n: 2 } })
      t.strictSame(await toldBy(again), [{ n: 1 }, { n: 2 }])
    })

    t.test('what is asked before the client is ready waits for it (R6)', async t => {
      const { url, server } = await open(t, {})
      const client = await RawClient.open(url, { capabilities: everything, operating: false })
      const channel = await client.get()
      await until('the upstream can ask', () =>
        server.outside(JSON.stringify({ jsonrpc: '2.0', id: 'early', method: 'roots/list' }))
      )
      await client.post({ id: 'p', method: 'ping' })
      t.notOk(channel.events.messages.some(isAsk))
      await client.post({ method: 'notifications/initialized' })
      const { id } = await asked(channel)
      await client.post({ id, result: { roots: [] } })
      await until('the answer upstream', () => answers(server).length > 0)
    })

    t.test('a session that ends with an ask open leaves nothing behind', async t => {
      const { url, gateway } = await open(t, {})
      const client = await RawClient.open(url, { capabilities: everything })
      const call = await client.call('ask')
      const { id } = await asked(call)
      t.equal((await client.delete()).status, 204)
      await call.events.whole()
      t.equal((await client.post({ id, result: {} })).status, 404)
      await gateway.close({ deadline: 0 })
    })

    t.test('an upstream cannot have more than 256 asks open', async t => {
      const { url, server } = await open(t)
      server.on('tools/call:flood', turn => {
        for (let i = 0; i < 300; i++) turn.raw(`{"jsonrpc":"2.0","id":${i},"method":"roots/list"}`)
      })
      const client = await RawClient.open(url, { capabilities: everything })
      const call = await client.call('flood')
      await until('refusals', () => answers(server).length === 44)
      t.match(answers(server)[0], { id: Number, error: { code: -32603 } })
      await call.events.until(({ messages }) => messages.filter(isAsk).length === 256)
    })
  })
}

const cancelsOf = (calls: readonly RawResponse[]): number => calls.flatMap(call => cancels(call)).length

function twoQuestions(): Scripted {
  const server = new Scripted()
  server.on('tools/call:two', async turn => {
    const answers: unknown[] = []
    for (let i = 0; i < 2; i++) answers.push((await turn.ask('elicitation/create', form)).result)
    turn.answer(JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(answers) }] }))
  })
  return server
}
