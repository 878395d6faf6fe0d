/** Lists of several backends that come in pages, and lists without an end (MUX-05, B11). */
import t from 'tap'
import { stringParam } from '../../src/protocol/message.ts'
import type { Catalog } from '../helpers/catalog.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { called, names, startSeveral, unavailable, wholeList } from '../helpers/several.ts'

failOnRejections(t)

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })

/** Pages by the cursors that lead to them; `undefined` is the first. */
function paged(catalog: Catalog, pages: ReadonlyMap<string | undefined, { tools: string[]; next?: string }>): void {
  catalog.server.on('tools/list', turn => {
    const page = pages.get(stringParam(turn.message, 'cursor'))
    if (page === undefined) return turn.refuse(-32602, 'no such cursor')
    turn.answer(
      JSON.stringify({
        tools: page.tools.map(tool),
        ...(page.next === undefined ? {} : { nextCursor: page.next })
      })
    )
  })
}

t.test('pages of a backend are followed, cursors of every shape, the empty one too (MUX-05)', async t => {
  const { open, catalogs } = await startSeveral(t, { a: { tools: ['?'] }, b: { tools: ['b1'] } })
  paged(
    catalogs.a,
    new Map([
      [undefined, { tools: ['a1', 'a2'], next: '8' }],
      ['8', { tools: ['a3'], next: '' }],
      ['', { tools: [], next: 'x==' }],
      ['x==', { tools: ['a4'] }]
    ])
  )
  const client = await open()
  t.same(names(await wholeList(client, 'tools/list')), ['a1', 'a2', 'a3', 'a4', 'b1'])
  await client.call('a4')
  t.equal(catalogs.a.heard('tools/call'), 1, 'what stands on the last page is to be had')
})

const loops: readonly (readonly [what: string, make: (catalog: Catalog) => void])[] = [
  [
    'a cursor that leads back to itself',
    catalog =>
      paged(
        catalog,
        new Map([
          [undefined, { tools: ['c1'], next: 'again' }],
          ['again', { tools: ['c2'], next: 'again' }]
        ])
      )
  ],
  [
    'pages without an end',
    catalog => {
      let n = 0
      catalog.server.on('tools/list', turn => {
        n++
        turn.answer(JSON.stringify({ tools: [tool(`c${n}`)], nextCursor: `p${n}` }))
      })
    }
  ],
  [
    '100,000 tools',
    catalog => {
      const tools = Array.from({ length: 100_000 }, (_, n) => ({ name: `c${n}`, inputSchema: {} }))
      const text = JSON.stringify({ tools })
      catalog.server.on('tools/list', turn => turn.answer(text))
    }
  ],
  [
    'a list of 20 MB',
    catalog => {
      const text = JSON.stringify({ tools: [{ ...tool('c'), description: 'x'.repeat(20_000_000) }] })
      catalog.server.on('tools/list', turn => turn.answer(text))
    }
  ]
]

for (const [what, make] of loops) {
  t.test(`${what}: that backend is left out and named, the others are there (MUX-05, B11)`, async t => {
    const { open, catalogs } = await startSeveral(t, {
      a: { tools: ['a1'] },
      c: { tools: ['c1'] },
      b: { tools: ['b1'] }
    })
    make(catalogs.c)
    const client = await open()
    t.same(names(await wholeList(client, 'tools/list')), ['a1', 'b1'])
    t.same(unavailable((await client.request('tools/list')).json.result), ['c'])
    t.ok(catalogs.c.heard('tools/list') <= 110, `${catalogs.c.heard('tools/list')} pages were read`)
    t.match(await called(client, 'b1'), { result: { from: 'b' } })
  })
}

t.test('a merged list longer than a page comes in pages: everything once, in order (MUX-05)', async t => {
  const of = { a: ['a1', 'a2', 'a3'], b: ['b1'], c: [], d: ['d1', 'd2', 'd3', 'd4'] }
  const all = Object.values(of).flat()
  for (const page of [1, 2, 3, 8, 9]) {
    const { open } = await startSeveral(
      t,
      Object.fromEntries(Object.entries(of).map(([name, tools]) => [name, { tools, capabilities: { tools: {} } }])),
      { route: { page } }
    )
    const client = await open()
    t.same(names(await wholeList(client, 'tools/list')), all, `pages of ${page}`)
    const { json } = await client.request('tools/list')
    t.equal(json.result.tools.length, Math.min(page, all.length))
    t.equal('nextCursor' in json.result, page < all.length)
  }
})

t.test('cursors that nobody gave are refused with -32602, and no backend is asked (MUX-05)', async t => {
  const { open, catalogs } = await startSeveral(
    t,
    { a: { tools: ['a1', 'a2'], prompts: ['p1', 'p2'] }, b: { tools: ['b1'] } },
    { route: { page: 1 } }
  )
  const client = await open()
  const { json } = await client.request('tools/list')
  const given: string = json.result.nextCursor
  await client.request('prompts/list')
  const before = catalogs.a.heard('tools/list')
  for (const cursor of ['', '1', 'null', '{}', 'eyJ9', `${given}x`, given.slice(1), 'x'.repeat(5_000), '\u0000', 'é']) {
    const { status, json } = await client.request('tools/list', { cursor })
    t.equal(status, 200, cursor.slice(0, 20))
    t.match(json, { id: client.lastId, error: { code: -32602 } }, cursor.slice(0, 20))
  }
  for (const cursor of [7, null, {}, ['x']]) {
    const { json } = await client.request('tools/list', { cursor })
    t.match(json, { error: { code: -32602 } }, JSON.stringify(cursor))
  }
  t.match(
    (await client.request('prompts/list', { cursor: given })).json,
    { error: { code: -32602 } },
    'of another list'
  )
  t.equal(catalogs.a.heard('tools/list'), before)
  t.match((await client.request('tools/list', { cursor: given })).json.result, { tools: [{ name: 'a2' }] })
})

t.test('lists that change between pages: what stays is seen once (MUX-05)', async t => {
  const { open, catalogs } = await startSeveral(
    t,
    { a: { tools: ['a1', 'a2', 'a3', 'a4'] }, b: { tools: ['b1', 'b2'] } },
    { route: { page: 2 } }
  )
  const client = await open()
  const channel = await client.get()
  const first = (await client.request('tools/list')).json.result
  t.same(names(first.tools), ['a1', 'a2'])
  // The last one that was given goes, and one comes before it.
  catalogs.a.change('tools', ['a0', 'a1', 'a3', 'a4'])
  await channel.events.message(({ method }) => method === 'notifications/tools/list_changed')
  const rest: string[] = []
  let cursor: string | undefined = first.nextCursor
  while (cursor !== undefined) {
    const { json }: { json: any } = await client.request('tools/list', { cursor })
    if (json.error !== undefined) {
      t.equal(json.error.code, -32602, 'the client begins again')
      return
    }
    rest.push(...names(json.result.tools))
    cursor = json.result.nextCursor
  }
  for (const stays of ['a3', 'a4', 'b1', 'b2']) t.equal(rest.filter(name => name === stays).length, 1, stays)
})
