import t from 'tap'
import { withOwnElicitations } from '../../src/gateway/elicitation-ids.ts'
import { readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'

const seen = (text: string): string => bytes(withOwnElicitations(readMessage(Buffer.from(text), 64), 'a')).toString()

const places: readonly [string, string, string][] = [
  [
    'a request',
    '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","elicitationId":"1","url":"https://x/1"}}',
    '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","elicitationId":"a~1","url":"https://x/1"}}'
  ],
  [
    'its completion',
    '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{ "elicitationId" : "\\u0031" }}',
    '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{ "elicitationId" : "a~\\u0031" }}'
  ],
  [
    'an error that waits for some',
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"","data":{"elicitations":[{"elicitationId":"1"},{"url":""},{"elicitationId":"2"}]}}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"","data":{"elicitations":[{"elicitationId":"a~1"},{"url":""},{"elicitationId":"a~2"}]}}}'
  ]
]

for (const [what, own, client] of places) {
  t.test(`R110i: of several backends an elicitation has the name of its own in front: ${what}`, async t => {
    t.equal(seen(own), client)
  })
}

t.test('whatever else there is passes as it is', async t => {
  const texts = [
    '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?"}}',
    '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"elicitationId":7}}',
    '{"jsonrpc":"2.0","method":"notifications/elicitation/complete"}',
    '{"jsonrpc":"2.0","method":"notifications/x","params":{"elicitationId":"1"}}',
    '{"jsonrpc":"2.0","id":1,"result":{"elicitationId":"1"}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"elicitationId"}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":{"elicitations":{"elicitationId":"1"}}}}'
  ]
  for (const text of texts) t.equal(seen(text), text)
})
