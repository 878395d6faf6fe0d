/** What the gateway does not own passes through a route of several backends as it came (MUX-08). */
import t from 'tap'
import type { Catalog } from '../helpers/catalog.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { oddResult } from '../helpers/scripted.ts'
import { startSeveral } from '../helpers/several.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

/** What a re-serialising gateway would change, with a name that stands after things that look like one. */
const odd = (name: string, key = 'name'): string =>
  '{ "z":1.0, "big":9007199254740993,"title" : "\\u0041\\ud83d\\ude00", "nested":{"name":"not this"},' +
  `"${key}" :  "${name}" , "inputSchema":{"type":"object","$schema":"http://json-schema.org/draft-07/schema#",` +
  '"properties":{"name":{"$ref":"https://example.com/schema.json"},"a":{"oneOf":[{"type":"string"},{"type":"null"}]}}},' +
  '"outputSchema":{"type":"object","empty":{}},"annotations":{"readOnlyHint":true,"x":null},"icons":[{"src":"data:,"}],' +
  '"execution":{"taskSupport":"optional"},"_meta":{"vendor.example/x":1.50},"zz":[],"huge":1e400,"b":1,"a":2}'

const escaped = odd('es\\u0063aped')

function lists(catalog: Catalog, method: string, key: string, items: readonly string[]): void {
  catalog.server.on(method, turn => turn.answer(`{"extra":1,"${key}":[${items.join(' , ')}]}`))
}

/** Bytes of the items of a list, spaces between them aside. */
const within = (text: string, items: readonly string[]): boolean => items.every(item => text.includes(item))

t.test('items of lists keep every byte but their name, where it is another one (MUX-08)', async t => {
  const { open, catalogs } = await startSeveral(t, { a: { tools: ['x'] }, b: { tools: ['x'] } })
  lists(catalogs.a, 'tools/list', 'tools', [odd('same'), escaped])
  lists(catalogs.b, 'tools/list', 'tools', [odd('same'), odd('own')])
  const client = await open()
  const { text } = await client.request('tools/list')
  t.ok(within(text, [odd('own')]), 'as it came')
  t.ok(within(text, [escaped]) || within(text, [odd('escaped')]), 'a name with escapes')
  t.ok(within(text, [odd('a_same'), odd('b_same')]), 'nothing but the name is another one')
})

for (const [method, key, capability, member, [one, two, three]] of [
  ['prompts/list', 'prompts', 'prompts', 'name', ['x1', 'x2', 'y1']],
  ['resources/list', 'resources', 'resources', 'uri', ['x://1', 'x://2', 'y://1']],
  ['resources/templates/list', 'resourceTemplates', 'resources', 'uriTemplate', ['x://{a}', 'x://{b}', 'y://{a}']]
] as const) {
  t.test(`items of ${method} keep every byte (MUX-08)`, async t => {
    const capabilities = { [capability]: {} }
    const { open, catalogs } = await startSeveral(t, { a: { capabilities }, b: { capabilities } })
    lists(catalogs.a, method, key, [odd(one, member), odd(two, member)])
    lists(catalogs.b, method, key, [odd(three, member)])
    const client = await open()
    const { text } = await client.request(method)
    t.ok(
      within(
        text,
        [one, two, three].map(text => odd(text, member))
      ),
      text.slice(0, 300)
    )
  })
}

t.test('results, errors and their data pass as they are (MUX-08)', async t => {
  const { open, catalogs } = await startSeveral(t, {
    a: { tools: ['x', 'fails', 'isError', 'array'], prompts: ['p'], resources: ['r://1'] },
    b: { tools: ['x', 'y'], prompts: ['p'], resources: ['s://1'] }
  })
  const error = '{"code":-32042,"message":"n\\u006f","data":{"why":[1.0,9007199254740993,null]}}'
  const isError = '{"isError":true,"content":[{"type":"hologram","z":1.0}],"structuredContent":[1,2]}'
  const contents = '{"contents":[{"uri":"r://1","text":"","mimeType":"x/y","_meta":{"a":1.0}}],"zz":{}}'
  const { server } = catalogs.a
  server.on('tools/call:x', turn => turn.answer(oddResult))
  server.on('tools/call:fails', turn => turn.raw(`{"jsonrpc":"2.0","id":${turn.message.id},"error":${error}}`))
  server.on('tools/call:isError', turn => turn.answer(isError))
  server.on('tools/call:array', turn => turn.answer('{"content":[],"structuredContent":[1.0]}'))
  server.on('prompts/get', turn => turn.answer(oddResult))
  server.on('resources/read', turn => turn.answer(contents))
  const client = await open()
  const textOf = async (method: string, params: object): Promise<string> => {
    const { text, events } = await client.request(method, params)
    if (text !== '') return text
    await events.whole()
    return events.all.findLast(({ message }) => message?.id === client.lastId)!.data!
  }
  t.ok((await textOf('tools/call', { name: 'a_x' })).includes(oddResult))
  t.ok((await textOf('tools/call', { name: 'fails' })).includes(error))
  t.ok((await textOf('tools/call', { name: 'isError' })).includes(isError))
  t.ok((await textOf('tools/call', { name: 'array' })).includes('"structuredContent":[1.0]'))
  t.ok((await textOf('prompts/get', { name: 'a_p' })).includes(oddResult))
  t.ok((await textOf('resources/read', { uri: 'r://1' })).includes(contents))
})

t.test('what clients send keeps every byte but the name, where it is another one (MUX-08)', async t => {
  const { open, catalogs } = await startSeveral(t, { a: { tools: ['x', 'only'] }, b: { tools: ['x'] } })
  const client = await open()
  await client.request('tools/list')
  const rest =
    '"arguments":{"name":"a_x","n":9007199254740993,"one":1.0,"e":"\\u00e9","none":null,"list":[]},"zz":1e400,' +
    '"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","vendor.example/y":{"b":1,"a":2}}'
  for (const [name, own] of [
    ['a_x', 'x'],
    ['only', 'only']
  ]) {
    await client.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"${name}",${rest}}}`)
    const sent = catalogs.a.upstream.seen.at(-1)!.body
    t.ok(sent.includes(`"params":{"name":"${own}",${rest}}`), sent)
  }
})

t.test('notifications of one of several backends pass as they are (MUX-08)', async t => {
  const { open, catalogs } = await startSeveral(t, {
    a: { tools: ['x'] },
    b: { tools: ['y'], capabilities: { tools: {}, logging: {} } }
  })
  const client = await open()
  await client.call('y')
  const channel = await client.get()
  await until('b is listened to', () => catalogs.b.channels.size === 1)
  const params = '{"level":"error","logger":"l","data":{"n":9007199254740993,"one":1.0},"zz":null}'
  for (const stream of catalogs.b.channels.values())
    stream.write(`data: {"jsonrpc":"2.0","method":"notifications/message","params":${params}}\n\n`)
  await channel.events.message(({ method }) => method === 'notifications/message')
  t.ok(channel.events.all.some(({ data }) => data?.includes(params)))
})
