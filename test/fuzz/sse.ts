/** The parser of event streams against the words of the standard, and against what the gateway itself writes. */
import assert from 'node:assert'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import { KeepAlive } from '../../src/http/keep-alive.ts'
import { SseReply } from '../../src/http/sse-reply.ts'
import { readMessage } from '../../src/protocol/message.ts'
import { line } from '../../src/protocol/write.ts'
import { SseParser } from '../../src/sse/parse.ts'
import { eventId } from '../../src/streams/event-id.ts'
import { jsonText, object, spacing } from '../helpers/json.ts'
import type { Target } from './target.ts'

function told(pieces: readonly Buffer[], limit = 1_000_000): string[] {
  const all: string[] = []
  const parser = new SseParser(
    {
      event: (data, type) => all.push(`event ${type} ${data.toString('latin1')}`),
      id: id => all.push(`id ${id}`),
      retry: ms => all.push(`retry ${ms}`),
      tooLarge: () => all.push('too large'),
      skipped: () => all.push('skipped')
    },
    limit
  )
  for (const piece of pieces) parser.push(piece)
  return all
}

/** HTML, "Server-sent events", 9.2.6, on the whole text at once. */
function byTheStandard(text: Buffer): string[] {
  const all: string[] = []
  const whole = text.toString('latin1').replace(/^\xef\xbb\xbf/, '')
  const lines = whole.split(/\r\n|\r|\n/).slice(0, -1)
  const utf8 = (value: string): string => Buffer.from(value, 'latin1').toString()
  let data: string[] = []
  let type = ''
  let id: string | undefined
  for (const one of lines) {
    if (one === '') {
      // An event of nothing but empty data says nothing to us: priming events have it.
      if (data.join('') !== '') all.push(`event ${type === '' ? 'message' : utf8(type)} ${data.join('\n')}`)
      if (id !== undefined) all.push(`id ${id}`)
      data = []
      type = ''
      id = undefined
      continue
    }
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(one)!
    if (name === 'data') data.push(value)
    else if (name === 'event') type = value
    else if (name === 'id' && !value.includes('\0')) id = utf8(value)
    else if (name === 'retry' && /^\d{1,15}$/.test(value)) all.push(`retry ${Number(value)}`)
  }
  return all
}

const anyLine = fc.oneof(
  fc.constantFrom(
    '',
    '',
    '',
    'data',
    'data:',
    'data: ',
    'data:  x',
    'id',
    'id: 7',
    'id:\0',
    ':',
    ': c',
    'retry: 9',
    'retry: x'
  ),
  fc.constantFrom(
    'event: x',
    'event: message',
    'event:',
    '\ufeffdata: q',
    ' data: x',
    'data : x',
    'dataa: x',
    'Data: x'
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map(text => `data: ${text}`),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc
    .tuple(fc.constantFrom('data', 'id', 'event', 'retry'), fc.string({ maxLength: 6 }))
    .map(([name, value]) => `${name}:${value}`)
)

const stream = fc
  .tuple(
    fc.constantFrom('', '', '\ufeff', '\ufeff\ufeff'),
    fc.array(fc.tuple(anyLine, fc.constantFrom('\n', '\n', '\r', '\r\n')), { maxLength: 30 }),
    fc.constantFrom('', 'data: cut')
  )
  .map(([bom, lines, rest]) => Buffer.from(`${bom}${lines.map(([one, end]) => one + end).join('')}${rest}`))

const cuts = fc.array(fc.nat(), { maxLength: 12 })

function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map(cut => (bytes.length === 0 ? 0 : cut % bytes.length)))].sort((a, b) => a - b)
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length))
}

const bytewise = (bytes: Buffer): Buffer[] => Array.from(bytes, byte => Buffer.of(byte))

