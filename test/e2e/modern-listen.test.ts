/** The client of SDK v2 as it speaks 2026-07-28 listens, through the gateway, to servers of older revisions (R42, LSN-02). */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { startSeveral } from '../helpers/several.ts'
import { until } from '../helpers/until.ts'

async function connect(t: Test, url: string): Promise<{ client: Client; heard: string[] }> {
  const client = new Client({ name: 'modern', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const heard: string[] = []
  client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'))
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.teardown(() => client.close())
  return { client, heard }
}

for (const several of [false, true]) {
  t.test(`listen, hear, close, over ${several ? 'several backends' : 'one'}`, async t => {
    const a = { tools: ['one'], resources: ['a://1'] }
    const route = { backends: several ? ['a', 'b'] : ['a'] }
    const { catalogs, gateway, url } = await startSeveral(t, { a, b: { tools: ['two'] } }, { route })
    const { client, heard } = await connect(t, url)
    await client.listTools()
    const filter = { toolsListChanged: true, resourceSubscriptions: ['a://1', 'nobody://1'] }
    const [first, second] = [await client.listen(filter), await client.listen({ toolsListChanged: true })]
    t.ok(first.honoredFilter.toolsListChanged)
    t.ok(first.honoredFilter.resourceSubscriptions?.includes('a://1'))
    await until('it is listened to', () => catalogs.a.channels.size === 1)
    catalogs.a.change('tools', ['one', 'more'])
    catalogs.a.update('a://1')
    await until('both heard', () => heard.length === 3)
    t.same(heard.toSorted(), ['a://1', 'tools', 'tools'])
    t.ok((await client.listTools()).tools.some(({ name }) => name === 'more'))
    await first.close()
    t.equal(await first.closed, 'local')
    await until('withdrawn', () => [...catalogs.a.subscriptions.values()].every(uris => uris.size === 0))
    t.equal(catalogs.a.channels.size, 1)
    await gateway.close()
    t.equal(await second.closed, 'graceful')
  })
}
