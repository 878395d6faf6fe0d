import assert from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { type Members, ScanError, scan } from '../../src/protocol/scan.ts'
import { assertSame, json, objectIn, parses, refusal } from '../fuzz/json.ts'

const valuesOf = (text: string, members: Members | undefined): Record<string, string> => {
  const bytes = Buffer.from(text)
  const entries = (members?.keys ?? []).map((key, i): [string, string] => [
    key,
    bytes.toString('utf8', members!.spans[2 * i], members!.spans[2 * i + 1])
  ])
  return Object.fromEntries(entries)
}

for (const [title, property] of Object.entries(json.properties)) {
  t.test(`R25: ${title}`, async () => fc.assert(property as fc.IRawProperty<unknown>, { numRuns: 1_500 }))
}

t.test('of texts cut anywhere too', async t => {
  const text = Buffer.from('{"a":[1,-2.5e+3,true,false,null,"x\\u00e4\\n🚲"],"params":{"_meta":{"é":{}}},"b":""}')
  for (let length = 0; length <= text.length; length++) {
    for (const start of [0, 1, 5]) assertSame(Buffer.from(text.subarray(start, length)))
  }
  t.pass()
})

const texts: [what: string, text: string | Buffer, reason: string | undefined][] = [
  ['nothing', '', 'syntax'],
  ['spaces', ' \n', 'syntax'],
  ['a byte order mark', '\ufeff{}', 'syntax'],
  ['UTF-16', Buffer.from('{}', 'utf16le'), 'syntax'],
  ['a byte that is no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'syntax'],
  ['an overlong encoding', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'syntax'],
  ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'syntax'],
  ['a truncated character', Buffer.from([0x22, 0xf0, 0x9f, 0x9a, 0x22]), 'syntax'],
  ['a lone surrogate as an escape', '{"a":"\\ud800"}', undefined],
  ['NaN', '{"a":NaN}', 'syntax'],
  ['Infinity', '[-Infinity]', 'syntax'],
  ['undefined', 'undefined', 'syntax'],
  ['two values', '{"a":1}{"b":2}', 'syntax'],
  ['a trailing comma in an object', '{"a":1,}', 'syntax'],
  ['a trailing comma in an array', '[1,]', 'syntax'],
  ['a trailing comma in watched params', '{"params":{"a":1,}}', 'syntax'],
  ['a leading comma', '[,1]', 'syntax'],
  ['no comma', '[1 2]', 'syntax'],
  ['no comma in an object', '{"a":1 "b":2}', 'syntax'],
  ['no colon', '{"a" 1}', 'syntax'],
  ['no value', '{"a":}', 'syntax'],
  ['a key without quotes', '{a:1}', 'syntax'],
  ['a key in single quotes', "{'a':1}", 'syntax'],
  ['a number as a key', '{"x":{1:1}}', 'syntax'],
  ['a comment', '{"a":1}// x', 'syntax'],
  ['a NUL between tokens', '[1,\u00002]', 'syntax'],
  ['a no-break space', '[1,\u00a02]', 'syntax'],
  ['a form feed', '[1,\f2]', 'syntax'],
  ['a leading zero', '[01]', 'syntax'],
  ['a leading plus', '[+1]', 'syntax'],
  ['a point without digits', '[1.]', 'syntax'],
  ['no digit before the point', '[.5]', 'syntax'],
  ['an exponent without digits', '[1e]', 'syntax'],
  ['a minus alone', '-', 'syntax'],
  ['a hexadecimal number', '[0x10]', 'syntax'],
  ['a line feed in a string', '["a\nb"]', 'syntax'],
  ['a tab in a string', '["a\tb"]', 'syntax'],
  ['a delete character in a string', '["\u007f"]', undefined],
  ['a line separator in a string', '["\u2028"]', undefined],
  ['an unknown escape', '["\\x41"]', 'syntax'],
  ['an escaped single quote', '["\\\'"]', 'syntax'],
  ['a short unicode escape', '["\\u12"]', 'syntax'],
  ['a unicode escape with a wrong digit', '["\\u12g4"]', 'syntax'],
  ['a string without its end', '["abc', 'syntax'],
  ['a string that ends in a backslash', '["abc\\', 'syntax'],
  ['an escaped quote at the end', '["abc\\"', 'syntax'],
  ['a wrong word', '[tru]', 'syntax'],
  ['a wrong long word', '[falsy]', 'syntax'],
  ['a word in capitals', '[Null]', 'syntax'],
  ['a word too long', '[nulll]', 'syntax'],
  ['numbers that doubles cannot hold', '[1e400,9007199254740993,-0,1.0]', undefined],
  ['a member twice at the top', '{"id":1,"id":2}', 'duplicate'],
  ['a member twice, once escaped', '{"method":"a","\\u006dethod":"b"}', 'duplicate'],
  ['a member twice in params', '{"params":{"name":"a","n\\u0061me":"b"}}', 'duplicate'],
  ['a member twice in _meta', '{"params":{"_meta":{"a":1,"a":1}}}', 'duplicate'],
  ['a member twice in _meta with an escaped name', '{"params":{"\\u005fmeta":{"a":1,"a":1}}}', 'duplicate'],
  ['a member twice in params with an escaped name', '{"\\u0070arams":{"a":1,"a":1}}', 'duplicate'],
  ['params twice', '{"params":{},"params":[]}', 'duplicate'],
  ['__proto__ twice', '{"__proto__":1,"__proto__":2}', 'duplicate'],
  ['the empty key twice', '{"":1,"":2}', 'duplicate'],
  ['a long key twice', `{"${'k'.repeat(100)}":1,"${'k'.repeat(100)}":2}`, 'duplicate'],
  ['a member twice in arguments', '{"params":{"arguments":{"a":1,"a":2}}}', undefined],
  ['a member twice in a result', '{"result":{"a":1,"a":2}}', undefined],
  ['a member twice in _meta of a result', '{"result":{"_meta":{"a":1,"a":2}}}', undefined],
  ['a member twice in params of params', '{"params":{"params":{"a":1,"a":2}}}', undefined],
  ['a member twice in an element', '[{"id":1,"id":1}]', undefined],
  ['keys that differ in case', '{"id":1,"ID":2}', undefined],
  ['256 members', `{${Array.from({ length: 256 }, (_, i) => `"${i}":0`)}}`, undefined],
  ['257 members', `{${Array.from({ length: 257 }, (_, i) => `"${i}":0`)}}`, 'many'],
  [
    '257 members in arguments',
    `{"params":{"arguments":{${Array.from({ length: 257 }, (_, i) => `"${i}":0`)}}}}`,
    undefined
  ]
]

