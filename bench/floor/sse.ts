// The floor for streams: a bare SSE server. GET opens a stream that stays silent, POST writes one event to all of them.
// Usage: sse.ts PORT
import http from 'node:http'
import { broadcastMethod } from '../gateway.ts'

const event = Buffer.from(`event: message\ndata: {"jsonrpc":"2.0","method":"${broadcastMethod}"}\n\n`)
const streams = new Set<http.ServerResponse>()

http
  .createServer((request, response) => {
    if (request.method === 'POST') {
      request.resume()
      for (const stream of streams) stream.write(event)
      response.writeHead(202, { 'content-length': 0 }).end()
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    response.write(': open\n\n')
    streams.add(response)
    response.on('close', () => streams.delete(response))
  })
  .listen(Number(process.argv[2]), '127.0.0.1')
