import t from 'tap'
import { RawClient } from '../helpers/raw-client.ts'
import { namesIn, said, together } from '../helpers/union.ts'

t.test('requests without a session do not each wait for a backend that hangs', async t => {
  for (const method of ['initialize', 'tools/list']) {
    const all = await together(
      t,
      { a: { tools: ['x'] }, b: { tools: ['y'] } },
      { route: { listTimeout: '1s', initTimeout: '200ms' }, file: { sessions: { mode: 'stateless' } } }
    )
    all.servers.b!.on(method, () => {})
    const client = new RawClient(all.url)
    const ask = (method: string, params?: object) =>
      client.request(method, params, { accept: 'application/json', 'mcp-protocol-version': '2025-11-25' })
    await ask('tools/call', { name: 'x', arguments: {} })
    const began = performance.now()
    for (let i = 0; i < 5; i++) {
      t.equal(said(await ask('tools/call', { name: 'x', arguments: {} })), 'a:x {}')
      t.same(namesIn(await ask('tools/list')), ['x'])
    }
    const took = performance.now() - began
    t.ok(took < 1_500, `${method} hangs: ten took ${Math.round(took)} ms`)
  }
})
