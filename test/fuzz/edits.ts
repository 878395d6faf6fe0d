/** Changes by splice against changes by parsing, and what becomes of results for older clients against the same on values. */
import assert from 'node:assert'
import fc from 'fast-check'
import { forOlderClient } from '../../src/bridge/older-client.ts'
import { withId, withMember, withMeta, withParam } from '../../src/protocol/edit.ts'
import { type Message, readMessage } from '../../src/protocol/message.ts'
import { byteLength, bytes, line, parts } from '../../src/protocol/write.ts'
import { anyKey, jsonText, object, spacing, writeString } from '../helpers/json.ts'
import type { Target } from './target.ts'

type Members = [key: string, value: string][]

const anyDepth = 10_000

const key = fc.oneof(anyKey, fc.constantFrom('a', 'b', 'é"', '__proto__', ''))
const members: fc.Arbitrary<Members> = fc.uniqueArray(fc.tuple(key, jsonText), {
  selector: ([key]) => key,
  maxLength: 4
})

/** One change: where, which of the members there or a new one, the new value. */
const change = fc.record({
  where: fc.constantFrom('top', 'params', 'meta', 'id'),
  which: fc.nat(8),
  fresh: key,
  value: jsonText
})

const written = (list: Members, choices: readonly number[], s: readonly string[]): string =>
  object(
    list.map(([key, value]) => [writeString(key, choices), value]),
    s
  )

/** A member of an object of ours, `__proto__` like any other. */
function set(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
}

const own = ['jsonrpc', 'method', 'params', 'id', 'result', 'error']

const scene = fc
  .tuple(members, members, members, spacing, fc.array(fc.nat(5), { maxLength: 3 }))
  .map(([more, params, meta, s, choices]) => {
    const rest = more.filter(([key]) => !own.includes(key))
    const inner = params.filter(([key]) => key !== '_meta')
    const all: Members = [
      ...rest,
      ['jsonrpc', '"2.0"'],
      ['id', '1'],
      ['method', '"m"'],
      ['params', written([...inner, ['_meta', written(meta, choices, s)]], choices, s)]
    ]
    return { rest, inner, meta, text: written(all, choices, s) }
  })

function edited(message: Message, model: any, known: Record<string, Members>, one: any): Message {
  const { where, which, fresh, value } = one
  if (where === 'id') {
    set(model, 'id', which)
    return withId(message, `${which}`)
  }
  const name = known[where]?.[which]?.[0] ?? fresh
  const parsed = JSON.parse(value)
  if (where === 'top' && !own.includes(name)) {
    set(model, name, parsed)
    return withMember(message, name, value)
  }
  if (where === 'params' && name !== '_meta') {
    set(model.params, name, parsed)
    return withParam(message, name, value)
  }
  if (where !== 'meta') return message
  set(model.params._meta, name, parsed)
  return withMeta(message, name, value)
}

const splices = fc.property(scene, fc.array(change, { minLength: 1, maxLength: 6 }), (scene, changes) => {
  let message = readMessage(Buffer.from(scene.text), anyDepth)
  const model = JSON.parse(scene.text)
  const known = { top: scene.rest, params: scene.inner, meta: scene.meta }
  for (const one of changes) message = edited(message, model, known, one)
  const text = bytes(message)
  assert.deepEqual(JSON.parse(text.toString()), model)
  assert.equal(text.length, byteLength(message))
  assert.deepEqual(Buffer.concat(parts(message)), text)
  assert.equal(readMessage(text, anyDepth).id, message.id, 'and no member stands twice')
})

const lines = fc.property(jsonText, spacing, (text, s) => {
  const list = [
    ['"jsonrpc"', '"2.0"'],
    ['"id"', '1'],
    ['"result"', text]
  ] as const
  const message = readMessage(Buffer.from(object(list, s)), anyDepth)
  for (const each of [message, withMember(message, 'more', object([['"a"', text]], ['\r\n']))]) {
    const whole = bytes(each)
    const one = line(each)
    assert.ok(!one.includes(0x0a) && !one.includes(0x0d))
    assert.equal(one.length, whole.length)
    assert.deepEqual(JSON.parse(one.toString()), JSON.parse(whole.toString()))
    assert.equal(one.toString().replaceAll(' ', ''), whole.toString().replace(/[\r\n ]/g, ''))
  }
})

