import t from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { errorMessage, makeError, makeNotification, makeRequest, makeResult } from '../../src/protocol/make.ts'
import type { Message } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'

const text = (message: Message): string => bytes(message).toString()

t.test('own messages are messages like those that come in', async t => {
  const request = makeRequest('"a"', 'ping', { x: 'ä\n', none: undefined })
  t.equal(text(request), '{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":"ä\\n"}}')
  t.match(request, { kind: 'request', id: '"a"', method: 'ping', scanned: { params: { keys: ['x'] } } })
  t.equal(text(makeRequest('7', 'ping')), '{"jsonrpc":"2.0","id":7,"method":"ping"}')
  t.equal(text(makeNotification('notifications/x')), '{"jsonrpc":"2.0","method":"notifications/x"}')
  t.match(makeNotification('n', { _meta: {} }), {
    kind: 'notification',
    id: undefined,
    scanned: { meta: { keys: [] } }
  })
  t.equal(text(makeResult('9007199254740993', {})), '{"jsonrpc":"2.0","id":9007199254740993,"result":{}}')
  t.equal(
    text(makeError('1', -32601, 'no "x"', { a: 1 })),
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no \\"x\\"","data":{"a":1}}}'
  )
})

t.test('an error without an id has no id, never null', async t => {
  t.equal(text(makeError(undefined, -32700, 'x')), '{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}')
})

t.test('a GatewayError becomes a response with its id, its code and its reason', async t => {
  const error = new GatewayError('backend_broke', 'it broke', { backend: 'docs', data: { tries: 2 } })
  t.equal(
    text(errorMessage(error, '5')),
    '{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"it broke","data":{"reason":"backend_broke","backend":"docs","tries":2}}}'
  )
  t.equal(errorMessage(error.withId('"own"'), '5').id, '"own"')
  t.equal(errorMessage(error).id, undefined)
})