for (const [what, text, reason] of texts) {
  t.test(`RPC-11, H9: ${what} is ${reason === undefined ? 'accepted' : `refused (${reason})`}`, async t => {
    t.equal(refusal(text), reason)
    if (reason === undefined || reason === 'syntax') t.equal(parses(Buffer.from(text as string)), reason === undefined)
  })
}

t.test('H6: nesting is bounded exactly, however deep the text is', async t => {
  const arrays = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const objects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
  for (const nested of [arrays, objects]) {
    t.equal(refusal(nested(64), 64), undefined)
    t.equal(refusal(nested(65), 64), 'depth')
    t.equal(refusal(nested(500_000), 64), 'depth')
  }
  t.equal(refusal('['.repeat(100_000), 64), 'depth', 'never closed')
  t.equal(refusal(`{"params":{"_meta":${objects(62)}}}`, 64), undefined)
  t.equal(refusal(`{"params":{"_meta":${objects(63)}}}`, 64), 'depth')
  t.equal(refusal('{"params":{"_meta":{}}}', 2), 'depth')
  t.equal(refusal('1', 0), undefined)
})

t.test('a refusal says where and why', async t => {
  const error = (text: string): ScanError => {
    try {
      scan(Buffer.from(text), 3)
    } catch (error) {
      return error as ScanError
    }
    throw new Error('not refused')
  }
  t.match(error('{"a":1 "b":2}'), { reason: 'syntax', at: 7, message: 'expected a comma or a closing brace' })
  t.match(error('{"a":"x'), { reason: 'syntax', at: 7, message: 'the JSON text ends too early' })
  t.match(error(''), { at: 0, message: 'the JSON text ends too early' })
  t.match(error('{} {}'), { at: 3, message: 'unexpected text after the JSON value' })
  t.match(error('[[[[]]]]'), { reason: 'depth', at: 3, message: /3 levels/ })
  t.match(error('{"id":1,"id":2}'), { reason: 'duplicate', at: 8, message: 'the member "id" stands twice' })
  t.ok(error(`{"${'k'.repeat(99)}":1,"${'k'.repeat(99)}":2}`).message.length < 80, 'long names are shortened')
  t.type(error(''), ScanError)
})

t.test('R25: quotes, escapes and bad bytes are seen at every offset of a string, long or short', async t => {
  const specials = [
    '"',
    '\\"',
    '\\\\',
    '\\',
    '\n',
    '\u001f',
    '\u0000',
    '\\u0041',
    '\\u004',
    'é',
    '🚲',
    '!',
    '#',
    '[',
    ']',
    ' ',
    '\u007f'
  ]
  for (let start = 0; start < 4; start++) {
    for (let length = 0; length <= 150; length += length > 16 && length < 56 ? 5 : 1) {
      for (const special of specials) {
        const text = `["${'x'.repeat(length)}${special}${'y'.repeat(length % 11)}"]`
        // Behind other bytes, so that words do not begin where the memory does.
        const memory = Buffer.concat([Buffer.alloc(start, '"'), Buffer.from(text), Buffer.from('"\n')])
        const bytes = memory.subarray(start, memory.length - 2)
        assert.equal(refusal_(bytes), parses(bytes), JSON.stringify(text))
      }
    }
  }
  t.pass()

  function refusal_(bytes: Buffer): boolean {
    try {
      scan(bytes, 64)
      return true
    } catch {
      return false
    }
  }
})

