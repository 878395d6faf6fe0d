import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { splice, withId, withMember, withMeta, withParam } from '../../src/protocol/edit.ts'
import {
  type Batch,
  isBatch,
  isError,
  type Message,
  read,
  readMessage,
  sameId,
  stringOf,
  stringParam,
  textMeta,
  textOf,
  textParam
} from '../../src/protocol/message.ts'
import { byteLength, bytes, line, parts, value } from '../../src/protocol/write.ts'
import { edits } from '../fuzz/edits.ts'
import { ids } from '../fuzz/ids.ts'

const message = (text: string): Message => readMessage(Buffer.from(text), 64)

function refused(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('not refused')
}

t.test('R25: the kind, the id as written and the method of a message', async t => {
  const rows: [text: string, kind: string, id: string | undefined, method: string | undefined][] = [
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 'request', '1', 'ping'],
    ['{"method":"tools/call","id":"a\\u0041","jsonrpc":"2.0"}', 'request', '"a\\u0041"', 'tools/call'],
    ['{"jsonrpc":"2.0","id":0,"method":"m"}', 'request', '0', 'm'],
    ['{"jsonrpc":"2.0","id":-7,"method":"m"}', 'request', '-7', 'm'],
    ['{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}', 'request', '9007199254740993', 'm'],
    ['{"jsonrpc":"2.0","id":123456789,"method":"m"}', 'request', '123456789', 'm'],
    ['{"jsonrpc":"2.0","id":"","method":"m"}', 'request', '""', 'm'],
    ['{"jsonrpc":"2.0","id":"ä 🚲","method":"m"}', 'request', '"ä 🚲"', 'm'],
    ['{"jsonrpc":"2.0","method":"notifications/x","params":{}}', 'notification', undefined, 'notifications/x'],
    ['{"jsonrpc":"2.0","method":"\\u0070ing","id":1}', 'request', '1', 'ping'],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', 'response', '1', undefined],
    ['{"jsonrpc":"2.0","id":1,"result":null}', 'response', '1', undefined],
    ['{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":""}}', 'response', '"x"', undefined],
    ['{"jsonrpc":"2.0","error":{"code":1,"message":""}}', 'response', undefined, undefined],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}', 'response', undefined, undefined],
    ['{"jsonrpc":"\\u0032.0","id":1,"method":"m"}', 'request', '1', 'm']
  ]
  for (const [text, kind, id, method] of rows) {
    const got = message(text)
    t.match({ kind: got.kind, id: got.id, method: got.method }, { kind, id, method }, text)
    t.equal(bytes(got).toString(), text)
    t.equal(isBatch(read(Buffer.from(text), 64)), false)
  }
})

t.test('R25: what is JSON but no message is refused with the id, when there is one', async t => {
  const rows: [text: string, says: RegExp, id?: string][] = [
    ['null', /is an object/],
    ['"x"', /is an object/],
    ['42', /is an object/],
    ['{}', /"jsonrpc"/],
    ['{"id":1,"method":"m"}', /"jsonrpc"/, '1'],
    ['{"jsonrpc":"1.0","id":"a","method":"m"}', /"jsonrpc"/, '"a"'],
    ['{"jsonrpc":2.0,"id":1,"method":"m"}', /"jsonrpc"/, '1'],
    ['{"jsonrpc":"2.0","id":1}', /a method, or a result or an error/, '1'],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', /a method, or a result or an error/, '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","result":{}}', /a method, or a result or an error/, '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","error":{}}', /a method, or a result or an error/, '1'],
    ['{"jsonrpc":"2.0","id":1,"method":7}', /"method"/, '1'],
    ['{"jsonrpc":"2.0","id":1,"method":""}', /"method"/, '1'],
    ['{"jsonrpc":"2.0","id":1,"method":null}', /"method"/, '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}', /"params" must be an object/, '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","params":null}', /"params" must be an object/, '1'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":[]}}', /"params._meta"/, '1'],
    ['{"jsonrpc":"2.0","id":null,"method":"m"}', /"id"/],
    ['{"jsonrpc":"2.0","id":1.5,"method":"m"}', /"id"/],
    ['{"jsonrpc":"2.0","id":1e3,"method":"m"}', /"id"/],
    ['{"jsonrpc":"2.0","id":true,"method":"m"}', /"id"/],
    ['{"jsonrpc":"2.0","id":{},"method":"m"}', /"id"/],
    ['{"jsonrpc":"2.0","id":[1],"method":"m"}', /"id"/],
    [`{"jsonrpc":"2.0","id":"${'x'.repeat(600)}","method":"m"}`, /"id"/],
    ['{"jsonrpc":"2.0","result":{}}', /id of its request/],
    ['{"jsonrpc":"2.0","id":null,"result":{}}', /id of its request/],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', /stands twice/],
    [`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":${'['.repeat(70)}${']'.repeat(70)}}}`, /deeper than 64/]
  ]
  for (const [text, says, id] of rows) {
    const error = refused(() => read(Buffer.from(text), 64))
    t.match(error, { code: 'invalid', rpcCode: -32600, status: 400, message: says }, text)
    t.equal(error.id, id, text)
    t.equal(refused(() => message(text)).code, 'invalid')
  }
})

