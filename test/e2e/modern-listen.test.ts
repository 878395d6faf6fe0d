/** The client of SDK v2 as it speaks 2026-07-28 listens, through the gateway, to servers of older revisions (R42, LSN-02). */
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { startModernHttp } from '../fixtures/modern/http.ts'
import { Catalog } from '../helpers/catalog.ts'
import { startGateway } from '../helpers/gateway.ts'
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

const stdioServer = fileURLToPath(new URL('../fixtures/modern/stdio.ts', import.meta.url))

for (const way of ['http', 'stdio']) {
  for (const several of [false, true]) {
    t.test(`over a modern server over ${way}${several ? ', beside one of an older revision' : ''}`, async t => {
      const server = await startModernHttp()
      t.teardown(server.stop)
      const old = await Catalog.start(t, 'old', { tools: ['one'], resources: ['old://1'] })
      const modern =
        way === 'http'
          ? { kind: 'http', url: server.url }
          : { kind: 'stdio', command: process.execPath, args: [stdioServer], scope: 'shared' }
      const { gateway, url } = await startGateway(t, {
        backends: { modern, old: old.config },
        routes: { '/mcp': { backends: several ? ['modern', 'old'] : ['modern'] } }
      })
      const { client, heard } = await connect(t, url)
      const { tools } = await client.listTools()
      const change = tools.find(({ name }) => /(^|_)change$/.test(name))!.name
      const uris = ['note://one', ...(several ? ['old://1'] : [])]
      const stream = await client.listen({ toolsListChanged: true, resourceSubscriptions: uris })
      t.same(stream.honoredFilter, { toolsListChanged: true, resourceSubscriptions: uris })
      await client.callTool({ name: change, arguments: {} })
      await until('the resource is heard of', () => heard.includes('note://one'))
      if (several) {
        await until('it listens', () => old.channels.size === 1)
        old.change('tools', ['one', 'two'])
        old.update('old://1')
        await until('the older one too', () => heard.includes('old://1'))
      }
      await until('the list is heard of', () => heard.includes('tools'))
      await gateway.close()
      t.equal(await stream.closed, 'graceful')
    })
  }
}
