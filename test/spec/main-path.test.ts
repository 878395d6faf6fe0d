import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { contractTools, Scripted } from '../helpers/scripted.ts'

t.test('a client initializes, calls a tool, resumes a broken stream and ends its session', async t => {
  const upstream = await HttpUpstream.start(contractTools(new Scripted()))
  t.teardown(() => upstream.close())
  const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  const client = await RawClient.open(url)
  t.match(client.server, { protocolVersion: '2025-11-25', serverInfo: { name: 'scripted' } })

  const quick = await client.call('echo', { say: 'hello' })
  t.equal(quick.headers['content-type'], 'application/json')
  t.match(quick.json, { id: 1, result: { content: [{ type: 'text', text: '{"say":"hello"}' }] } })

  const slow = await client.call('progress', {}, { progressToken: 'p' })
  const first = await slow.events.until(({ all }) => all.find(({ message }) => message !== undefined))
  slow.destroy()
  const resumed = await client.get(first.id)
  await resumed.events.whole()
  t.same(
    resumed.events.messages.map(({ params, id }) => params?.progress ?? id),
    [2, 3, 2]
  )

  t.equal((await client.delete()).status, 204)
  t.equal((await client.call('echo')).status, 404)
})
