/** The scanner of JSON against `JSON.parse`, and what it says of messages against what their values say. */
import assert from 'node:assert'
import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { GatewayError } from '../../src/errors.ts'
import { isBatch, type Message, read } from '../../src/protocol/message.ts'
import { ScanError, type Scanned, scan } from '../../src/protocol/scan.ts'
import { anyString, jsonText, object, spacing, writeString } from '../helpers/json.ts'
import type { Target } from './target.ts'

const deep = 10_000

/** The reason of the refusal; undefined when the text is accepted. */
export function refusal(text: string | Buffer, maxDepth = deep): string | undefined {
  try {
    scan(Buffer.from(text as string), maxDepth)
    return undefined
  } catch (error) {
    if (!(error instanceof ScanError)) throw error
    return error.reason
  }
}

/** Whether JSON.parse takes the bytes. */
export function parses(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString())
    return isUtf8(bytes)
  } catch {
    return false
  }
}

/** In an array nothing is watched, so that only the grammar decides. */
const wrap = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from('['), bytes, Buffer.from(']')])

export function assertSame(bytes: Buffer): void {
  assert.equal(refusal(wrap(bytes)), parses(wrap(bytes)) ? undefined : 'syntax', bytes.toString('latin1'))
  const alone = refusal(bytes)
  if (alone !== 'duplicate' && alone !== 'many') {
    assert.equal(alone, parses(bytes) ? undefined : 'syntax', bytes.toString('latin1'))
  }
}

export function objectIn(text: string): Scanned {
  const found = scan(Buffer.from(text), 64)
  if (found.kind !== 'object') throw new Error(`${text} is no object`)
  return found.object
}

const anyByte = fc.oneof(
  fc.constantFrom(...Buffer.from('{}[]":,\\/ \n\t\r0123456789.eE+-truefalsn\u0000\u001f\u007f')),
  fc.nat(255)
)
const change = fc.record({ at: fc.nat(), remove: fc.nat(3), insert: fc.array(anyByte, { maxLength: 3 }) })

/** Bytes after some changes anywhere. */
const changed = fc.tuple(jsonText, fc.array(change, { minLength: 1, maxLength: 3 })).map(([text, changes]) => {
  const bytes = [...Buffer.from(text)]
  for (const { at, remove, insert } of changes) bytes.splice(at % (bytes.length + 1), remove, ...insert)
  return Buffer.from(bytes)
})

const members = (reserved: string) =>
  fc
    .tuple(
      fc.uniqueArray(anyString, { maxLength: 6 }),
      fc.array(jsonText, { minLength: 6, maxLength: 6 }),
      fc.array(fc.nat(8), { maxLength: 3 })
    )
    .map(([keys, values, choices]) =>
      keys
        .filter(key => key !== reserved)
        .map((key, i) => ({ key, name: writeString(key, choices), value: values[i]! }))
    )

type Named = { readonly key: string; readonly name: string; readonly value: string }

const insert = (list: readonly Named[], at: number, item: Named): Named[] =>
  list.toSpliced(at % (list.length + 1), 0, item)

const textOf = (list: readonly Named[], s: readonly string[]): string =>
  object(
    list.map(({ name, value }) => [name, value] as const),
    s
  )

/** A message, its `params` and its `_meta`, each with any members in any order. */
const nested = fc
  .tuple(members('params'), members('_meta'), members(''), spacing, fc.nat(), fc.boolean())
  .map(([more, inner, meta, s, at, escaped]) => {
    const params = insert(inner, at, {
      key: '_meta',
      name: escaped ? '"\\u005fmet\\u0061"' : '"_meta"',
      value: textOf(meta, s)
    })
    const top = insert(more, at, {
      key: 'params',
      name: escaped ? '"par\\u0061ms"' : '"params"',
      value: textOf(params, s)
    })
    return { top, params, meta, text: `${s[0]}${textOf(top, s)}${s.at(-1)}` }
  })

function assertSpans({ top, params, meta, text }: Record<'top' | 'params' | 'meta', Named[]> & { text: string }): void {
  const bytes = Buffer.from(text)
  const found = scan(bytes, deep)
  assert(found.kind === 'object')
  for (const [list, got] of [
    [top, found.object.top],
    [params, found.object.params],
    [meta, found.object.meta]
  ] as const) {
    assert(got !== undefined)
    assert.deepEqual(
      got.keys,
      list.map(({ key }) => key)
    )
    list.forEach(({ value }, i) => {
      assert.equal(bytes.toString('utf8', got.spans[2 * i], got.spans[2 * i + 1]), value)
    })
    assert.equal(bytes[got.start], 0x7b)
    assert.equal(bytes[got.end - 1], 0x7d)
  }
}

