/** Handlers, written once, as modern clients see them: keys of questions, answers that come with a call, who calls, what it must be able to do. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient, type Saying } from '../helpers/modern.ts'
import { RawClient } from '../helpers/raw-client.ts'

const path = fileURLToPath(new URL('../fixtures/handlers/modern.ts', import.meta.url))
const able = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const accept = (content: object) => ({ action: 'accept', content })

const call = async (client: ModernClient, name: string, params: object = {}, saying?: Saying): Promise<any> =>
  lastOf(await client.request('tools/call', { name, arguments: {}, ...params }, saying))

const textIn = ({ result }: any): string => result.content[0].text

for (const [way, tuning] of Object.entries({ gateway: {}, thread: { worker: true }, pooled: { pool: 'principal' } })) {
  const start = async (t: Parameters<typeof startGateway>[0], capabilities: object = able): Promise<ModernClient> => {
    const { url } = await startGateway(t, { backends: { own: { kind: 'module', path, ...tuning } } })
    return new ModernClient(url, { capabilities })
  }

  t.test(`${way}: a question has the key of its author, or its kind and a number in the order of asking`, async t => {
    const client = await start(t)
    const { result } = await call(client, 'all')
    t.equal(result.resultType, 'input_required')
    t.same(
      Object.entries<any>(result.inputRequests).map(([key, { method, params }]) => [key, method, params?.message]),
      [
        ['elicit-1', 'elicitation/create', 'form'],
        ['elicit-2', 'elicitation/create', 'text'],
        ['text', 'elicitation/create', 'text'],
        ['choice', 'elicitation/create', 'choice'],
        ['url', 'elicitation/create', 'url'],
        ['sample-1', 'sampling/createMessage', undefined],
        ['said', 'sampling/createMessage', undefined],
        ['roots-1', 'roots/list', undefined],
        ['folders', 'roots/list', undefined]
      ]
    )
    const model = { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } }
    const inputResponses = {
      'elicit-1': accept({ name: 'a' }),
      'elicit-2': accept({ answer: 'b' }),
      text: accept({ answer: 'c' }),
      choice: accept({ answer: 'a' }),
      url: { action: 'accept' },
      'sample-1': model,
      said: model,
      'roots-1': { roots: [] },
      folders: { roots: [] }
    }
    t.equal(textIn(await call(client, 'all', { inputResponses, requestState: result.requestState })), '9 answers')
  })

  t.test(`${way}: the count goes on over the rounds; a key is free again once it is answered`, async t => {
    const client = await start(t)
    let answer = await call(client, 'rounds')
    for (const [key, text] of [
      ['elicit-1', 'one'],
      ['elicit-2', 'two'],
      ['elicit-1', 'three']
    ] as const) {
      const { inputRequests, requestState } = answer.result
      t.same(Object.keys(inputRequests), [key])
      answer = await call(client, 'rounds', { inputResponses: { [key]: accept({ answer: text }) }, requestState })
    }
    t.equal(textIn(answer), 'one two three')
    const brought = { 'elicit-1': accept({ answer: 'one' }), 'elicit-2': accept({ answer: 'two' }) }
    const { result } = await call(client, 'rounds', { inputResponses: brought })
    t.same(Object.keys(result.inputRequests), ['elicit-1'], 'an answer is good for one question')
  })

  t.test(`${way}: what is answered with the call is not asked; null is absent, unknown keys are ignored`, async t => {
    const client = await start(t)
    const args = { arguments: { keys: ['a', null] } }
    const whole = { a: accept({ name: 'A' }), 'elicit-1': accept({ name: 'B' }), other: accept({}) }
    t.equal(textIn(await call(client, 'ask', { ...args, inputResponses: whole })), '[{"name":"A"},{"name":"B"}]')
    const { result } = await call(client, 'ask', { ...args, inputResponses: { a: whole.a, 'elicit-1': null } })
    t.same(Object.keys(result.inputRequests), ['elicit-1'])
    t.equal((await call(client, 'ask', { ...args, inputResponses: null })).result.resultType, 'input_required')
    for (const inputResponses of [12, [], { a: 12 }, { a: 'x' }, { other: [] }]) {
      t.match(await call(client, 'ask', { ...args, inputResponses }), {
        error: { code: -32602, message: /inputResponses/ }
      })
    }
  })

  t.test(`${way}: a key that an open question has, or that is none, is an error of the handler`, async t => {
    const client = await start(t)
    for (const [keys, text] of [
      [['a', 'a'], /"a" waits/],
      [[''], /1 to 100/],
      [['x'.repeat(101)], /1 to 100/],
      [[7], /1 to 100/]
    ] as const) {
      t.match(await call(client, 'ask', { arguments: { keys } }), { result: { isError: true, content: [{ text }] } })
    }
    const { result } = await call(client, 'ask', { arguments: { keys: ['elicit-1', null, 'ключ "1": x'] } })
    t.same(
      Object.keys(result.inputRequests),
      ['elicit-1', 'elicit-2', 'ключ "1": x'],
      'a number that is taken is left out'
    )
  })

  t.test(`${way}: a handler knows who sends each request, and in which era`, async t => {
    const client = await start(t, { ...able, extensions: { 'x/y': { z: 1 } } })
    const facts = async (info: object | undefined) => {
      const meta = { 'io.modelcontextprotocol/clientInfo': info }
      return JSON.parse(textIn(await call(client, 'who', {}, { meta }))).client
    }
    const expected = {
      era: 'modern',
      version: '2026-07-28',
      capabilities: { ...able, extensions: { 'x/y': { z: 1 } } }
    }
    t.same(await facts({ name: 'one', version: '1' }), { ...expected, info: { name: 'one', version: '1' } })
    t.same(await facts({ name: 'two', version: '2' }), { ...expected, info: { name: 'two', version: '2' } })
    t.same(await facts(undefined), { ...expected, info: {} })
    const legacy = await RawClient.open(client.url)
    const { client: told } = JSON.parse(textIn((await legacy.call('who')).json))
    t.match(told, { era: 'legacy', version: '2025-11-25' })
  })

  t.test(`${way}: what a client did not declare is -32021 with what is missing, and 400`, async t => {
    const client = await start(t, { elicitation: {} })
    for (const [method, name, missing] of [
      ['tools/call', 'sampled', { sampling: {} }],
      ['tools/call', 'refusing', { roots: {}, sampling: { tools: {} } }],
      ['prompts/get', 'asking', { sampling: {} }]
    ] as const) {
      const response = await client.request(method, { name })
      t.equal(response.status, 400)
      t.match(response.json, { error: { code: -32021, data: { requiredCapabilities: missing } } }, name)
    }
    const urls = new ModernClient(client.url, { capabilities: { elicitation: { url: {} } } })
    const answer = await call(urls, 'ask', { arguments: { keys: ['a'] } })
    t.same(answer.error.data.requiredCapabilities, { elicitation: { form: {} } })
    const legacy = await RawClient.open(client.url)
    t.match((await legacy.call('sampled')).json, { result: { isError: true } })
    t.match((await legacy.request('prompts/get', { name: 'asking' })).json, { error: { code: -32603 } })
  })

  t.test(`${way}: a prompt asks under keys as well`, async t => {
    const client = await start(t)
    const model = { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } }
    const inputResponses = { 'sample-1': model, who: accept({ answer: 'me' }) }
    const answer = await lastOf(await client.request('prompts/get', { name: 'asking', inputResponses }))
    t.equal(answer.result.messages[0].content.text, 'me')
  })
}
