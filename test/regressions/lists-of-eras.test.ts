/** A list that several sessions share is one of their era: what 2026-07-28 alone allows made older clients refuse the whole list. */
import { Server } from '@modelcontextprotocol/server'
import t from 'tap'
import { serveModernHttp } from '../fixtures/modern/serve.ts'
import { Catalog } from '../helpers/catalog.ts'
import { startGateway } from '../helpers/gateway.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { wholeList } from '../helpers/several.ts'

const tool = { name: 'numbers', inputSchema: { type: 'object' as const }, outputSchema: { type: 'array' } }

const createServer = (): Server => {
  const server = new Server({ name: 'modern', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({ tools: [tool as { name: string; inputSchema: { type: 'object' } }] }))
  return server
}

for (const first of ['legacy', 'modern']) {
  t.test(`merged lists of both eras, for clients that can do the same, the ${first} one first`, async t => {
    const modern = await serveModernHttp(createServer)
    t.teardown(modern.stop)
    const old = await Catalog.start(t, 'old', { tools: ['one'] })
    const { url } = await startGateway(t, {
      backends: { modern: { kind: 'http', url: modern.url }, old: old.config },
      routes: { '/mcp': { backends: ['modern', 'old'] } }
    })
    const read: Readonly<Record<string, () => Promise<any[]>>> = {
      legacy: async () => wholeList(await RawClient.open(url), 'tools/list'),
      modern: async () => (await lastOf(await new ModernClient(url).request('tools/list'))).result.tools
    }
    const schemas: Record<string, unknown> = {}
    for (const era of first === 'legacy' ? ['legacy', 'modern'] : ['modern', 'legacy']) {
      schemas[era] = (await read[era]!()).find(({ name }) => name === 'numbers').outputSchema
    }
    t.strictSame(schemas, { legacy: undefined, modern: { type: 'array' } })
  })
}
