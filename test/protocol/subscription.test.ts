import t from 'tap'
import { without } from '../../src/protocol/edit.ts'
import { readMessage } from '../../src/protocol/message.ts'
import { acknowledgement, completion, tagged } from '../../src/protocol/subscription.ts'
import { bytes } from '../../src/protocol/write.ts'

const key = 'io.modelcontextprotocol/subscriptionId'
const notice = (params?: string) =>
  readMessage(
    Buffer.from(`{"jsonrpc":"2.0","method":"notifications/x"${params === undefined ? '' : `,"params":${params}`}}`),
    100
  )
const paramsOf = (message: ReturnType<typeof notice>): string => {
  const text = bytes(message).toString()
  return text.slice(text.indexOf('"params":') + 9, -1)
}

t.test('a notification names the subscription, whatever it came with', async t => {
  const tag = `"${key}":"a"`
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, `{"_meta":{${tag}}}`],
    ['{}', `{"_meta":{${tag}}}`],
    ['{"uri":"x", "n":1.0}', `{"_meta":{${tag}},"uri":"x", "n":1.0}`],
    ['{"_meta":{},"uri":"x"}', `{"_meta":{${tag}},"uri":"x"}`],
    ['{"_meta":{"o":1}}', `{"_meta":{${tag},"o":1}}`],
    [`{"_meta":{"o":1,"${key}":7}}`, `{"_meta":{"o":1,${tag}}}`]
  ]
  for (const [given, expected] of cases) t.equal(paramsOf(tagged(notice(given), '"a"')), expected)
})

t.test('one that was edited before, too', async t => {
  const given = notice(`{"uri":"x","_meta":{"${key}":7,"o":1}}`)
  const bare = without(given, given.scanned.meta!, new Set([key]))
  t.equal(paramsOf(tagged(bare, '2')), `{"uri":"x","_meta":{"${key}":2,"o":1}}`)
  const empty = notice(`{"uri":"x","_meta":{"${key}":7}}`)
  const none = without(empty, empty.scanned.params!, new Set(['_meta']))
  t.equal(paramsOf(tagged(none, '2')), `{"_meta":{"${key}":2},"uri":"x"}`)
})

t.test('the first and the last message name it in the type that it has', async t => {
  t.match(JSON.parse(bytes(acknowledgement('7', { toolsListChanged: true })).toString()), {
    params: { _meta: { [key]: 7 }, notifications: { toolsListChanged: true } }
  })
  t.match(JSON.parse(bytes(completion('"7"', '{"name":"x"}')).toString()), {
    id: '7',
    result: { resultType: 'complete', _meta: { [key]: '7', 'io.modelcontextprotocol/serverInfo': { name: 'x' } } }
  })
})
