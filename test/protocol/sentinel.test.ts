import t from 'tap'
import { decodeHeader, encodeHeader } from '../../src/protocol/sentinel.ts'

const examples: readonly [value: string, header: string][] = [
  ['us-west1', 'us-west1'],
  ['file:///a b.txt', 'file:///a b.txt'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
  ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ['', '']
]

for (const [value, header] of examples) {
  t.test(`${JSON.stringify(value)} is sent as ${header} and read again`, async t => {
    t.equal(encodeHeader(value), header)
    t.equal(decodeHeader(header), value)
  })
}

t.test('blanks around a value are not of it', async t => {
  t.equal(decodeHeader(' \t echo  '), 'echo')
  t.equal(decodeHeader(' =?base64?IHBhZGRlZCA=?= '), ' padded ')
})

const malformed = {
  'characters beyond ASCII': 'caf\u00e9',
  'a control character': 'a\u0001b',
  'Base64 without its padding': '=?base64?SGVsbG8sIOS4lueVjA?=',
  'Base64 with bits left over': '=?base64?IHBhZGRlZCB=?=',
  'the other alphabet': '=?base64?PT9iYXNlNjQ_bGl0ZXJhbD89?=',
  'no Base64 at all': '=?base64?not base64?=',
  'bytes that are no UTF-8': '=?base64?/w==?='
}

for (const [what, header] of Object.entries(malformed)) {
  t.test(`${what} are refused (M26-03)`, async t => t.equal(decodeHeader(header), undefined))
}

t.test('the marker is in lower case: any other is a plain value', async t => {
  t.equal(decodeHeader('=?BASE64?IHBhZGRlZCA=?='), '=?BASE64?IHBhZGRlZCA=?=')
  t.equal(encodeHeader('=?BASE64?x?='), '=?BASE64?x?=')
})

t.test('whatever is encoded is read as it was', async t => {
  for (let i = 0; i < 2_000; i++) {
    const value = Array.from({ length: Math.floor(Math.random() * 12) }, () =>
      String.fromCodePoint(Math.random() < 0.7 ? Math.floor(Math.random() * 128) : Math.floor(Math.random() * 0xd000))
    ).join('')
    const header = encodeHeader(value)
    t.match(header, /^[\t\x20-\x7e]*$/)
    if (decodeHeader(header) !== value) t.fail(JSON.stringify(value))
  }
})