/** A response that keeps what is written to it. */
function written(act: (reply: SseReply) => void): Buffer {
  const chunks: Buffer[] = []
  const raw = Object.assign(new EventEmitter(), {
    writableLength: 0,
    writableHighWaterMark: 16_384,
    destroyed: false,
    closed: false,
    socket: null,
    write: (data: string | Uint8Array) => void chunks.push(Buffer.from(data as Buffer))
  })
  const keepAlive = new KeepAlive({ everyMs: 60_000, stallMs: 60_000 })
  const reply = new SseReply(raw as unknown as ServerResponse, { keepAlive, highWater: 1 << 20, stallMs: 60_000 })
  act(reply)
  raw.emit('close')
  keepAlive.close()
  return Buffer.concat(chunks)
}

const said = fc.oneof(
  fc.record({
    what: fc.constant('push' as const),
    text: jsonText,
    s: spacing,
    id: fc.option(fc.nat(), { nil: undefined })
  }),
  fc.record({
    what: fc.constant('push' as const),
    text: fc.constant(JSON.stringify('é'.repeat(20_000))),
    s: spacing,
    id: fc.nat()
  }),
  fc.record({ what: fc.constant('prime' as const), id: fc.nat(), ms: fc.nat() }),
  fc.record({ what: fc.constant('comment' as const) }),
  fc.record({ what: fc.constant('retry' as const), ms: fc.nat() })
)

const name = 'AAAAAAAAAAAAAAAA'

const roundTrip = fc.property(fc.array(said, { maxLength: 8 }), cuts, (all, cuts) => {
  const expected: string[] = []
  const bytes = written(reply => {
    for (const one of all) {
      if (one.what === 'push') {
        const list = [
          ['"jsonrpc"', '"2.0"'],
          ['"id"', '1'],
          ['"result"', one.text]
        ] as const
        const data = line(readMessage(Buffer.from(object(list, one.s)), 10_000))
        const id = one.id === undefined ? undefined : eventId(name, one.id)
        reply.push(id, data)
        expected.push(`event message ${data.toString('latin1')}`)
        if (id !== undefined) expected.push(`id ${id}`)
      } else if (one.what === 'prime') {
        const id = eventId(name, one.id)
        reply.prime(id, one.ms)
        expected.push(`retry ${one.ms}`, `id ${id}`)
      } else if (one.what === 'retry') {
        reply.retry(one.ms)
        expected.push(`retry ${one.ms}`)
      } else {
        reply.comment()
      }
    }
  })
  assert.deepEqual(told(pieces(bytes, cuts)), expected)
  assert.deepEqual(byTheStandard(bytes), expected)
})

/** Events of a few sizes around a bound. */
const sized = fc.array(
  fc.record({ size: fc.integer({ min: 0, max: 60 }), lines: fc.integer({ min: 1, max: 4 }), comment: fc.nat(70) }),
  { minLength: 1, maxLength: 6 }
)

const bounded = fc.property(sized, cuts, (events, cuts) => {
  const limit = 40
  const text = events
    .map(({ size, lines }) => `${Array.from({ length: lines }, () => `data: ${'x'.repeat(size)}\n`).join('')}\n`)
    .join('')
  const expected = events.flatMap(({ size, lines }) => {
    const whole = size * lines + lines - 1
    if (whole > limit) return ['too large', 'skipped']
    return size === 0 ? [] : [`event message ${Array.from({ length: lines }, () => 'x'.repeat(size)).join('\n')}`]
  })
  const bytes = Buffer.from(text)
  assert.deepEqual(told([bytes], limit), expected)
  assert.deepEqual(told(pieces(bytes, cuts), limit), expected)
  assert.deepEqual(told(bytewise(bytes), limit), expected)
})

export const sse = {
  properties: {
    'a stream says what the standard has it say, however it is cut': fc.property(stream, cuts, (bytes, cuts) => {
      const expected = byTheStandard(bytes)
      assert.deepEqual(told([bytes]), expected)
      assert.deepEqual(told(pieces(bytes, cuts)), expected)
      assert.deepEqual(told(bytewise(bytes)), expected)
    }),
    'what the gateway writes is read as what it said': roundTrip,
    'an event is too large or it is not, however it is cut': bounded
  }
} satisfies Target
