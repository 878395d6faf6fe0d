/** Names and members that are something else to JavaScript, or to nobody. */
import t from 'tap'
import { capabilitiesOf } from '../../src/gateway/capabilities.ts'
import { facts } from '../../src/telemetry/events.ts'
import { namesIn, said, together } from '../helpers/union.ts'

const odd = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'b', 'a_x', '_', 'a']

t.test('tools and resources with names of objects in JavaScript are what they are', async t => {
  const all = await together(t, {
    a: { tools: [...odd, 'x'], resources: ['__proto__', 'constructor'] },
    constructor: { tools: ['y', '__proto__'], resources: ['x://1', 'toString'] }
  })
  for (const server of Object.values(all.servers)) {
    server.on('resources/read', turn => turn.answer(JSON.stringify({ contents: [{ uri: server.name, text: '' }] })))
    server.on('resources/subscribe', turn => turn.answer('{}'))
    server.on('resources/unsubscribe', turn => turn.answer('{}'))
  }
  const client = await all.open()
  const names = namesIn(await client.request('tools/list'))
  t.equal(new Set(names).size, names.length)
  t.equal(names.length, odd.length + 3)
  for (const name of names) t.ok(said(await client.call(name)), name)
  t.equal(said(await client.call('constructor')), 'a:constructor {}')
  t.match((await client.call('__proto__')).json.error, { code: -32602 }, 'both have it')
  t.match((await client.call('valueOf')).json.error, { code: -32602 })
  t.match((await client.call('')).json.error, { code: -32602 })
  for (const [uri, name] of [
    ['__proto__', 'a'],
    ['constructor', 'a'],
    ['toString', 'constructor']
  ]) {
    t.equal((await client.request('resources/read', { uri })).json.result.contents[0].uri, name)
    t.same((await client.request('resources/subscribe', { uri })).json.result, {})
    t.same((await client.request('resources/unsubscribe', { uri })).json.result, {})
  }
  for (const method of ['__proto__', 'constructor', 'toString']) {
    t.match((await client.request(method)).json.error, { code: -32601 }, method)
  }
  for (const cursor of ['', 'bnVsbA', '__proto__', 'W10', 7, null, {}]) {
    t.match((await client.request('tools/list', { cursor })).json.error, { code: -32602 }, JSON.stringify(cursor))
  }
  for (const taskId of ['', '~', '~x', '__proto__~x', 'a', 7]) {
    t.ok((await client.request('tasks/get', { taskId })).json.error, JSON.stringify(taskId))
  }
})

t.test('capabilities that are members of every object are declared like others', t => {
  const declared = JSON.parse('{"constructor":{"a":1},"__proto__":{"b":{"toString":{}}},"experimental":{"valueOf":{}}}')
  for (const servers of [
    [declared, { tools: {} }],
    [{ tools: {} }, declared]
  ]) {
    const all = capabilitiesOf(servers)
    t.same(JSON.parse(JSON.stringify({ ...all, tools: undefined })), declared)
    t.equal(JSON.stringify(all).includes('"__proto__"'), true)
  }
  t.end()
})

t.test('that a backend lists nothing is told once, not for every audience', async t => {
  const all = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  all.servers.b!.on('tools/list', turn => turn.refuse(-32603, 'no'))
  const told: string[] = []
  t.teardown(facts.notice.subscribe(({ level, text }) => void (level === 'warn' && told.push(text))))
  for (let i = 0; i < 5; i++) {
    const client = await all.open({ capabilities: { experimental: { i } } })
    t.same(namesIn(await client.request('tools/list')), ['x'])
  }
  t.equal(told.filter(text => text.includes('left out')).length, 1)
})

t.test('an error code that is no number is not repeated to clients or in the log', async t => {
  const capabilities = { tools: {}, tasks: { list: {}, cancel: {} } }
  const all = await together(t, { a: { capabilities }, b: { capabilities } }, { route: { onError: 'fail' } })
  const error = `{"code":"${'secret '.repeat(1_000)}","message":"no"}`
  for (const method of ['tools/list', 'tasks/list']) {
    all.servers.b!.on(method, turn => turn.raw(`{"jsonrpc":"2.0","id":${turn.message.id},"error":${error}}`))
  }
  all.servers.a!.on('tasks/list', turn => turn.answer('{"tasks":[]}'))
  const told: string[] = []
  t.teardown(facts.notice.subscribe(({ text }) => void told.push(text)))
  const client = await all.open()
  for (const method of ['tools/list', 'tasks/list']) {
    const { json } = await client.request(method, {}, { accept: 'application/json' })
    t.match(json.error, { code: -32603, data: { backend: 'b' } })
    t.notMatch(JSON.stringify(json), 'secret', method)
  }
  t.notMatch(told.join(), 'secret')
})
