// A process that opens many idle GET streams, then broadcasts and times the arrival at the last of them.
// Usage: streams.ts URL COUNT BROADCAST_URL BROADCAST_BODY plain|mcp
// Talks JSON lines: prints {opened} when all are open, takes a line per broadcast, answers {milliseconds}, ends on EOF.
import { once } from 'node:events'
import net from 'node:net'
import readline from 'node:readline'
import { broadcastMethod } from '../gateway.ts'
import { addressOf, get, openSessions } from './mcp.ts'

const [address = '', total = '0', broadcastAddress = '', broadcastBody = '', kind] = process.argv.slice(2)
const url = new URL(address)
const count = Number(total)
const parallel = 32

let received = 0
let arrived: () => void = () => {}

const openStream = async (session: string, index: number): Promise<void> => {
  const socket = net.connect({ host: url.hostname, port: Number(url.port), localAddress: addressOf(index) })
  socket.write(get(url, session))
  const [first] = (await once(socket, 'data')) as [Buffer]
  const status = first.toString('latin1', 9, 12)
  if (status !== '200') throw new Error(`a stream was refused: ${first.toString('latin1', 0, 300)}`)
  socket.on('data', data => {
    if (data.includes(broadcastMethod) && ++received === count) arrived()
  })
  socket.on('close', () => {
    if (!leaving) throw new Error('the server ended an idle stream')
  })
}

let leaving = false
const sessions = kind === 'mcp' ? await openSessions(url, count) : Array.from({ length: count }, () => '')
for (let begin = 0; begin < count; begin += parallel) {
  await Promise.all(sessions.slice(begin, begin + parallel).map((session, n) => openStream(session, begin + n)))
}
console.log(JSON.stringify({ opened: count }))

for await (const _ of readline.createInterface({ input: process.stdin })) {
  received = 0
  const last = new Promise<number>(resolve => {
    arrived = () => resolve(performance.now())
  })
  const began = performance.now()
  const response = await fetch(broadcastAddress, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: broadcastBody
  })
  if (!response.ok) throw new Error(`broadcast: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
  const deadline = setTimeout(() => {
    throw new Error(`${received} of ${count} streams got the broadcast within 20 s`)
  }, 20_000)
  console.log(JSON.stringify({ milliseconds: (await last) - began }))
  clearTimeout(deadline)
}
leaving = true
process.exit()
