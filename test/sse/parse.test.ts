import fc from 'fast-check'
import t from 'tap'
import { SseParser } from '../../src/sse/parse.ts'
import { sse } from '../fuzz/sse.ts'

interface Told {
  readonly events: [string, string][]
  readonly all: string[]
  tooLarge: boolean
}

function parse(chunks: readonly Buffer[], limit = 1_000_000): Told {
  const told: Told = { events: [], all: [], tooLarge: false }
  const parser = new SseParser(
    {
      event(data, type) {
        told.events.push([data.toString(), type])
        told.all.push(`event ${type} ${data.toString()}`)
      },
      id: id => told.all.push(`id ${id}`),
      retry: ms => told.all.push(`retry ${ms}`),
      tooLarge() {
        told.tooLarge = true
      }
    },
    limit
  )
  for (const chunk of chunks) parser.push(chunk)
  return told
}

const of = (text: string): Told => parse([Buffer.from(text)])
const bytewise = (text: Buffer): Buffer[] => Array.from({ length: text.length }, (_, i) => text.subarray(i, i + 1))

t.test('an event is its data lines joined by LF, with its type', async t => {
  t.same(of('event: x\ndata: a\ndata:b\ndata:  c\n\n').events, [['a\nb\n c', 'x']])
  t.same(of('data: a\n\n').events, [['a', 'message']])
})

t.test('lines end in LF, CR and CRLF alike', async t => {
  for (const end of ['\n', '\r', '\r\n']) {
    const text = Buffer.from(`id: 1${end}data: a${end}data: b${end}${end}data: c${end}${end}`)
    const expected = ['event message a\nb', 'id 1', 'event message c']
    t.same(parse([text]).all, expected)
    t.same(parse(bytewise(text)).all, expected)
  }
})

t.test('other line terminators of Unicode end no line (SSE-05)', async t => {
  const data = '"\u2028\u2029\u0085\v\f"'
  t.same(of(`data: ${data}\n\n`).events, [[data, 'message']])
})

t.test('a byte order mark is skipped at the beginning alone, however it is split', async t => {
  const text = Buffer.from('\ufeffdata: a\n\n\ufeffdata: b\n\n')
  t.same(parse([text]).events, [['a', 'message']])
  t.same(parse(bytewise(text)).events, [['a', 'message']])
  t.same(parse([Buffer.from([0xef, 0xbb]), Buffer.from('data: a\n\ndata: b\n\n')]).events, [['b', 'message']])
})

t.test('comments and unknown fields are ignored', async t => {
  t.same(of(': hello\n:\nfoo: bar\ndata\nx\ndatax: 1\ndata: a\nverylongfield: 1\n\n').events, [['\na', 'message']])
})

t.test('an id without data is told and no event; so is one with empty data (SSE-03)', async t => {
  t.same(of('id: a_0\nretry: 500\ndata:\n\ndata: \n\nid: b\n\ndata: x\n\n').all, [
    'retry 500',
    'id a_0',
    'id b',
    'event message x'
  ])
})

t.test('an id with NUL is ignored, an empty one resets (SSE-11)', async t => {
  t.same(of('id: a\0b\ndata: x\n\nid: a: b\ndata: y\n\nid\ndata: z\n\n').all, [
    'event message x',
    'event message y',
    'id a: b',
    'event message z',
    'id '
  ])
})

t.test('retry counts when it is digits alone', async t => {
  t.same(of('retry: 12\nretry: 1s\nretry: -1\nretry:\nretry:3\n').all, ['retry 12', 'retry 3'])
})

t.test('an event that does not end is not told', async t => {
  t.same(of('data: a\n').events, [])
  t.same(of('data: a').events, [])
})

for (const [title, property] of Object.entries(sse.properties)) {
  t.test(`SSE-05 ${title}`, async () => fc.assert(property as fc.IRawProperty<unknown>, { numRuns: 500 }))
}

t.test('an event may be as large as the bound and no larger, in one line or many', async t => {
  const fits = `data: ${'x'.repeat(100)}\n\n`
  const over = `data: ${'x'.repeat(101)}\n\n`
  for (const split of [(text: string) => [Buffer.from(text)], (text: string) => bytewise(Buffer.from(text))]) {
    t.same([parse(split(fits), 100).tooLarge, parse(split(fits), 100).events.length], [false, 1])
    t.same([parse(split(over), 100).tooLarge, parse(split(over), 100).events.length], [true, 0])
  }
  t.ok(parse([Buffer.from('data: xxxxxxxxx\n'.repeat(12))], 100).tooLarge)
  t.ok(parse([Buffer.from(`: ${'x'.repeat(200)}`)], 100).tooLarge, 'a comment without an end')
  t.ok(parse([Buffer.from('data\n'.repeat(200_000))]).tooLarge, 'very many empty lines')
})

t.test('what came before an event that is too large is told, and nothing after it', async t => {
  const told = parse(
    [Buffer.from(`data: a\n\ndata: ${'x'.repeat(200)}\n\ndata: b\n\n`), Buffer.from('data: c\n\n')],
    100
  )
  t.same(told.events, [['a', 'message']])
  t.ok(told.tooLarge)
})

t.test('a line of 20 MB in small pieces takes linear time (SSE-06)', async t => {
  const size = 20 * 1024 * 1024
  const piece = Buffer.alloc(4096, 'x')
  const sizes: number[] = []
  const parser = new SseParser(
    { event: data => sizes.push(data.length), id: () => {}, retry: () => {}, tooLarge: () => {} },
    32 * 1024 * 1024
  )
  const begun = performance.now()
  parser.push(Buffer.from('data: '))
  for (let i = 0; i < size / piece.length; i++) parser.push(piece)
  parser.push(Buffer.from('\n\n'))
  t.same(sizes, [size])
  t.ok(performance.now() - begun < 2_000)
})

t.test('SSE-06 an event over the bound is skipped where that is wanted, and the next ones are told', t => {
  const large = `{"id":7,"x":"${'x'.repeat(400)}"}`
  const text =
    `data: one\n\nevent: e\nid: 5\ndata: ${large}\r\ndata: more\n\ndata: two\n\n` +
    `: ${'c'.repeat(300)}\n\ndata: three\n\n${'data: xxxxxxxxx\n'.repeat(30)}\ndata: four\n\n`
  const bytes = Buffer.from(text)
  for (const size of [1, 2, 3, 7, 64, 101, 333, 4_096]) {
    const told: string[] = []
    const parser = new SseParser(
      {
        event: (data, type) => told.push(`${type} ${data}`),
        id: id => told.push(`id ${id}`),
        retry: () => {},
        tooLarge: head => told.push(`large ${head.toString().slice(0, 7)}`),
        skipped: tail => told.push(`skipped ${tail.toString().slice(-5)}`)
      },
      100
    )
    for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size))
    const comment = told.filter(line => line.startsWith('large : c'))
    t.same(
      told.filter(line => !line.startsWith('large : c') && !line.startsWith('skipped cc')),
      [
        'message one',
        'large {"id":7',
        'skipped  more',
        'message two',
        'message three',
        'large xxxxxxx',
        'skipped xxxxx',
        'message four'
      ],
      `${size} bytes at a time`
    )
    t.ok(comment.length <= 1)
  }
  t.end()
})
