import t from 'tap'
import { fetchList } from '../../src/gateway/list-fetch.ts'
import { type Item, kinds, pageOf } from '../../src/gateway/list-items.ts'
import { readMessage } from '../../src/protocol/message.ts'

const page = (result: string, kind: (typeof kinds)[keyof typeof kinds] = kinds.tools) =>
  pageOf(readMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`), 100), kind, 'b')

const textOf = ({ bytes }: Item, start: number, end: number): string => bytes.toString('utf8', start, end)

t.test('items are the bytes that the upstream wrote, whatever stands between them', t => {
  const { items, nextCursor } = page(
    '{ "x":[1], "tools" : [ {"name" : "a" , "description":"\\u0041"} ,\n{"inputSchema":{"name":"inner"},"n\\u0061me":"b"}] , "nextCursor":"\\u0063" }'
  )
  t.equal(nextCursor, 'c')
  t.same(
    items.map(({ id }) => id),
    ['a', 'b']
  )
  const [a, b] = items as [Item, Item]
  t.equal(textOf(a, a.start, a.end), '{"name" : "a" , "description":"\\u0041"}')
  t.equal(textOf(a, a.descriptionStart, a.descriptionEnd), '"\\u0041"')
  t.equal(textOf(b, b.idStart, b.idEnd), '"b"')
  t.equal(b.descriptionStart, -1)
  t.end()
})

t.test('what is no item is left out, and harms no other', t => {
  const { items } = page('{"tools":[1,null,"x",[],{},{"name":1},{"title":"t"},{"name":"ok"}],"nextCursor":7}')
  t.same(
    items.map(({ id }) => id),
    ['ok']
  )
  t.same(page('{"tools":[]}').items, [])
  t.same(page('{"resources":[{"uri":"x:1"}]}', kinds.resources).items[0]?.id, 'x:1')
  t.same(page('{"resourceTemplates":[{"uriTemplate":"x:{a}"}]}', kinds.templates).items[0]?.id, 'x:{a}')
  t.end()
})

t.test('without a list there is no page', t => {
  for (const result of ['{}', '[]', 'null', '{"tools":{}}', '{"tools":null}', '{"prompts":[]}']) {
    t.throws(() => page(result), { code: 'backend_invalid', backend: 'b' }, result)
  }
  t.end()
})

const answering = (...results: string[]) => {
  let i = 0
  return async () => readMessage(Buffer.from(`{"jsonrpc":"2.0","id":0,${results[i++]}}`), 100)
}

t.test('a list is every page of it; of two items with one name the first counts', async t => {
  const {
    list: { items, hash },
    hint
  } = await fetchList(
    kinds.tools,
    'b',
    answering(
      '"result":{"tools":[{"name":"a","n":1},{"name":"b"}],"nextCursor":"","ttlMs":90,"cacheScope":"public"}',
      '"result":{"ttlMs":70,"tools":[{"name":"a","n":2},{"name":"c"}],"cacheScope":"public"}'
    )
  )
  t.same(
    items.map(item => textOf(item, item.start, item.end)),
    ['{"name":"a","n":1}', '{"name":"b"}', '{"name":"c"}']
  )
  t.same(hint, { ttlMs: 70, shared: true })
  const { list: same } = await fetchList(
    kinds.tools,
    'b',
    answering('"result":{"tools":[{"name":"a","n":1},{"name":"b"},{"name":"a","n":2},{"name":"c"}]}')
  )
  t.equal(same.hash, hash, 'however it came in pages')
})

t.test('a list with a page that fails is none; an unknown method is an empty one', async t => {
  t.same((await fetchList(kinds.tools, 'b', answering('"error":{"code":-32601,"message":"no"}'))).list.items, [])
  const failing = answering('"result":{"tools":[],"nextCursor":"1"}', '"error":{"code":-32601,"message":"no"}')
  await t.rejects(fetchList(kinds.tools, 'b', failing), { code: 'backend_invalid', message: /the error -32601/ })
  const big = `"result":{"tools":[{"name":"a","x":"${'x'.repeat(9_000_000)}"}],"nextCursor":"`
  await t.rejects(fetchList(kinds.tools, 'b', answering(`${big}1"}`, `${big}2"}`)), { message: /16777216 bytes/ })
})
