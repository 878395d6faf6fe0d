// An MCP server over Streamable HTTP with as many tools as it is told to have. No two of its lists are the same, so that
// each one that is read has to be merged anew. Usage: lists.ts PORT PREFIX COUNT
import { randomUUID } from 'node:crypto'
import http from 'node:http'
import { resultOf } from './results.ts'

const [port, prefix = 'tool', count = '1'] = process.argv.slice(2)

const properties = { path: { type: 'string', description: 'Where to look' }, depth: { type: 'integer', minimum: 0 } }
const tools = Array.from({ length: Number(count) }, (_, index) => ({
  name: `${prefix}-${index}`,
  title: `Tool ${index} of ${prefix}`,
  description:
    'Looks for what it is told to look for and says where it was found, with as much around it as is wanted.',
  inputSchema: { type: 'object', properties, required: ['path'] }
}))
/** All but the first, as they stand in every list. */
const rest = tools
  .slice(1)
  .map(tool => `,${JSON.stringify(tool)}`)
  .join('')
let lists = 0

const list = (): string => `{"tools":[${JSON.stringify({ ...tools[0], title: `List ${++lists}` })}${rest}]}`

const answer = (message: { id?: unknown; method: string; params?: { protocolVersion?: unknown } }): Buffer => {
  const { method, params } = message
  const result = method === 'tools/list' ? list() : JSON.stringify(resultOf(method, params?.protocolVersion, 'xx'))
  return Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${result}}`)
}

http
  .createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(request.method === 'DELETE' ? 204 : 405).end()
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const message = JSON.parse(Buffer.concat(chunks).toString())
      if (message.id === undefined) {
        response.writeHead(202, { 'content-length': 0 }).end()
        return
      }
      const body = answer(message)
      const headers: http.OutgoingHttpHeaders = { 'content-type': 'application/json', 'content-length': body.length }
      if (message.method === 'initialize') headers['mcp-session-id'] = randomUUID()
      response.writeHead(200, headers).end(body)
    })
  })
  .listen(Number(port), '127.0.0.1')
