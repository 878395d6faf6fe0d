/** What the gateway does not know passes as it is also where lists are merged and names change (MUX-08). */
import t from 'tap'
import { together } from '../../helpers/union.ts'

const odd =
  '{"name":"both","title":"T","zz":9007199254740993,"description":"a \\u0041 \\ud83d\\ude00","annotations":{"x":1.0},' +
  '"icons":[],"execution":{"taskSupport":"optional"},"outputSchema":{"$ref":"https://nowhere.invalid/s"},"n":null,' +
  '"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","oneOf":[{"type":"object","name":"inner"}]},' +
  '"_meta":{"vendor.example/x":1e2}}'

t.test('an item of a merged list is what the backend wrote, but for its name (MUX-08)', async t => {
  const all = await together(t, { a: { tools: ['both'] }, b: { tools: [] } })
  all.servers.b!.on('tools/list', turn => turn.answer(`{ "tools" : [ ${odd} ,\n {"inputSchema":{},"name":"y"} ] }`))
  const client = await all.open()
  const { text } = await client.request('tools/list')
  t.ok(text.includes(`,${odd.replace('"name":"both"', '"name":"b_both"')},{"inputSchema":{},"name":"y"}]`), text)
})

t.test('a configured name and description replace the own ones, in the list and in the call', async t => {
  const all = await together(
    t,
    { a: { tools: ['both', 'secret', 'plain'] }, b: { tools: [] } },
    {
      backends: {
        a: { tools: { deny: ['sec*'], rename: { plain: 'nice' }, describe: { plain: 'It is "nice".' } } },
        b: { tools: { describe: { both: 'B' } } }
      }
    }
  )
  all.servers.b!.on('tools/list', turn => turn.answer(`{"tools":[${odd}]}`))
  const client = await all.open()
  const { json, text } = await client.request('tools/list')
  t.match(
    json.result.tools.map(({ name, description }: any) => [name, description]),
    [
      ['a_both', undefined],
      ['nice', 'It is "nice".'],
      ['b_both', 'B']
    ]
  )
  t.ok(text.includes(odd.slice(odd.indexOf(',"annotations"'))))
  t.match((await client.call('nice')).text, /a:plain/)
  for (const name of ['plain', 'a_plain', 'secret', 'a_secret']) {
    t.match((await client.call(name)).json.error, { code: -32602, message: `unknown tool: ${name}` })
  }
  t.equal(all.servers.a!.heardOf('tools/call').length, 1, 'who is denied hears nothing of it')
})

t.test('a call keeps its bytes but for the name; its result and its errors pass as they are (MUX-08)', async t => {
  const all = await together(t, { a: { tools: ['both'] }, b: { tools: ['both'] } })
  const result =
    '{"content":[{"type":"hologram","x":1.50,"annotations":{}}],"structuredContent":[1],"isError":true,"_meta":{"v/x":1}}'
  all.servers.b!.on('tools/call', turn => turn.answer(result))
  const client = await all.open()
  const call =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"traceparent":"00-1-2-03","v/k":1.0},"name":"b_both","arguments":{"big":9007199254740993,"name":"b_both","n":null}}}'
  const { text } = await client.post(call)
  t.equal(text, `{"jsonrpc":"2.0","id":1,"result":${result}}`)
  const heard = all.servers.b!.heardOf('tools/call')[0]!.source.toString()
  t.equal(heard.replace(/"id":\d+/, '"id":1'), call.replace('"name":"b_both","arg', '"name":"both","arg'))
  all.servers.b!.on('tools/call', turn => turn.refuse(-32042, 'no', { why: ['because'], n: null }))
  t.same((await client.call('b_both')).json.error, { code: -32042, message: 'no', data: { why: ['because'], n: null } })
})

t.test('one backend with a selection is served through it, under its own names', async t => {
  const all = await together(
    t,
    { a: { tools: ['x', 'y', 'z'], resources: ['x://1', 'x://2'] } },
    { backends: { a: { tools: { allow: ['x', 'y'], rename: { y: 'why' } }, resources: { deny: ['x://2'] } } } }
  )
  const client = await all.open()
  t.same(
    (await client.request('tools/list')).json.result.tools.map(({ name }: any) => name),
    ['x', 'why']
  )
  t.match((await client.call('why')).text, /a:y/)
  t.equal((await client.call('z')).json.error.code, -32602)
  t.equal((await client.request('resources/read', { uri: 'x://2' })).json.error.code, -32002)
})

t.test('prefix always: also one backend, and every name begins with it', async t => {
  const one = await together(t, { a: { tools: ['x'] } }, { route: { prefix: 'always', separator: '--' } })
  const client = await one.open()
  t.match((await client.request('tools/list')).json.result.tools, [{ name: 'a--x' }])
  t.match((await client.call('a--x')).text, /a:x/)
  t.equal((await client.call('x')).json.error.code, -32602)
})

t.test('prefix never: of two with one name the first in config order has it; the other has its full name', async t => {
  const all = await together(t, { a: { tools: ['both'] }, b: { tools: ['both', 'y'] } }, { route: { prefix: 'never' } })
  const client = await all.open()
  t.match((await client.request('tools/list')).json.result.tools, [{ name: 'both' }, { name: 'y' }])
  t.match((await client.call('both')).text, /a:both/)
  t.match((await client.call('b_both')).text, /b:both/)
})