const small = fc.constantFrom('1', '"x"', 'null', '{}', '[1.0]', '"\\u0041"', '{"a":1,"a":2}')

/** Members in any order. */
const shuffled = (list: Members): fc.Arbitrary<Members> => fc.shuffledSubarray(list, { minLength: list.length })

const block = fc
  .record(
    {
      type: fc.constantFrom('"text"', '"audio"', '"resource_link"', '"image"', '"x"', '5'),
      text: fc.constantFrom('"hello"', '5'),
      name: fc.constantFrom('"n"', '"\\u00e9\\n"', '7'),
      uri: fc.constantFrom('"file:///a"', 'null'),
      mimeType: fc.constantFrom('"audio/wav"', '"a\\/b"'),
      data: fc.constantFrom('"AAAA"', '""'),
      annotations: fc.constantFrom('{"priority":1.0}', '{}'),
      _meta: fc.constantFrom('{"a":[ ]}', '{}'),
      extra: small
    },
    { requiredKeys: [] }
  )
  .chain(found => shuffled(Object.entries(found) as Members))

const content = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.array(fc.oneof({ weight: 6, arbitrary: block }, fc.constant<Members>([])), { maxLength: 4 })
  },
  fc.constant(undefined)
)

/** What the page of each revision lets a client take, on values (requirements, section 2.1). */
function olderBlock(block: any, i: number, version: string): any {
  const { annotations, _meta } = block
  const common = { ...('annotations' in block ? { annotations } : {}), ...('_meta' in block ? { _meta } : {}) }
  if (block.type === 'audio' && version < '2025-03-26') {
    const { mimeType = 'application/octet-stream', data = '' } = block
    return { type: 'resource', resource: { uri: `gateway:audio/${i}`, mimeType, blob: data }, ...common }
  }
  if (block.type === 'resource_link' && version < '2025-06-18') {
    const string = (value: unknown, other: string): string => (typeof value === 'string' ? value : other)
    return { type: 'text', text: `${string(block.name, 'resource')}: ${string(block.uri, '')}`, ...common }
  }
  return block
}

const older = fc.property(
  content,
  fc.option(small, { nil: undefined }),
  spacing,
  fc.nat(2),
  fc.constantFrom('2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'),
  (blocks, structured, s, at, version) => {
    const list: Members = [['other', '1.0']]
    if (blocks !== undefined) {
      const texts = blocks.map(one => written(one, [], s))
      list.splice(at, 0, ['content', `[${s[0]}${texts.join(`${s[0]},${s.at(-1)}`)}${s.at(-1)}]`])
    }
    if (structured !== undefined) list.splice(at, 0, ['structuredContent', structured])
    const result = written(list, [], s)
    const message = readMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`), anyDepth)
    const adapted = bytes(forOlderClient(message, 'tools/call', version)).toString()
    const expected = JSON.parse(result)
    if (version < '2025-06-18') {
      if (blocks !== undefined)
        expected.content = expected.content.map((one: any, i: number) => olderBlock(one, i, version))
      if (structured !== undefined && !JSON.parse(result).content?.some((one: any) => one.type === 'text')) {
        const told = { type: 'text', text: structured }
        expected.content = [told, ...(expected.content ?? [])]
      }
    }
    assert.deepEqual(JSON.parse(adapted).result, expected, adapted)
  }
)

export const edits = {
  properties: {
    'a splice says what parsing, changing and writing anew would say': splices,
    'a message on one line says the same, without CR or LF, as long as it was': lines,
    'a result for an older client is that of the values': older
  }
} satisfies Target
