// The floor for calls: a reverse proxy of Node's own parts, a server of node:http in front of an undici pool. It buffers
// what passes and knows nothing of MCP, as little as a proxy on this platform can do. Usage: proxy.mjs PORT ORIGIN
import http from 'node:http'
import { Pool } from 'undici'

const [port, origin] = process.argv.slice(2)
const upstream = new Pool(origin, { connections: 64, pipelining: 1 })
const towardsBackend = ['content-type', 'accept', 'mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name']
const towardsClient = ['content-type', 'mcp-session-id']

const only = (names, headers) => {
  const kept = {}
  for (const name of names) if (headers[name] !== undefined) kept[name] = headers[name]
  return kept
}

const forward = async (request, response, body) => {
  const reply = await upstream.request({
    path: request.url,
    method: request.method,
    headers: only(towardsBackend, request.headers),
    body: body.length === 0 ? null : body
  })
  const content = Buffer.from(await reply.body.arrayBuffer())
  const headers = only(towardsClient, reply.headers)
  headers['content-length'] = content.length
  response.writeHead(reply.statusCode, headers).end(content)
}

http
  .createServer((request, response) => {
    const chunks = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      forward(request, response, Buffer.concat(chunks)).catch(() => response.destroy())
    })
  })
  .listen(Number(port), '127.0.0.1')
