import t from 'tap'
import { wrongInputs } from '../../src/bridge/wished-inputs.ts'
import { makeResult } from '../../src/protocol/make.ts'
import { value } from '../../src/protocol/write.ts'

const wrong = (inputRequests: unknown, capabilities: object, more: object = {}): any => {
  const result = { resultType: 'input_required', inputRequests, ...more }
  const error = wrongInputs(makeResult('"a"', result), JSON.stringify(capabilities))
  return error && value(error)
}

const form = { method: 'elicitation/create', params: { message: '?', requestedSchema: {} } }
const url = { method: 'elicitation/create', params: { mode: 'url', message: '?', url: 'a:b' } }
const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
const tools = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1, tools: [] } }
const roots = { method: 'roots/list' }

t.test('what was declared may be asked', async t => {
  const all = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} }
  t.equal(wrong({ a: form, b: url, c: sampling, d: tools, e: roots }, all), undefined)
  t.equal(wrong(undefined, {}, { requestState: 's' }), undefined)
})

t.test('what was not declared is an error that names it', async t => {
  for (const [asked, declared, required] of [
    [form, {}, { elicitation: { form: {} } }],
    [url, { elicitation: {} }, { elicitation: { url: {} } }],
    [sampling, { roots: {} }, { sampling: {} }],
    [tools, { sampling: {} }, { sampling: { tools: {} } }],
    [roots, { sampling: {} }, { roots: {} }]
  ] as const) {
    const { id, error } = wrong({ a: asked }, declared)
    t.equal(id, 'a')
    t.equal(error.code, -32021)
    t.same(error.data, { requiredCapabilities: required })
  }
})

t.test('several that were not declared are named together', async t => {
  const { error } = wrong({ a: form, b: url, c: tools, d: sampling, e: roots }, { roots: {} })
  t.same(error.data, { requiredCapabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {} } } })
})

t.test('what cannot be read is the error of the backend', async t => {
  for (const inputs of [undefined, [], 'x', { a: 1 }, { a: null }, { a: { method: 'tools/call' } }]) {
    t.match(wrong(inputs, {}), { error: { code: -32603, data: { reason: 'backend_invalid' } } })
  }
})
