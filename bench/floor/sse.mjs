// The floor for streams: a bare SSE server. GET opens a stream that stays silent, POST writes one event to all of them,
// the message in its body. Usage: sse.mjs PORT
import http from 'node:http'

const streams = new Set()

http
  .createServer((request, response) => {
    if (request.method === 'POST') {
      const chunks = []
      request.on('data', chunk => chunks.push(chunk))
      request.on('end', () => {
        const event = Buffer.concat([Buffer.from('event: message\ndata: '), ...chunks, Buffer.from('\n\n')])
        for (const stream of streams) stream.write(event)
        response.writeHead(202, { 'content-length': 0 }).end()
      })
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    response.write(': open\n\n')
    streams.add(response)
    response.on('close', () => streams.delete(response))
  })
  .listen(Number(process.argv[2]), '127.0.0.1')
