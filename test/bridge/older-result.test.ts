import t from 'tap'
import { toLegacyAnswer } from '../../src/bridge/older-result.ts'
import { makeRequest } from '../../src/protocol/make.ts'
import { readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'

const answer = (result: string, method = 'other', params: object = {}): string => {
  const response = readMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`), 64)
  const text = bytes(toLegacyAnswer(response, makeRequest('1', method, params))).toString()
  return text.slice('{"jsonrpc":"2.0","id":1,"result":'.length, -1)
}

t.test('resultType goes, wherever it stands; everything else stays as the bytes it was', async t => {
  t.equal(answer('{"resultType":"complete","a":1.0}'), '{"a":1.0}')
  t.equal(answer('{ "a" : 9007199254740993 , "resultType" : "complete" }'), '{ "a" : 9007199254740993  }')
  t.equal(answer('{"a":1,"resultType":"complete" , "b":"\\u0041"}'), '{"a":1,"b":"\\u0041"}')
  t.equal(answer('{"resultType":"complete"}'), '{}')
  t.equal(answer('{"resultT\\u0079pe":"complete","a":1}'), '{"a":1}')
  t.equal(answer('{"a":{"resultType":"mine"}}'), '{"a":{"resultType":"mine"}}')
})

t.test('structured content that is no object becomes a text where there is none', async t => {
  const tool = (result: string): string => answer(result, 'tools/call')
  t.equal(tool('{"content":[],"structuredContent":{"a":1}}'), '{"content":[],"structuredContent":{"a":1}}')
  t.equal(
    tool('{"resultType":"complete","structuredContent":[1.0],"content":[]}'),
    '{"content":[{"type":"text","text":"[1.0]"}]}'
  )
  t.equal(
    tool('{"content":[{"type":"image"}],"structuredContent":7,"resultType":"complete"}'),
    '{"content":[{"type":"text","text":"7"},{"type":"image"}]}'
  )
  t.equal(
    tool('{"content":[{"type":"text","text":"seven"}],"structuredContent":7}'),
    '{"content":[{"type":"text","text":"seven"}]}'
  )
  t.equal(tool('{"structuredContent":null}'), '{}')
})

t.test('output schemas of other things than objects are left out of lists', async t => {
  const list =
    '{"resultType":"complete","tools":[{"name":"a","outputSchema":{"type":"array"}},' +
    '{"name":"b","outputSchema":{"type":"object"}},{"outputSchema":{"anyOf":[]},"name":"c"}]}'
  t.equal(
    answer(list, 'tools/list'),
    '{"tools":[{"name":"a"},{"name":"b","outputSchema":{"type":"object"}},{"name":"c"}]}'
  )
  t.equal(answer('{"tools":"odd","outputSchema":1}', 'tools/list'), '{"tools":"odd","outputSchema":1}')
})

t.test('-32602 about the resource that was asked for is -32002; every other error stays', async t => {
  const error = (text: string, method = 'resources/read'): string => {
    const response = readMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"error":${text}}`), 64)
    return bytes(toLegacyAnswer(response, makeRequest('1', method, { uri: 'a:b' }))).toString()
  }
  t.match(error('{"code":-32602,"message":"no","data":{"uri":"a:b"}}'), '"code":-32002')
  t.match(error('{"code":-32602,"message":"no","data":{"uri":"a:\\u0062"}}'), '"code":-32002')
  for (const other of [
    '{"code":-32602,"message":"no","data":{"uri":"a:c"}}',
    '{"code":-32602,"message":"no","data":{"uri":7}}',
    '{"code":-32602,"message":"no"}',
    '{"code":-32603,"message":"no","data":{"uri":"a:b"}}'
  ]) {
    t.match(error(other), other)
  }
  t.match(error('{"code":-32602,"message":"no","data":{"uri":"a:b"}}', 'tools/call'), '-32602')
})
