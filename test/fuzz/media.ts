/** Accept and Content-Type, put together from parts of which it is known what they admit (RFC 9110, 8.3 and 12.5.1). */
import assert from 'node:assert'
import fc from 'fast-check'
import { GatewayError } from '../../src/errors.ts'
import { accepts, checkContentType } from '../../src/http/media.ts'
import type { Target } from './target.ts'

const blank = fc.constantFrom('', '', ' ', '\t', '  ')
const letters = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 })

const spelt = (text: string, capitals: readonly boolean[]): string =>
  [...text].map((letter, i) => (capitals[i % capitals.length] ? letter.toUpperCase() : letter)).join('')

const quality = fc.constantFrom(
  ['', 1],
  ['q=1', 1],
  ['q=0', 0],
  ['Q=0.0', 0],
  ['q=0.000', 0],
  ['q=0.001', 1],
  ['q=1.000', 1],
  ['q=0.5', 1]
) as fc.Arbitrary<readonly [string, 0 | 1]>

const range = fc.record({
  name: fc.constantFrom(
    'application/json',
    'text/event-stream',
    'application/*',
    'text/*',
    '*/*',
    'text/html',
    'image/*',
    'application/jsonx',
    'application/vnd.api+json'
  ),
  quality,
  parameter: fc.constantFrom('', 'charset=utf-8', 'v=1', 'x=""'),
  before: blank,
  after: blank,
  capitals: letters
})

const written = fc.array(range, { minLength: 1, maxLength: 6 })

const textOf = (ranges: readonly any[]): string =>
  ranges
    .map(({ name, quality: [q], parameter, before, after, capitals }) => {
      const parameters = [parameter, q].filter(one => one !== '').map(one => `${before};${after}${one}`)
      return `${before}${spelt(name, capitals)}${parameters.join('')}${after}`
    })
    .join(',')

/** The most specific range that is there decides. */
function admits(ranges: readonly any[], names: readonly string[]): boolean {
  for (const name of names) {
    const found = ranges.filter(range => range.name === name)
    if (found.length > 0) return found.some(({ quality: [, weight] }) => weight > 0)
  }
  return false
}

const accept = fc.property(written, ranges => {
  assert.deepEqual(
    accepts(textOf(ranges)),
    {
      json: admits(ranges, ['application/json', 'application/*', '*/*']),
      sse: admits(ranges, ['text/event-stream', 'text/*', '*/*'])
    },
    textOf(ranges)
  )
})

const anyText = fc.oneof(
  fc.string({ unit: 'binary-ascii', maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom('/', '*', ';', ',', 'q', '=', '0', '.', ' ', '"', 'application/json', 'text'),
    maxLength: 20
  })
)

const anyAccept = fc.property(anyText, text => {
  const found = accepts(text)
  // Nothing is admitted that the text does not name.
  if (text.trim() === '') assert.deepEqual(found, { json: true, sse: true })
  else if (found.json) assert.match(text, /application\/(json|\*)|\*\/\*/i)
  if (text.trim() !== '' && found.sse) assert.match(text, /text\/(event-stream|\*)|\*\/\*/i)
})

const isJson = (text: string | undefined): boolean => {
  try {
    checkContentType(text)
    return true
  } catch (error) {
    assert(error instanceof GatewayError && error.code === 'media_type')
    return false
  }
}

const contentType = fc.property(
  fc.constantFrom(
    'application/json',
    'application/jsonx',
    'text/json',
    'application/json-rpc',
    'text/plain',
    '*/*',
    ''
  ),
  letters,
  fc.array(
    fc.tuple(
      fc.constantFrom<readonly [string, boolean]>(
        ['charset=utf-8', true],
        ['charset="UTF-8"', true],
        ['Charset=utf8', true],
        ['x=y', true],
        ['x="a;b"', true],
        ['', true],
        ['charset=utf-16', false],
        ['charset=latin1', false],
        ['charset=', false],
        ['charset=""', false]
      ),
      blank
    ),
    { maxLength: 3 }
  ),
  (name, capitals, parameters) => {
    const text = `${spelt(name, capitals)}${parameters.map(([[one], s]) => `${s};${s}${one}${s}`).join('')}`
    const expected = name === 'application/json' && parameters.every(([[, good]]) => good)
    assert.equal(isJson(text), expected, text)
  }
)

const anyContentType = fc.property(anyText, text => {
  if (isJson(text)) assert.match(text, /^\s*application\/json\s*(;|$)/i)
})

export const media = {
  properties: {
    'Accept admits what its ranges say, the most specific first': accept,
    'nothing is admitted that is not named': anyAccept,
    'Content-Type is JSON in UTF-8, whatever its parameters': contentType,
    'nothing else passes for JSON': anyContentType
  }
} satisfies Target