t.test('the words of a long string are read as words, whatever bytes are in them', async t => {
  const random = (seed: number) => () => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff
    return seed >> 8
  }
  const next = random(1)
  for (let i = 0; i < 3_000; i++) {
    const string = Buffer.alloc(80 + (next() % 40), 'x')
    // One to three bytes of any value, the ones next to the special ones more often.
    for (let k = next() % 3; k >= 0; k--) {
      const special = [0x1f, 0x20, 0x21, 0x22, 0x23, 0x5b, 0x5c, 0x5d, 0x00, 0x7f]
      string[66 + (next() % (string.length - 66))] = (next() & 1) === 0 ? special[next() % 10]! : next() & 0x7f
    }
    assertSame(Buffer.concat([Buffer.from('"'), string, Buffer.from('"')]))
  }
  t.pass()
})

t.test('a string of a megabyte costs a few reads of words, not a read of every byte', async t => {
  const text = Buffer.from(`{"result":"${'x'.repeat(1 << 20)}"}`)
  let reads = 0
  const counted = new Proxy(DataView.prototype.getInt32, {
    apply: (read, view, args) => {
      reads++
      return Reflect.apply(read, view, args)
    }
  })
  const real = DataView.prototype.getInt32
  DataView.prototype.getInt32 = counted
  t.teardown(() => {
    DataView.prototype.getInt32 = real
  })
  t.equal(scan(text, 64).kind, 'object')
  t.ok(reads > (1 << 18) - 100 && reads < (1 << 18) + 100, `${reads} words`)
})

t.test('params and _meta are there when they are objects, and only where they belong', async t => {
  const none = { params: undefined, meta: undefined }
  t.match(objectIn('{"params":[],"_meta":{"a":1}}'), none)
  t.match(objectIn('{"params":null}'), none)
  t.match(objectIn('{"result":{"params":{"a":1},"_meta":{}}}'), none)
  t.match(objectIn('{"params":{"_meta":7}}'), { params: { keys: ['_meta'] }, meta: undefined })
  t.match(objectIn('{"params":{"arguments":{"_meta":{"a":1}}}}').meta, undefined)
  t.match(objectIn('{"params":{"_meta":{"_meta":{"a":1}}}}').meta, { keys: ['_meta'] })
  const text = '{"params":{"_meta":{"progressToken":"é"}}}'
  t.same(valuesOf(text, objectIn(text).meta), { progressToken: '"é"' })
})

t.test('an array gives the spans of its elements, and is bounded', async t => {
  const text = ' [ {"a":1} , 2,"x" ,[3]\n]'
  const found = scan(Buffer.from(text), 64)
  assert(found.kind === 'array')
  const elements = []
  for (let i = 0; i < found.spans.length; i += 2) elements.push(text.slice(found.spans[i], found.spans[i + 1]))
  t.same(elements, ['{"a":1}', '2', '"x"', '[3]'])
  t.same(scan(Buffer.from('[]'), 64), { kind: 'array', spans: [] })
  t.equal(scan(Buffer.from('[1,2,3]'), 64, 3).kind, 'array')
  t.throws(() => scan(Buffer.from('[1,2,3,4]'), 64, 3), { reason: 'many', message: 'more than 3 elements in an array' })
  t.equal(scan(Buffer.from('[[1,2,3,4]]'), 64, 3).kind, 'array', 'the outer one alone')
  for (const other of ['1', '"x"', 'null', 'true', ' -0.5e1 ']) t.same(scan(Buffer.from(other), 64), { kind: 'other' })
})

t.test('names are decoded alike whether they were seen before or not', async t => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\\', '"'), maxLength: 4 }), { maxLength: 30 }),
      names => {
        for (const name of names) {
          const text = `{"${JSON.stringify(name).slice(1, -1)}":0}`
          assert.deepEqual(objectIn(text).top.keys, [name])
        }
      }
    ),
    { numRuns: 300 }
  )
  for (const length of [0, 1, 31, 32, 33, 100]) {
    for (const end of ['x', 'é', '\\n']) {
      const name = `${'n'.repeat(length)}${end}`
      for (let i = 0; i < 2; i++) t.same(objectIn(`{"${name}":0}`).top.keys, [JSON.parse(`"${name}"`)])
    }
  }
})
