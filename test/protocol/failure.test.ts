import t from 'tap'
import { failureOf } from '../../src/protocol/failure.ts'
import { readMessage } from '../../src/protocol/message.ts'

const of = (member: string) => failureOf(readMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,${member}}`), 64))

t.test('a response fails as an error, or as the result of a tool that says so (R54, R55)', async t => {
  t.equal(of('"result":{}'), undefined)
  t.equal(of('"result":{"isError":false}'), undefined)
  t.equal(of('"result":{"content":[{"isError":true}]}'), undefined, 'not of the result itself')
  t.equal(of('"result":{"isError":1,"content":[]}'), undefined)
  t.equal(of('"result":{"a":1,"a":2,"isError":true}'), undefined, "a member that stands twice is nobody's word")
  t.equal(of('"result":["isError"]'), undefined)
  t.same(of('"result":{"content":[],"isError":true}'), { outcome: 'tool_error', code: 'tool_error' })
  t.same(of('"error":{"code":-32601,"message":"no"}'), { outcome: 'rpc_error', code: '-32601' })
  t.same(of('"error":{"code":-32603,"message":"no","data":{"reason":"timeout"}}'), {
    outcome: 'rpc_error',
    code: '-32603',
    reason: 'timeout'
  })
  t.same(of('"error":{"message":"no code","data":null}'), { outcome: 'rpc_error', code: 'undefined' })
})
