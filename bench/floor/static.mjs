// The floor for lists: a bare server of node:http that reads a request and answers with the same bytes each time. It does
// what opening a session takes, and knows nothing else of MCP. Usage: static.mjs PORT FILE
import fs from 'node:fs'
import http from 'node:http'

const [port, file] = process.argv.slice(2)
const body = fs.readFileSync(file)
const opened = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}')

http
  .createServer((request, response) => {
    const chunks = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const message = Buffer.concat(chunks)
      if (message.includes('"notifications/')) {
        response.writeHead(202, { 'content-length': 0 }).end()
        return
      }
      const content = message.includes('"initialize"') ? opened : body
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': content.length }).end(content)
    })
  })
  .listen(Number(port), '127.0.0.1')
