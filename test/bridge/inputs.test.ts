import t from 'tap'
import { answersIn, inputOf, inputRequired, urlsRequired } from '../../src/bridge/inputs.ts'
import { makeError, makeRequest } from '../../src/protocol/make.ts'
import { readMessage } from '../../src/protocol/message.ts'
import { value } from '../../src/protocol/write.ts'

const read = (text: string) => readMessage(Buffer.from(text), 100)

t.test('a request of the upstream is a member of inputRequests, as it was written', async t => {
  const params = '{"messages":[],"maxTokens":9007199254740993,"x":1.0}'
  const asked = read(`{"jsonrpc":"2.0","id":"a","method":"sampling/createMessage","params":${params}}`)
  t.same(inputOf(asked, 'k'), {
    key: 'k',
    upstreamId: '"a"',
    method: 'sampling/createMessage',
    text: `{"method":"sampling/createMessage","params":${params}}`
  })
  t.equal(inputOf(makeRequest('1', 'roots/list'), 'k').text, '{"method":"roots/list"}')
})

t.test('what this revision has no more is left out', async t => {
  const params = { mode: 'url', elicitationId: 'e', message: 'm', url: 'https://x.test/', task: {} }
  t.same(JSON.parse(inputOf(makeRequest('1', 'elicitation/create', params), 'k').text).params, {
    mode: 'url',
    message: 'm',
    url: 'https://x.test/'
  })
})

t.test('the result names the inputs and the state', async t => {
  const inputs = [inputOf(makeRequest('1', 'roots/list'), 'a'), inputOf(makeRequest('2', 'roots/list'), 'b"')]
  t.same(value(inputRequired('"x"', inputs, 's')), {
    jsonrpc: '2.0',
    id: 'x',
    result: {
      resultType: 'input_required',
      inputRequests: { a: { method: 'roots/list' }, 'b"': { method: 'roots/list' } },
      requestState: 's'
    }
  })
  t.notOk('requestState' in (value(inputRequired('1', inputs)).result as object))
})

t.test('answers go to the questions they are for; null is none, others are ignored, no objects are errors', async t => {
  const open = new Map(['a', 'b', 'c'].map((key, i) => [key, inputOf(makeRequest(String(i), 'roots/list'), key)]))
  const answered = (responses: string) =>
    answersIn(
      read(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"inputResponses":${responses}}}`),
      open
    ).map(({ input, answer }) => [input.key, answer.source.toString()])
  t.same(answered('{"b":{"roots":[1.0]},"a":null,"z":7}'), [['b', '{"jsonrpc":"2.0","id":1,"result":{"roots":[1.0]}}']])
  t.same(answered('null'), [])
  t.same(answersIn(makeRequest('1', 'tools/call', {}), open), [])
  for (const bad of ['[]', '"x"', '{"a":1}', '{"a":[]}', '{"a":"x"}']) {
    t.throws(() => answered(bad), { code: 'params' }, bad)
  }
})

t.test('addresses that are to be opened first are inputs for who opens addresses', async t => {
  const elicitations = [{ mode: 'url', elicitationId: 'e', url: 'https://x.test/', message: 'm' }, null, { url: 1 }]
  const error = makeError('7', -32042, 'first', { elicitations })
  t.match(value(urlsRequired(error, '1', '{"elicitation":{"url":{}}}')!), {
    id: 1,
    result: { inputRequests: { 'input-1': { params: { mode: 'url', message: 'm', url: 'https://x.test/' } } } }
  })
  t.equal(urlsRequired(error, '1', '{"elicitation":{}}'), undefined)
  t.equal(urlsRequired(makeError('7', -32042, 'x', { elicitations: [] }), '1', '{"elicitation":{"url":{}}}'), undefined)
  t.equal(urlsRequired(makeError('7', -32000, 'x'), '1', '{"elicitation":{"url":{}}}'), undefined)
  t.equal(urlsRequired(read('{"jsonrpc":"2.0","id":1,"result":{}}'), '1', '{}'), undefined)
})
