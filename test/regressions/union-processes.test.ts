import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { namesIn, Stocked, said } from '../helpers/union.ts'

t.test('a program that runs as often as it may is not away for the sessions that have one', async t => {
  const upstream = await HttpUpstream.start(new Stocked('a', { tools: ['x'] }))
  t.teardown(() => upstream.close())
  const { command, args, close } = await stdioUpstream(new Stocked('b', { tools: ['y'] }))
  t.teardown(close)
  const { url } = await startGateway(t, {
    backends: {
      a: { kind: 'http', url: upstream.url },
      b: { kind: 'stdio', command, args, maxProcesses: 2 }
    },
    routes: { '/mcp': { backends: ['a', 'b'], listTtl: '100ms' } }
  })
  const [one, two, three] = [await RawClient.open(url), await RawClient.open(url), await RawClient.open(url)]
  const names = namesIn(await one.request('tools/list'))
  t.same(names, ['x', 'y'])
  t.equal(said(await two.call('y')), 'b:y {}')
  await three.get()
  // Long enough for whoever looks for backends that are away.
  for (let i = 0; i < 12; i++) {
    await new Promise(resolve => setTimeout(resolve, 200))
    const { json } = await three.request('tools/list', {}, { accept: 'application/json' })
    t.same(namesIn({ json }), names)
    t.equal(json.result._meta, undefined)
  }
  t.match((await three.call('y')).json.error, { data: { reason: 'backend_unavailable', maxProcesses: 2 } })
  t.equal(said(await one.call('y')), 'b:y {}')
})