t.test('R25: what is no JSON is a parse error without an id', async t => {
  for (const text of ['', '{', '{"jsonrpc":"2.0","id":1,"method":"m"', '{"id":1}{"id":2}', '\ufeff{}', '[1,', 'NaN']) {
    const error = refused(() => read(Buffer.from(text), 64))
    t.match(error, { code: 'parse', rpcCode: -32700, status: 400 }, text)
    t.equal(error.id, undefined)
    t.match(error.cause, { reason: 'syntax' })
  }
  t.equal(refused(() => read(Buffer.from([0x22, 0xff, 0x22]), 64)).code, 'parse')
})

t.test('a batch: every element is judged by itself', async t => {
  const text =
    '[{"jsonrpc":"2.0","id":1,"method":"a"}, 7 ,{"jsonrpc":"2.0","id":2,"id":3,"method":"b"},' +
    '{"jsonrpc":"2.0","method":"c","params":{"x":"\\n"}},[],{"jsonrpc":"2.0","id":4,"params":{}},{"jsonrpc":"2.0","id":1,"method":"a"}]'
  const source = Buffer.from(text)
  const batch = read(source, 64) as Batch
  t.ok(isBatch(batch))
  t.same(
    batch.elements.map(element => (element instanceof GatewayError ? element.message : element.method)),
    [
      'a',
      'a JSON-RPC message is an object',
      'the member "id" stands twice',
      'c',
      'a JSON-RPC message is an object',
      'a message has a method, or a result or an error',
      'a'
    ]
  )
  t.equal((batch.elements[5] as GatewayError).id, '4')
  const element = batch.elements[3] as Message
  t.equal(bytes(element).toString(), '{"jsonrpc":"2.0","method":"c","params":{"x":"\\n"}}')
  t.equal(textParam(element, 'x'), '"\\n"')
  t.equal(element.source.buffer.byteLength, element.source.length, 'with memory of its own')
  t.same((read(Buffer.from(' [ ] '), 64) as Batch).elements, [])
})

t.test('a batch is refused whole when it is too long, without reading it', async t => {
  const batch = (count: number) => Buffer.from(`[${Array(count).fill('{}').join(',')}]`)
  t.equal((read(batch(50), 64) as Batch).elements.length, 50)
  t.match(
    refused(() => read(batch(51), 64)),
    { code: 'invalid', message: 'more than 50 elements in an array' }
  )
  t.equal((read(batch(3), 64, 3) as Batch).elements.length, 3)
  t.match(
    refused(() => read(batch(4), 64, 3)),
    { code: 'invalid' }
  )
  const hostile = batch(1_400_000)
  const before = process.memoryUsage().heapUsed
  t.match(
    refused(() => read(hostile, 64)),
    { code: 'invalid' }
  )
  t.ok(process.memoryUsage().heapUsed - before < 1e6)
  t.match(
    refused(() => readMessage(batch(2), 64)),
    { code: 'invalid' }
  )
  t.match(
    refused(() => readMessage(hostile, 64)),
    { code: 'invalid' }
  )
})

t.test('members as texts and as strings', async t => {
  const got = message(
    '{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a\\u0062\\n","n": -1.0 ,"o":{"x":[ ]},"_meta":{"progressToken":0,"k":"v"}}}'
  )
  t.equal(stringParam(got, 'name'), 'ab\n')
  t.equal(textParam(got, 'name'), '"a\\u0062\\n"')
  t.equal(textParam(got, 'n'), '-1.0')
  t.equal(stringParam(got, 'n'), undefined)
  t.equal(textParam(got, 'o'), '{"x":[ ]}')
  t.equal(textParam(got, 'none'), undefined)
  t.equal(stringParam(got, 'none'), undefined)
  t.equal(textMeta(got, 'progressToken'), '0')
  t.equal(textMeta(got, 'none'), undefined)
  t.equal(textMeta(message('{"jsonrpc":"2.0","method":"m"}'), 'progressToken'), undefined)
  t.equal(stringParam(message('{"jsonrpc":"2.0","method":"m"}'), 'name'), undefined)
  t.equal(textOf(got.source, got.scanned.top, 'jsonrpc'), '"2.0"')
  t.equal(stringOf(got.source, undefined, 'x'), undefined)
  t.equal(textOf(got.source, undefined, 'x'), undefined)
})

t.test('whether a response is an error, and the whole as a value', async t => {
  t.ok(isError(message('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}')))
  t.notOk(isError(message('{"jsonrpc":"2.0","id":1,"result":{"error":1}}')))
  t.same(value(withId(message('{"jsonrpc":"2.0","id":1,"result":{"a":[1]}}'), '"x"')), {
    jsonrpc: '2.0',
    id: 'x',
    result: { a: [1] }
  })
})

