import * as fc from 'fast-check'
import t from 'tap'
import { Lines } from '../../../src/backends/stdio/lines.ts'

type Told = string | { large: [string, string] } | { endless: string }

function setUp(limit: number, more: (line: string) => boolean = () => true) {
  const told: Told[] = []
  const lines = new Lines(
    {
      line: bytes => {
        told.push(bytes.toString())
        return more(bytes.toString())
      },
      tooLarge: (head, tail) => void told.push({ large: [head.toString(), tail.toString()] }),
      endless: head => void told.push({ endless: head.toString() })
    },
    limit
  )
  return { told, lines }
}

t.test('SSE-01 SSE-05 any split gives the same lines, which end in LF and nowhere else', t => {
  const text = 'a😀“\n\n\r\n{"x":"\u2028\u2029\u0085\v\f\r"}\r\nlast'
  const bytes = Buffer.from(text)
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), cuts => {
      const { told, lines } = setUp(1_000)
      const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      for (let i = 1; i < at.length; i++) lines.push(bytes.subarray(at[i - 1], at[i]))
      lines.end()
      return JSON.stringify(told) === JSON.stringify(['a😀“', '{"x":"\u2028\u2029\u0085\v\f\r"}', 'last'])
    })
  )
  const { told, lines } = setUp(1_000)
  for (const byte of bytes) lines.push(Buffer.of(byte))
  lines.end()
  t.same(told, ['a😀“', '{"x":"\u2028\u2029\u0085\v\f\r"}', 'last'])
  t.end()
})

t.test('SSE-06 a line over the bound is told by its ends, and the next one is read', t => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 700 }), size => {
      const { told, lines } = setUp(500)
      const bytes = Buffer.from(
        `ok\n${'h'.repeat(300)}${'m'.repeat(200)}${'t'.repeat(300)}\nnext\n${'x'.repeat(500)}\n`
      )
      for (let at = 0; at < bytes.length; at += size) lines.push(bytes.subarray(at, at + size))
      const [ok, large, next, fits] = told
      return (
        told.length === 4 &&
        ok === 'ok' &&
        JSON.stringify(large) === JSON.stringify({ large: ['h'.repeat(256), 't'.repeat(256)] }) &&
        next === 'next' &&
        (fits as string).length === 500
      )
    })
  )
  t.end()
})

t.test('SSE-06 a line without an end is given up at four times the bound, and holds no memory until then', t => {
  const { told, lines } = setUp(1_000)
  lines.push(Buffer.from('first\n'))
  for (let i = 0; i < 100; i++) lines.push(Buffer.alloc(100, 'x'))
  lines.push(Buffer.from('\nlater\n'))
  lines.end()
  t.same(told, ['first', { endless: 'x'.repeat(256) }])
  t.end()
})

t.test('a line larger than the bound at the very end is told', t => {
  const { told, lines } = setUp(10)
  lines.push(Buffer.from('x'.repeat(20)))
  lines.end()
  t.same(told, [{ large: ['x'.repeat(20), 'x'.repeat(20)] }])
  t.end()
})

t.test('a reader that is not ready stops the lines there; the end tells the rest all the same', t => {
  const { told, lines } = setUp(100, line => !line.startsWith('stop'))
  t.notOk(lines.push(Buffer.from('a\nstop1\nb\nstop2\n')))
  t.same(told, ['a', 'stop1'])
  t.notOk(lines.resume())
  t.same(told, ['a', 'stop1', 'b', 'stop2'])
  t.ok(lines.resume())
  t.notOk(lines.push(Buffer.from('stop3\nstop4\nrest')))
  lines.end()
  t.same(told.slice(4), ['stop3', 'stop4', 'rest'])
  t.end()
})

t.test('SSE-06 a line of 20 MB in small pieces takes time in proportion to its length', t => {
  const piece = Buffer.alloc(16_384, 'x')
  const measure = (mebibytes: number): number => {
    const { told, lines } = setUp(64 * 1024 * 1024)
    const from = performance.now()
    for (let i = 0; i < mebibytes * 64; i++) lines.push(piece)
    lines.push(Buffer.from('\n'))
    const took = performance.now() - from
    t.equal((told[0] as string).length, mebibytes * 1024 * 1024)
    return took
  }
  measure(2)
  t.ok(measure(20) < 2_000)
  t.end()
})