const idText = fc.oneof(
  fc.constantFrom('null', '1.0', '1e1', '-0', 'true', '{}', '[]', '""', '9007199254740993', `"${'x'.repeat(511)}"`),
  fc.bigInt().map(String),
  fc.tuple(anyString, fc.array(fc.nat(5), { maxLength: 2 })).map(([text, choices]) => writeString(text, choices))
)

/** Envelopes, the right ones as often as those with a member too few, too many, or of another type. */
const envelope = fc
  .record(
    {
      jsonrpc: fc.oneof({ weight: 8, arbitrary: fc.constant('"2.0"') }, fc.constantFrom('"1.0"', '2.0', 'null', '"2"')),
      id: idText,
      method: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom('"ping"', '"tools/call"', '"\\u0070ing"') },
        fc.constantFrom('""', '5', 'null', '[]')
      ),
      params: fc.constantFrom('{}', '{"_meta":{}}', '{"_meta":[]}', '{"_meta":null,"a":1}', '[]', 'null', '"x"'),
      result: fc.constantFrom('{}', 'null', '[]'),
      error: fc.constantFrom('{"code":1,"message":""}', 'null')
    },
    { requiredKeys: [] }
  )
  .chain(found =>
    fc.shuffledSubarray(Object.entries(found) as [string, string][], { minLength: Object.keys(found).length })
  )
  .map(list => `{${list.map(([key, value]) => `"${key}":${value}`).join(',')}}`)

type Verdict = { readonly kind: string } | 'invalid'

/** JSON-RPC 2.0 as MCP has it (basic/index, "Messages"), read off the values. */
function verdictOf(text: string): Verdict {
  const value = JSON.parse(text) as Record<string, unknown>
  const has = (key: string): boolean => Object.hasOwn(value, key)
  const isObject = (one: unknown): boolean => typeof one === 'object' && one !== null && !Array.isArray(one)
  const idWritten = /"id":("(?:[^"\\]|\\.)*"|[^,}\]]+)/.exec(text)?.[1] ?? ''
  const goodId = (typeof value.id === 'string' || /^-?\d+$/.test(idWritten)) && Buffer.byteLength(idWritten) <= 512
  if (value.jsonrpc !== '2.0' || [has('method'), has('result'), has('error')].filter(Boolean).length !== 1)
    return 'invalid'
  if (has('result')) return goodId ? { kind: 'response' } : 'invalid'
  if (has('error')) return { kind: 'response' }
  if (typeof value.method !== 'string' || value.method === '') return 'invalid'
  if (has('params')) {
    const params = value.params as Record<string, unknown>
    if (!isObject(params) || (Object.hasOwn(params, '_meta') && !isObject(params._meta))) return 'invalid'
  }
  if (!has('id')) return { kind: 'notification' }
  return goodId ? { kind: 'request' } : 'invalid'
}

function judged(bytes: Buffer): (Message | GatewayError)[] {
  try {
    const got = read(bytes, 64)
    return isBatch(got) ? [...got.elements] : [got]
  } catch (error) {
    if (error instanceof GatewayError) return [error]
    throw error
  }
}

function assertJudged(text: string, got: Message | GatewayError): void {
  const verdict = verdictOf(text)
  if (verdict === 'invalid') {
    assert(got instanceof GatewayError, text)
    assert.equal(got.code, 'invalid', text)
    return
  }
  assert(!(got instanceof GatewayError), text)
  assert.equal(got.kind, verdict.kind, text)
  const value = JSON.parse(text)
  assert.equal(got.method, value.method, text)
  if (got.id !== undefined) {
    assert(text.includes(`"id":${got.id}`), text)
    if (typeof value.id === 'string') assert.equal(JSON.parse(got.id), value.id, text)
  }
}

export const json = {
  properties: {
    'every text that is JSON is accepted': fc.property(jsonText, spacing, (text, s) =>
      assertSame(Buffer.from(`${s[0]}${text}${s.at(-1)}`))
    ),
    'of changed texts those are accepted that JSON.parse accepts': fc.property(changed, assertSame),
    'random bytes are refused like JSON.parse refuses them': fc.property(fc.uint8Array({ maxLength: 12 }), bytes =>
      assertSame(Buffer.from(bytes))
    ),
    'spans are those of the members': fc.property(nested, assertSpans),
    'an envelope is judged by its members': fc.property(envelope, text => {
      const got = judged(Buffer.from(text))
      assert.equal(got.length, 1)
      assertJudged(text, got[0]!)
    }),
    'every element of a batch is judged by itself': fc.property(
      fc.array(envelope, { minLength: 1, maxLength: 8 }),
      texts => {
        const got = judged(Buffer.from(`[${texts.join(' , ')}]`))
        assert.equal(got.length, texts.length)
        texts.forEach((text, i) => {
          assertJudged(text, got[i]!)
        })
      }
    )
  }
} satisfies Target
