// The least an MCP server over stdio can do, for proxies that front a child process.
import readline from 'node:readline'
import { resultOf } from './results.ts'

readline.createInterface({ input: process.stdin }).on('line', line => {
  const message = JSON.parse(line)
  if (message.id === undefined) return
  const result = resultOf(message.method, message.params?.protocolVersion, 'ok')
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n`)
})
