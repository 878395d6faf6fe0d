/** Ids of sessions, events and requests: read back as they were made, and never taken for one another. */
import assert from 'node:assert'
import fc from 'fast-check'
import { sameId } from '../../src/protocol/message.ts'
import { Sessions } from '../../src/sessions/lifecycle.ts'
import { MemorySessionStore } from '../../src/sessions/memory.ts'
import type { SessionRecord } from '../../src/sessions/session.ts'
import { Entries } from '../../src/streams/entries.ts'
import { channelStream, eventId, newStream, parseEventId } from '../../src/streams/event-id.ts'
import { anyString, writeString } from '../helpers/json.ts'
import type { Target } from './target.ts'

const name = fc.string({ unit: fc.constantFrom(...'ab_-Z09'), minLength: 8, maxLength: 32 })

const made = fc.property(name, fc.nat(), (stream, number) => {
  assert.deepEqual(parseEventId(eventId(stream, number)), { stream, number })
})

/** Ids of ours after a few changes, and texts that never were one. */
const nearly = fc.oneof(
  fc
    .tuple(
      name,
      fc.nat(),
      fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.string({ unit: 'binary', maxLength: 2 })), { maxLength: 3 })
    )
    .map(([stream, number, changes]) => {
      const text = [...eventId(stream, number)]
      for (const [at, remove, insert] of changes) text.splice(at % (text.length + 1), remove, ...insert)
      return text.join('')
    }),
  fc.string({ unit: 'binary', maxLength: 60 })
)

const read = fc.property(nearly, text => {
  const cursor = parseEventId(text)
  if (cursor === undefined) return
  assert.equal(eventId(cursor.stream, cursor.number), text, 'there is one way to write an id')
  assert.match(text, /^[\x21-\x7e]+$/)
  assert(Number.isSafeInteger(cursor.number))
})

const streams = fc.property(fc.array(anyString, { maxLength: 10 }), sessions => {
  const names = [...new Set(sessions)].map(channelStream)
  names.push(newStream(), newStream())
  assert.equal(new Set(names).size, names.length)
  for (const stream of names) assert.deepEqual(parseEventId(eventId(stream, 7)), { stream, number: 7 })
})

const record = (id: string): SessionRecord => ({
  id,
  revision: 0,
  route: '/mcp',
  principal: 'p',
  group: 'g',
  client: { version: '2025-11-25', capabilities: '{}', info: '{}' },
  operating: true,
  subscriptions: [],
  links: {}
})

const sessions = fc.asyncProperty(
  fc.integer({ min: 1, max: 5 }),
  fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(2), fc.string({ unit: 'binary', maxLength: 2 })), { maxLength: 8 }),
  fc.array(anyString, { maxLength: 4 }),
  async (count, changes, others) => {
    const store = new MemorySessionStore()
    const ids = Array.from({ length: count }, () => Sessions.newId())
    for (const id of ids) {
      assert.match(id, /^[\x21-\x7e]{22,}$/)
      assert.equal(await store.create(record(id), 60_000, { total: 100, perGroup: 100 }), 'created')
    }
    for (const id of ids) assert.equal((await store.get(id, 60_000))?.id, id)
    const texts = changes.map(([which, at, remove, insert]) => {
      const text = [...ids[which % ids.length]!]
      text.splice(at % (text.length + 1), remove, ...insert)
      return text.join('')
    })
    for (const text of [...texts, ...others, '__proto__', 'constructor', '']) {
      assert.equal(await store.has(text), ids.includes(text), text)
    }
    for (const id of ids) await store.delete(id)
    for (const id of ids) assert.equal(await store.has(id), false)
  }
)

const choices = fc.array(fc.nat(5), { maxLength: 4 })

const alike = fc.property(
  anyString,
  anyString,
  choices,
  choices,
  fc.bigInt(),
  fc.bigInt(),
  (a, b, one, other, m, n) => {
    assert.equal(sameId(writeString(a, one), writeString(a, other)), true)
    assert.equal(sameId(writeString(a, one), writeString(b, other)), a === b)
    assert.equal(sameId(`${m}`, `${n}`), m === n)
    assert.equal(sameId(`${m}`, `"${m}"`), false)
  }
)

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ add: fc.nat(9), expendable: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant('drop' as const) }
)

/** What is kept of a stream against a plain list of it. */
const kept = fc.property(fc.array(step, { maxLength: 60 }), fc.nat(60), fc.nat(10), (steps, after, limit) => {
  const entries = new Entries()
  let model: { number: number; size: number; expendable: boolean }[] = []
  let last = 0
  let gone = 0
  for (const one of steps) {
    if (one !== 'drop') {
      assert.equal(entries.add(Buffer.alloc(one.add), undefined, one.expendable), ++last)
      model.push({ number: last, size: one.add, expendable: one.expendable })
    } else if (model.length > 0) {
      entries.drop()
      const victim = model.find(({ expendable }) => expendable) ?? model[0]!
      if (!victim.expendable) gone = victim.number
      model = model.filter(other => other !== victim)
    }
    assert.equal(entries.length, model.length)
    assert.equal(
      entries.bytes,
      model.reduce((sum, { size }) => sum + size, 0)
    )
    assert.equal(entries.newest, model.at(-1)?.number ?? 0)
    assert.equal(entries.gone, gone)
  }
  const expected = model.filter(({ number }) => number > after).slice(0, limit)
  assert.deepEqual(
    entries.after(after, limit).map(({ number }) => number),
    expected.map(({ number }) => number)
  )
})

export const ids = {
  properties: {
    'an event id is read back as it was made': made,
    'what is read as an event id is one, written the one way': read,
    'streams have names of their own': streams,
    'a session is found by its id alone': sessions,
    'ids are the same when type and value are, however they are written': alike,
    'what is kept of a stream is in order, and the expendable goes first': kept
  }
} satisfies Target
