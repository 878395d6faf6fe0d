// The least an MCP server over Streamable HTTP can do: JSON answers, a session id, no streams.
// Usage: http.ts PORT [BYTES] [ERA], the size of the text in a call's result; modern: of 2026-07-28, without sessions
import { randomUUID } from 'node:crypto'
import http from 'node:http'
import { modernResultOf, resultOf } from './results.ts'

const [port, bytes = '2', era = 'legacy'] = process.argv.slice(2)
const text = 'x'.repeat(Number(bytes))
const results = era === 'modern' ? modernResultOf : resultOf
const callResult = JSON.stringify(results('tools/call', undefined, text))

const answer = (message: { id?: unknown; method: string; params?: { protocolVersion?: unknown } }): Buffer => {
  const result =
    message.method === 'tools/call'
      ? callResult
      : JSON.stringify(results(message.method, message.params?.protocolVersion, text))
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
