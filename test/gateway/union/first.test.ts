/** Several backends behind one endpoint are one server: initialize, lists and calls by name (MUX-03). */
import t from 'tap'
import { namesIn, said, together } from '../../helpers/union.ts'
import { until } from '../../helpers/until.ts'

t.test('initialize tells the union of what the backends can do, and instructions of all (MUX-03)', async t => {
  const { open } = await together(t, {
    a: { tools: ['x'], instructions: 'Use x.' },
    b: { prompts: ['p'], instructions: 'Ask p.' }
  })
  const { server } = await open()
  t.same(server.capabilities, { tools: { listChanged: true }, prompts: { listChanged: true } })
  t.equal(server.instructions, '# a\n\nUse x.\n\n# b\n\nAsk p.')
  t.equal(server.serverInfo.name, 'causeway')
  t.equal(server.protocolVersion, '2025-11-25')
})

t.test('one list of tools in config order; a call goes to the backend that has the name (MUX-03)', async t => {
  const { open, servers } = await together(t, { a: { tools: ['x', 'both'] }, b: { tools: ['y', 'both'] } })
  const client = await open()
  t.same(namesIn(await client.request('tools/list')), ['x', 'a_both', 'y', 'b_both'])
  t.equal(said(await client.call('x', { n: 1 })), 'a:x {"n":1}')
  t.equal(said(await client.call('y')), 'b:y {}')
  t.equal(said(await client.call('a_both')), 'a:both {}')
  t.equal(said(await client.call('b_both')), 'b:both {}')
  t.equal(said(await client.call('b_y')), 'b:y {}', 'the name with its backend works always')
  const before = servers.a!.heard.length + servers.b!.heard.length
  const unknown = await client.call('both')
  t.match(unknown.json, { error: { code: -32602, message: /unknown tool: both/ } }, "a clash is nobody's")
  t.equal(servers.a!.heard.length + servers.b!.heard.length, before, 'nobody is asked')
})

t.test('lists of many sessions cause one upstream list for each backend', async t => {
  const { open, servers } = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const clients = await Promise.all(Array.from({ length: 20 }, () => open()))
  const lists = await Promise.all(clients.map(client => client.request('tools/list')))
  for (const list of lists) t.same(namesIn(list), ['x', 'y'])
  t.equal(servers.a!.heardOf('tools/list').length, 1)
  t.equal(servers.b!.heardOf('tools/list').length, 1)
})

t.test('so do those of many that open at once, and listen', async t => {
  const { open, servers, upstreams } = await together(t, { a: { tools: ['x'] }, b: { tools: ['y'] } })
  const coming = Array.from({ length: 20 }, async () => {
    const client = await open()
    await client.get()
    return client.request('tools/list')
  })
  for (const list of await Promise.all(coming)) t.same(namesIn(list), ['x', 'y'])
  await until('all listen', () => Object.values(upstreams).every(one => one.seenOf('GET').length === 20))
  for (const server of Object.values(servers)) {
    t.ok(server.heardOf('tools/list').length <= 2, 'once more when it was read before anybody listened')
  }
})
