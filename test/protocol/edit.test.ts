import assert from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { withId, withMember, withMeta, withParam } from '../../src/protocol/edit.ts'
import { type Message, readMessage } from '../../src/protocol/message.ts'
import { byteLength, bytes, parts } from '../../src/protocol/write.ts'
import { anyString, jsonText, object, spacing, writeString } from '../helpers/json.ts'

type Members = [key: string, value: string][]

const key = fc.oneof(anyString, fc.constantFrom('a', 'b', 'é"\\', '__proto__', ''))
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

t.test('R196: a splice says what parsing, changing and writing anew would say', async t => {
  fc.assert(
    fc.property(
      members,
      members,
      members,
      spacing,
      fc.array(fc.nat(5), { maxLength: 3 }),
      fc.array(change, { minLength: 1, maxLength: 6 }),
      (more, params, meta, s, choices, changes) => {
        const own = ['jsonrpc', 'method', 'params', 'id', 'result', 'error']
        const rest = more.filter(([key]) => !own.includes(key))
        const inner = params.filter(([key]) => key !== '_meta')
        const all: Members = [
          ...rest,
          ['jsonrpc', '"2.0"'],
          ['id', '1'],
          ['method', '"m"'],
          ['params', written([...inner, ['_meta', written(meta, choices, s)]], choices, s)]
        ]
        let message: Message = readMessage(Buffer.from(written(all, choices, s)), 10_000)
        const model = JSON.parse(bytes(message).toString())
        for (const { where, which, fresh, value } of changes) {
          const parsed = JSON.parse(value)
          if (where === 'id') {
            message = withId(message, `${which}`)
            set(model, 'id', which)
            continue
          }
          const known = { top: rest, params: inner, meta }[where]
          const name = known[which]?.[0] ?? fresh
          if (where === 'top' && !own.includes(name)) {
            message = withMember(message, name, value)
            set(model, name, parsed)
          } else if (where === 'params' && name !== '_meta') {
            message = withParam(message, name, value)
            set(model.params, name, parsed)
          } else if (where === 'meta') {
            message = withMeta(message, name, value)
            set(model.params._meta, name, parsed)
          }
        }
        const text = bytes(message)
        assert.deepEqual(JSON.parse(text.toString()), model)
        assert.equal(text.length, byteLength(message))
        assert.deepEqual(Buffer.concat(parts(message)), text)
        const again = readMessage(text, 10_000)
        assert.equal(again.id, message.id, 'and no member stands twice')
      }
    ),
    { numRuns: 1_000 }
  )
  t.pass()
})

t.test('a response without an id gets one', async t => {
  const message = readMessage(Buffer.from('{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}'), 64)
  t.equal(bytes(withId(message, '"a"')).toString(), '{"id":"a","jsonrpc":"2.0","error":{"code":1,"message":"x"}}')
})
