import t from 'tap'
import { readCursor, writeCursor } from '../../src/gateway/list-cursor.ts'
import { type Item, kinds, pageOf } from '../../src/gateway/list-items.ts'
import { merge, type Shown } from '../../src/gateway/merge.ts'
import { withId } from '../../src/protocol/edit.ts'
import { readMessage } from '../../src/protocol/message.ts'
import { bytes } from '../../src/protocol/write.ts'

const itemsOf = (...texts: string[]): readonly Item[] =>
  pageOf(
    readMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${texts.join(' , ')}]}}`), 100),
    kinds.tools,
    'b'
  ).items

const shownOf = (backend: string, items: readonly Item[], change: Partial<Shown> = {}): Shown[] =>
  items.map((item, place) => ({ backend, item, place, id: undefined, description: undefined, ...change }))

const options = { kind: kinds.tools, page: 2, generation: 'g', missing: [] }
const order = ['a', 'b']

t.test('a response that was made is the one that would be read', async t => {
  const shown = shownOf('a', itemsOf('{"name":"x"}', '{"name":"ü"}', '{"name":"z"}'))
  const merged = await merge(shown, { ...options, missing: ['b'] })
  for (const page of [merged.page(undefined, order), merged.page({ backend: 'a', last: 'ü', place: 1 }, order)]) {
    const answered = withId(page, '"seven"')
    const read = readMessage(bytes(answered), 100)
    t.equal(read.id, '"seven"')
    t.same(readMessage(page.source, 100).scanned, page.scanned)
  }
  const empty = (await merge([], { ...options, missing: ['a', 'b'] })).page(undefined, order)
  t.equal(
    bytes(empty).toString(),
    '{"jsonrpc":"2.0","id":0,"result":{"tools":[],"_meta":{"dev.causeway/unavailable":["a","b"]}}}'
  )
})

t.test('name and description are replaced where they stand, or where the name stands', async t => {
  const change = { id: 'n"ew', description: 'D\u2028' }
  const texts = [
    '{"a":1.0,"description":"d","name":"x","z":[]}',
    '{"name":"y","z":null}',
    '{"description":7,"name":"w"}'
  ]
  const merged = await merge(shownOf('a', itemsOf(...texts), change), { ...options, page: 10 })
  t.equal(
    bytes(merged.page(undefined, order)).toString(),
    '{"jsonrpc":"2.0","id":0,"result":{"tools":[' +
      '{"a":1.0,"description":"D\u2028","name":"n\\"ew","z":[]},' +
      '{"name":"n\\"ew","description":"D\u2028","z":null},' +
      '{"description":"D\u2028","name":"n\\"ew"}]}}'
  )
})

t.test('the hash is that of the items alone: who is missing, and pages, make no difference', async t => {
  const shown = shownOf('a', itemsOf('{"name":"x"}', '{"name":"y"}', '{"name":"z"}'))
  const { hash } = await merge(shown, options)
  t.equal((await merge(shown, { ...options, missing: ['b'] })).hash, hash)
  t.not((await merge(shown.slice(1), options)).hash, hash)
  t.not((await merge([{ ...shown[0]!, id: 'a_x' }, ...shown.slice(1)], options)).hash, hash)
})

t.test('a cursor is for one kind of list of one generation, and nothing else is one', t => {
  const cursor = { backend: 'a', last: 'ü', place: 3 }
  const text = writeCursor(kinds.tools, 'g', cursor)
  t.match(text, /^[\w-]+$/)
  t.same(readCursor(text, kinds.tools, 'g'), cursor)
  t.equal(readCursor(text, kinds.prompts, 'g'), undefined)
  t.equal(readCursor(text, kinds.tools, 'h'), undefined)
  const forged = (...members: unknown[]) => Buffer.from(JSON.stringify(members)).toString('base64url')
  for (const wrong of [
    '',
    'x',
    forged('g', 'tools', 'a', 'x'),
    forged('g', 'tools', 'a', 1, 1),
    forged('g', 'tools', 1, 'x', 1),
    forged('g', 'tools', 'a', 'x', -1),
    forged('g', 'tools', 'a', 'x', 1.5),
    forged('g', 'tools', 'a', 'x', 1, 1),
    Buffer.from('{}').toString('base64url')
  ]) {
    t.equal(readCursor(wrong, kinds.tools, 'g'), undefined, wrong)
  }
  t.end()
})

t.test('10,000 items are merged in turns, none of them long', async t => {
  const many = Array.from({ length: 2_000 }, (_, i) => `{"name":"t${i}","description":"${'d'.repeat(200)}"}`)
  const shown = ['a', 'b', 'c', 'd', 'e'].flatMap(backend => shownOf(backend, itemsOf(...many), { id: 'renamed' }))
  let turns = 0
  const count = (): void => {
    turns++
    if (!over) setImmediate(count)
  }
  let over = false
  setImmediate(count)
  const before = process.cpuUsage()
  const merged = await merge(shown, { ...options, page: 1_000 })
  const { user, system } = process.cpuUsage(before)
  over = true
  t.ok(turns >= 9, `${turns} turns of the loop`)
  t.ok((user + system) / 1_000 < 500, `${(user + system) / 1_000} ms of processor time`)
  t.equal(JSON.parse(bytes(merged.page(undefined, order)).toString()).result.tools.length, 1_000)
})
