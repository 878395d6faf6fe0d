// The least an MCP server over Streamable HTTP can do: JSON answers, a session id, no streams.
import { randomUUID } from 'node:crypto'
import http from 'node:http'

/** Listens on the port; `resultOf` gives the JSON text of a result, by the method and the revision that is asked for. */
export function serve(port: number, resultOf: (method: string, version: unknown) => string): void {
  http
    .createServer((request, response) => {
      if (request.method !== 'POST') {
        response.writeHead(request.method === 'DELETE' ? 204 : 405).end()
        return
      }
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as Request
        if (id === undefined) {
          response.writeHead(202, { 'content-length': 0 }).end()
          return
        }
        const result = resultOf(method, params?.protocolVersion)
        const body = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`)
        const headers: http.OutgoingHttpHeaders = { 'content-type': 'application/json', 'content-length': body.length }
        if (method === 'initialize') headers['mcp-session-id'] = randomUUID()
        response.writeHead(200, headers).end(body)
      })
    })
    .listen(port, '127.0.0.1')
}

interface Request {
  readonly id?: unknown
  readonly method: string
  readonly params?: { readonly protocolVersion?: unknown }
}
