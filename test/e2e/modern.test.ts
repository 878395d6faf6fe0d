/** The client of SDK v2 as it speaks 2026-07-28, through the gateway, over servers that speak older revisions. */
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/conformance/${name}.ts`, import.meta.url))

const backends = {
  module: { kind: 'module', path: fixture('module') },
  stdio: { kind: 'stdio', command: process.execPath, args: [fixture('stdio')], pool: 'principal' }
}

async function connect(t: Test, url: string): Promise<Client> {
  const client = new Client({ name: 'modern', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.teardown(() => client.close())
  return client
}

async function features(t: Test, client: Client, name: (own: string) => string): Promise<void> {
  t.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
  const { tools } = await client.listTools()
  t.ok(tools.some(tool => tool.name === name('test_simple_text')))
  t.match(await client.callTool({ name: name('test_simple_text'), arguments: {} }), {
    content: [{ type: 'text', text: /simple text/ }]
  })
  const steps: number[] = []
  const options = { onprogress: ({ progress }: { progress: number }) => void steps.push(progress) }
  await client.callTool({ name: name('test_tool_with_progress'), arguments: {} }, options)
  t.same(steps, [0, 50, 100])
  const uri = 'test://static-text'
  t.ok((await client.listResources()).resources.some(resource => resource.uri === uri))
  t.match(await client.readResource({ uri }), { contents: [{ uri }] })
  await t.rejects(client.readResource({ uri: 'test://nothing' }), { code: -32602 })
  t.ok((await client.listResourceTemplates()).resourceTemplates.length > 0)
  t.ok((await client.listPrompts()).prompts.some(prompt => prompt.name === name('test_simple_prompt')))
  t.match(await client.getPrompt({ name: name('test_simple_prompt') }), { messages: [{ role: 'user' }] })
}

for (const [way, backend] of Object.entries(backends)) {
  t.test(`everything that asks nothing of the client, over ${way}`, async t => {
    const { url } = await startGateway(t, { backends: { fixture: backend } })
    await features(t, await connect(t, url), own => own)
  })
}

t.test('and over several backends that are one server', async t => {
  const { url } = await startGateway(t, { routes: { '/mcp': { backends: ['module', 'stdio'] } }, backends })
  const client = await connect(t, url)
  await features(t, client, own => `module_${own}`)
  await features(t, client, own => `stdio_${own}`)
})