t.test('H14: a message on one line says the same, without CR or LF, as long as it was', async () =>
  fc.assert(edits.properties['a message on one line says the same, without CR or LF, as long as it was'], {
    numRuns: 300
  })
)

t.test('a line can be kept: it holds no memory but its own, and is not copied without need', async t => {
  const text = '{"jsonrpc":"2.0","id":1,"result":{}}'
  const alone = Buffer.allocUnsafeSlow(text.length)
  alone.write(text)
  t.equal(line(readMessage(alone, 64)), alone)
  const large = Buffer.concat([Buffer.alloc(5_000), Buffer.from(text)])
  const copy = line(readMessage(large.subarray(5_000), 64))
  t.equal(copy.toString(), text)
  t.equal(copy.buffer.byteLength, text.length)
  t.equal(line(withId(readMessage(alone, 64), '2')).buffer.byteLength, text.length)
  const long = `{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(10_000)}"}`
  const memory = Buffer.allocUnsafeSlow(5_000 + long.length)
  memory.write(long, 5_000)
  const most = memory.subarray(5_000)
  t.equal(line(readMessage(most, 64)), most, 'what fills most of its memory stays where it is')
})

t.test('an edited message is written in parts, large ones without a copy', async t => {
  const large = 'x'.repeat(100_000)
  const source = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":"${large}"}`)
  const edited = withId(readMessage(source, 64), '"other"')
  const pieces = parts(edited)
  t.equal(pieces.length, 3)
  t.equal(pieces[2]!.buffer, source.buffer)
  t.equal(Buffer.concat(pieces).toString(), `{"jsonrpc":"2.0","id":"other","result":"${large}"}`)
  t.equal(byteLength(edited), bytes(edited).length)
  t.equal(bytes(readMessage(source, 64)), source, 'without an edit it is the source')
  t.same(parts(readMessage(source, 64)), [source])
})

t.test('E: ids are the same when type and value are, however they are written', async t => {
  fc.assert(ids.properties['ids are the same when type and value are, however they are written'], { numRuns: 300 })
  t.ok(sameId('9007199254740993', '9007199254740993'))
  t.notOk(sameId('9007199254740993', '9007199254740992'))
})

t.test('splices keep whatever they do not touch, byte for byte', async t => {
  const source =
    '{ "jsonrpc" : "2.0", "id":1, "x":1e400, "y":[ 1.0,-0 ],"id2":9007199254740993,"method":"m","params":{"z":"\\u0041"}}'
  const got = withMeta_(withParam(withId(message(source), '77'), 'z', '{"new":[]}'))
  t.equal(
    bytes(got).toString(),
    '{ "jsonrpc" : "2.0", "id":77, "x":1e400, "y":[ 1.0,-0 ],"id2":9007199254740993,"method":"m","params":{"_meta":{},"z":{"new":[]}}}'
  )
  t.equal(got.id, '77')
  t.equal(textOf(got.source, got.scanned.top, 'id'), '1', 'what is read is what came')

  function withMeta_(message: Message): Message {
    return withParam(message, '_meta', '{}')
  }
})

t.test('edits of edits are right too', async t => {
  const got = message('{"jsonrpc":"2.0","method":"m","params":{"_meta":{}}}')
  t.equal(
    bytes(withMeta(withMeta(withMeta(got, 'a', '1'), 'b', '2'), 'a', '3')).toString(),
    '{"jsonrpc":"2.0","method":"m","params":{"_meta":{"b":2,"a":3}}}'
  )
  t.equal(
    bytes(withId(withId(got, '1'), '2')).toString(),
    '{"id":2,"jsonrpc":"2.0","method":"m","params":{"_meta":{}}}'
  )
  const replaced = withMember(withMeta(got, 'a', '1'), 'params', '{"gone":1}')
  t.equal(bytes(replaced).toString(), '{"jsonrpc":"2.0","method":"m","params":{"gone":1}}')
  t.throws(() => withMeta(replaced, 'b', '1'), TypeError)
  t.throws(() => withParam(message('{"jsonrpc":"2.0","method":"m"}'), 'a', '1'), TypeError)
  t.throws(() => withMeta(message('{"jsonrpc":"2.0","method":"m","params":{}}'), 'a', '1'), TypeError)
  t.throws(() => splice(splice(got, { start: 5, end: 9, text: '' }), { start: 8, end: 12, text: '' }), TypeError)
  const list = message('{"jsonrpc":"2.0","id":1,"result":[7]}')
  const inserted = splice(list, { start: 34, end: 34, text: '1,' })
  t.equal(
    bytes(splice(inserted, { start: 34, end: 35, text: '8' })).toString(),
    '{"jsonrpc":"2.0","id":1,"result":[1,8]}'
  )
  t.equal(withId(list, '1'), list, 'the same id changes nothing')
})
