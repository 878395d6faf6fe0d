/** Pages of lists, up- and downstream (MUX-05; server/utilities/pagination). */
import t, { type Test } from 'tap'
import { stringParam, textParam } from '../../../src/protocol/message.ts'
import type { RawClient } from '../../helpers/raw-client.ts'
import { namesIn, type Stocked, together } from '../../helpers/union.ts'

/** Lists tools in pages: each cursor to the names and the next cursor. */
const paged = (server: Stocked, pages: Record<string, readonly [readonly string[], string | undefined]>) =>
  server.on('tools/list', turn => {
    const cursor = textParam(turn.message, 'cursor')
    const page = pages[cursor === undefined ? 'first' : JSON.parse(cursor)]
    if (page === undefined) return turn.refuse(-32602, 'no such cursor')
    const [names, nextCursor] = page
    turn.answer(JSON.stringify({ tools: names.map(name => ({ name, inputSchema: {} })), nextCursor }))
  })

/** Every page of the tools. */
async function walk(client: RawClient): Promise<string[][]> {
  const pages: string[][] = []
  let cursor: string | undefined
  do {
    const response = await client.request('tools/list', cursor === undefined ? {} : { cursor })
    pages.push(namesIn(response))
    cursor = response.json.result.nextCursor
  } while (cursor !== undefined && pages.length < 50)
  return pages
}

const numbered = (from: number, to: number, name = 't'): string[] =>
  Array.from({ length: to - from }, (_, i) => `${name}${from + i}`)

t.test(
  'upstream pages are followed, an empty cursor too; a backend that goes round in circles is left out alone (MUX-05)',
  async t => {
    const all = await together(t, { a: { tools: [] }, b: { tools: ['y'] }, c: { tools: [] } })
    paged(all.servers.a!, { first: [['a1'], '8'], '8': [['a2'], ''], '': [['a3'], 'x=='], 'x==': [['a4'], undefined] })
    paged(all.servers.c!, { first: [['c1'], 'same'], same: [['c1'], 'same'] })
    const client = await all.open()
    const { json } = await client.request('tools/list')
    t.same(namesIn({ json }), ['a1', 'a2', 'a3', 'a4', 'y'])
    t.same(json.result._meta, { 'dev.causeway/unavailable': ['c'] })
    t.ok(all.servers.c!.heardOf('tools/list').length <= 3, 'not followed for ever')
  }
)

t.test('a list with more than 100 pages, or more than 10,000 items, is left out', async t => {
  const all = await together(t, { a: { tools: [] }, b: { tools: ['y'] }, c: { tools: [] } })
  let page = 0
  all.servers.a!.on('tools/list', turn => {
    page++
    turn.answer(`{"tools":[{"name":"t${page}","inputSchema":{}}],"nextCursor":"${page}"}`)
  })
  const many = numbered(0, 10_001).map(name => ({ name, inputSchema: {} }))
  all.servers.c!.on('tools/list', turn => turn.answer(JSON.stringify({ tools: many })))
  const client = await all.open()
  const { json } = await client.request('tools/list')
  t.same(namesIn({ json }), ['y'])
  t.same(json.result._meta, { 'dev.causeway/unavailable': ['a', 'c'] })
  t.equal(page, 100)
})

const inPages = (t: Test, route = {}) =>
  together(
    t,
    { a: { tools: numbered(0, 5, 'a') }, b: { tools: numbered(0, 4, 'b') } },
    { route: { page: 3, ...route } }
  )

t.test('a long list comes in pages, everything exactly once (MUX-05)', async t => {
  const all = await inPages(t)
  t.same(await walk(await all.open()), [
    ['a0', 'a1', 'a2'],
    ['a3', 'a4', 'b0'],
    ['b1', 'b2', 'b3']
  ])
})

t.test(
  'a cursor is good in another session, and for its kind of list alone; whatever else is -32602 (MUX-05)',
  async t => {
    const all = await inPages(t)
    const client = await all.open()
    const { nextCursor: cursor } = (await client.request('tools/list')).json.result
    const other = await all.open()
    t.same(namesIn(await other.request('tools/list', { cursor })), ['a3', 'a4', 'b0'])
    const heard = all.servers.a!.heard.length
    const forged = Buffer.from(JSON.stringify(['x', 'tools', 'a', 'a2', 2])).toString('base64url')
    for (const wrong of ['', 'x', '8', forged, `${cursor}!`.repeat(40), 7, null]) {
      const { json } = await client.request('tools/list', { cursor: wrong })
      t.equal(json.error?.code, -32602, JSON.stringify(wrong))
    }
    t.equal((await client.request('prompts/list', { cursor })).json.error?.code, -32602)
    t.equal(all.servers.a!.heard.length, heard, 'no backend sees a cursor of ours')
  }
)

t.test('when tools come and go between two pages nothing else is skipped or given twice', async t => {
  const all = await inPages(t, { listTtl: '1ms' })
  const client = await all.open()
  const { nextCursor: cursor } = (await client.request('tools/list')).json.result
  for (const [tools, expected] of [
    [
      ['new', 'a0', 'a1', 'a2', 'a3', 'a4'],
      ['a3', 'a4', 'b0']
    ],
    [
      ['a0', 'a1', 'a3', 'a4'],
      ['a3', 'a4', 'b0']
    ],
    [[], ['b0', 'b1', 'b2']]
  ] as const) {
    all.servers.a!.tools = [...tools]
    await new Promise(resolve => setTimeout(resolve, 5))
    t.same(namesIn(await client.request('tools/list', { cursor })), expected, tools.join())
  }
})

t.test('the client cannot make a backend see its cursors', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const client = await all.open()
  await client.request('tools/list')
  await client.request('tools/list', { cursor: 'zzz' })
  for (const server of Object.values(all.servers)) {
    t.same(
      server.heardOf('tools/list').map(message => stringParam(message, 'cursor')),
      [undefined]
    )
  }
})
