/** A process with backends of the soak, those that its arguments name: good, flooding, hanging. Tells its parent their ports. */
import { once } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const initializeResult = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {}, logging: {} },
  serverInfo: { name: 'soak', version: '1' }
}

/** What a tool call gets. `token`: its progress token. */
type Tool = (response: ServerResponse, id: unknown, token: unknown) => void

const json = (response: ServerResponse, id: unknown, result: object): void =>
  void response
    .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'soak' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, result }))

const event = (message: object): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`

async function serve(tool: Tool): Promise<number> {
  const server = http.createServer(async (request, response) => {
    response.on('error', () => {})
    if (request.method === 'GET') return void response.writeHead(405).end()
    if (request.method === 'DELETE') return void response.writeHead(204).end()
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const { id, method, params } = JSON.parse(text)
    if (id === undefined) return void response.writeHead(202).end()
    if (method === 'initialize') return json(response, id, initializeResult)
    if (method === 'tools/call') return tool(response, id, params._meta?.progressToken)
    return json(response, id, {})
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A result at once, or progress first. */
const good: Tool = (response, id, token) => {
  if (token === undefined) return json(response, id, { content: [{ type: 'text', text: 'hello' }] })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let progress = 1; progress <= 3; progress++)
    response.write(event({ method: 'notifications/progress', params: { progressToken: token, progress } }))
  response.end(event({ id, result: { content: [] } }))
}

/** Says a kilobyte as often as it is taken, for ever. */
const flooding: Tool = response => {
  const log = event({ method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(1_000) } })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const more = (): void => {
    if (response.destroyed) return
    while (response.write(log));
    response.once('drain', () => setImmediate(more))
  }
  more()
}

const hanging: Tool = () => {}

const tools: Readonly<Record<string, Tool>> = { good, flooding, hanging }
const ports: Record<string, number> = {}
for (const name of process.argv.slice(2)) ports[name] = await serve(tools[name]!)
process.send?.(ports)
process.on('disconnect', () => process.exit())
