import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createModuleBackend } from '../../src/backends/module/backend.ts'
import { type ClientOptions, connect, notices } from '../helpers/module-link.ts'

const path = fileURLToPath(new URL('../../src/handlers/demo.ts', import.meta.url))

async function demo(t: Test, options?: ClientOptions) {
  const backend = await createModuleBackend({ name: 'demo', path, strict: true })
  t.teardown(() => backend.close())
  return connect(t, backend, options)
}

t.test('the demo is served without a warning', async t => {
  const told = notices(t)
  await demo(t)
  t.same(
    told.map(notice => notice.level),
    ['info']
  )
})

t.test('echo says what one says', async t => {
  t.match(await (await demo(t)).result('echo', { text: 'hi' }), { content: [{ text: 'hi' }] })
})

t.test('countdown tells its progress and logs', async t => {
  const client = await demo(t)
  await client.ask('logging/setLevel', { level: 'info' })
  const said = await client.tool('countdown', { from: 2, every: 1 }, { progressToken: 1 })
  t.same(
    said.map(one => one.params?.progress ?? one.params?.data ?? one.result?.content[0].text),
    [0, { left: 2 }, 1, { left: 1 }, 2, 'Counted down from 2.']
  )
})

t.test('weather is structured, or an error', async t => {
  const client = await demo(t)
  for (const [city, wear] of [
    ['Oslo', 'a coat'],
    ['Lima', 'a jacket'],
    ['Lagos', 'a hat']
  ]) {
    t.match((await client.result('weather', { city })).structuredContent, { city, wear })
  }
  t.match(await client.result('weather', { city: 'constructor' }), { isError: true })
})

t.test('order_coffee asks the user', async t => {
  const yes = await demo(t, {
    capabilities: { elicitation: {} },
    answer: () => ({ result: { action: 'accept', content: { drink: 'Latte' } } })
  })
  t.match(await yes.result('order_coffee'), { content: [{ text: 'Order 1 of this session: Latte, sugar 0.' }] })
  t.match(await yes.result('order_coffee'), { content: [{ text: /^Order 2/ }] })
  const no = await demo(t, { capabilities: { elicitation: {} }, answer: () => ({ result: { action: 'decline' } }) })
  t.match(await no.result('order_coffee'), { content: [{ text: 'No coffee, then.' }] })
})

t.test('write_note changes a resource that others subscribed to', async t => {
  const client = await demo(t)
  await client.ask('resources/subscribe', { uri: 'demo://note' })
  t.match(await client.result('write_note', { text: 'milk' }), { content: [{}, { type: 'resource_link' }] })
  t.match(client.received, [{ params: { uri: 'demo://note' } }])
  t.match((await client.ask('resources/read', { uri: 'demo://note' })).result, { contents: [{ text: 'milk' }] })
})

t.test('templates, prompts and completions', async t => {
  const client = await demo(t)
  t.match((await client.ask('resources/read', { uri: 'demo://weather/Oslo' })).result.contents[0].text, /"celsius":4/)
  t.ok((await client.ask('resources/read', { uri: 'demo://weather/Nowhere' })).error)
  t.match((await client.ask('prompts/get', { name: 'packing_list', arguments: { city: 'Oslo' } })).result.messages, [
    { content: { text: /4 degrees in Oslo.* 3 days/ } }
  ])
  t.match((await client.ask('prompts/get', { name: 'packing_list', arguments: { city: 'X' } })).result.messages, [
    { content: { text: /who knows/ } }
  ])
  const argument = { name: 'city', value: 'L' }
  t.same(
    (await client.ask('completion/complete', { ref: { type: 'ref/prompt', name: 'packing_list' }, argument })).result
      .completion.values,
    ['Lagos', 'Lima']
  )
})
