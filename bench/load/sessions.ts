// A process that opens sessions and walks away from them. Usage: sessions.ts URL COUNT
import { openSessions } from './mcp.ts'

const [address = '', count = '0'] = process.argv.slice(2)
const began = performance.now()
await openSessions(new URL(address), Number(count))
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000 }))
