/** The client of SDK v2 as it speaks 2026-07-28, asked by servers of older revisions and by handlers, through the gateway. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { startGateway } from '../helpers/gateway.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/conformance/${name}.ts`, import.meta.url))

/** A server of SDK v1 over Streamable HTTP: it ends with its input. */
async function overHttp(t: Test): Promise<Record<string, unknown>> {
  const child = spawn(process.execPath, [fixture('http')], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(async () => {
    child.stdin.end()
    await once(child, 'exit')
  })
  const [line] = await once(child.stdout, 'data')
  return { kind: 'http', url: JSON.parse(String(line)).url }
}

const backends: Readonly<Record<string, object | ((t: Test) => Promise<object>)>> = {
  http: overHttp,
  module: { kind: 'module', path: fixture('module') },
  thread: { kind: 'module', path: fixture('module'), worker: true },
  stdio: { kind: 'stdio', command: process.execPath, args: [fixture('stdio')] },
  kept: { kind: 'stdio', command: process.execPath, args: [fixture('stdio')], pool: 'principal' }
}

for (const [way, backend] of Object.entries(backends)) {
  t.test(`elicitation and sampling over ${way}`, async t => {
    const { url } = await startGateway(t, {
      backends: { fixture: typeof backend === 'function' ? await backend(t) : backend }
    })
    const client = new Client(
      { name: 'modern', version: '1' },
      {
        versionNegotiation: { mode: { pin: '2026-07-28' } },
        capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} }
      }
    )
    client.setRequestHandler('elicitation/create', async () => ({
      action: 'accept' as const,
      content: { username: 'ada', email: 'ada@x.test' }
    }))
    client.setRequestHandler('sampling/createMessage', async () => ({
      role: 'assistant' as const,
      model: 'm',
      content: { type: 'text' as const, text: 'sampled' }
    }))
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    t.teardown(() => client.close())
    t.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
    const elicited = await client.callTool({ name: 'test_elicitation', arguments: { message: 'who?' } })
    t.match(JSON.stringify(elicited.content), /ada@x\.test/)
    const sampled = await client.callTool({ name: 'test_sampling', arguments: { prompt: 'say' } })
    t.match(JSON.stringify(sampled.content), /sampled/)
  })
}
