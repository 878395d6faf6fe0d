/** A process with the bad load: everything that clients do to a gateway to bring it down, as long as its parent does not say stop. */
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { RawClient } from '../helpers/raw-client.ts'

export interface Done {
  /** How often each happened, by name. */
  readonly counts: Record<string, number>
  /** What should not have happened. */
  readonly wrong: readonly string[]
}

const slowSockets = 2_000
const stuckReaders = 200
const hangingCalls = 20
/** Sessions a second, of which a fifth is abandoned. */
const sessionsPerSecond = 10
/** Bytes that the steady reader takes in 50 ms. */
const steadyBytes = 100_000

const [base = ''] = process.argv.slice(2)
const urlOf = (route: string): string => new URL(route, base).href
const { hostname, port } = new URL(base)
const counts: Record<string, number> = {}
const wrong: string[] = []
const sockets = new Set<net.Socket>()
let stopped = false

const count = (what: string, n = 1): void => {
  counts[what] = (counts[what] ?? 0) + n
}

const connect = (): net.Socket => {
  const socket = net.connect(Number(port), hostname)
  sockets.add(socket)
  socket.on('error', () => {})
  socket.on('close', () => sockets.delete(socket))
  return socket
}

/** A call of the backend that floods, on a socket that is read as the caller likes. */
function flood(session: string | undefined): net.Socket {
  const socket = connect()
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flood"}}'
  socket.write(
    `POST /flooding HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: ${session}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`
  )
  count('floods asked for')
  return socket
}

/** A head that never ends, a byte every few seconds. */
async function slowHeads(): Promise<void> {
  let open = 0
  while (!stopped) {
    for (let i = 0; open < slowSockets && i < 100; i++) {
      open++
      const socket = connect()
      socket.write('POST /good HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
      const timer = setInterval(() => socket.write('x'), 4_000 + Math.random() * 2_000)
      socket.resume().on('close', () => {
        clearInterval(timer)
        open--
        if (!stopped) count('slow heads that were ended')
      })
    }
    await sleep(100)
  }
}

/** Asks for a flood and takes nothing of it. */
async function stuckReader(): Promise<void> {
  while (!stopped) {
    const client = await RawClient.open(urlOf('/flooding'))
    const socket = flood(client.session).pause()
    // Without reading, the end of a connection shows in what is written.
    while (!stopped && !socket.destroyed) {
      await sleep(3_000)
      socket.write('\r\n')
    }
    if (stopped) return
    count('stuck readers that were cut')
    await client.delete()
  }
}

/** Reads a flood for a second, and again: at a steady pace, or as fast as it can. */
async function reader(everything: boolean): Promise<void> {
  while (!stopped) {
    const client = await RawClient.open(urlOf('/flooding'))
    const socket = flood(client.session)
    if (everything) socket.on('data', chunk => count('flooded bytes that were read', chunk.length))
    for (let i = 0; i < 20; i++) {
      await sleep(50)
      const chunk = everything ? null : (socket.read(Math.min(steadyBytes, socket.readableLength)) as Buffer | null)
      count('flooded bytes that were read', chunk?.length ?? 0)
    }
    socket.destroy()
    await client.delete()
  }
}

/** A backend that never answers: every call ends in its time-out, or is refused while the breaker is open. */
async function hangingCall(): Promise<void> {
  const client = await RawClient.open(urlOf('/hanging'))
  while (!stopped) {
    const response = await client.call('hang')
    const message = response.json ?? (await response.events.whole(30_000)).messages.at(-1)
    const reason = message?.error?.data?.reason
    if (reason === 'timeout') count('hanging calls that timed out')
    else if (reason === 'backend_unavailable') {
      count('hanging calls that were refused')
      await sleep(500)
    } else if (!stopped) wrong.push(`a hanging call: ${JSON.stringify(message)}`)
  }
}

/** A child that dies every second: each call has an answer, or one error. */
async function dyingCalls(): Promise<void> {
  let client: RawClient | undefined
  while (!stopped) {
    await sleep(100)
    try {
      client ??= await RawClient.open(urlOf('/dying'))
      const { json, events } = await client.call('live')
      const message = json ?? (await events.whole(10_000)).messages.at(-1)
      const reason = message?.error?.data?.reason
      if (message?.result !== undefined) count('calls of the dying child that were answered')
      else if (/^backend_(broke|unavailable)$/.test(reason)) count(`calls of the dying child: ${reason}`)
      else wrong.push(`a call of the dying child: ${JSON.stringify(message)}`)
    } catch (error) {
      // initialize while it is left alone.
      if (!/backend_(broke|unavailable)/.test(String(error))) wrong.push(`the dying child: ${error}`)
    }
  }
}

/** Sessions that come and go; every fifth just goes. */
async function churn(): Promise<void> {
  for (let n = 0; !stopped; n++) {
    await sleep(1_000 / sessionsPerSecond)
    const client = await RawClient.open(urlOf('/good'))
    const { json } = await client.call('hello')
    if (json?.result === undefined) wrong.push(`a short session: ${JSON.stringify(json)}`)
    if (n % 5 === 0) count('sessions abandoned')
    else if ((await client.delete()).status !== 204) wrong.push('a session that could not be ended')
    else count('sessions opened and ended')
  }
}

const loads: Readonly<Record<string, () => Promise<void>[]>> = {
  slow: () => [slowHeads()],
  stuck: () => Array.from({ length: stuckReaders }, stuckReader),
  steady: () => [reader(false)],
  hanging: () => Array.from({ length: hangingCalls }, hangingCall),
  dying: () => [dyingCalls()],
  churn: () => [churn()],
  // By name alone: who reads everything that a flood has leaves nothing of one core.
  thirsty: () => [reader(true)]
}
/** SOAK_LOADS names some of them, for a closer look. */
const wanted = process.env.SOAK_LOADS?.split(',') ?? Object.keys(loads).filter(name => name !== 'thirsty')
for (const load of wanted.flatMap(name => loads[name]!())) {
  load.catch((error: unknown) => {
    if (!stopped) wrong.push(String(error))
  })
}

process.on('message', () => {
  stopped = true
  for (const socket of sockets) socket.destroy()
  process.send?.({ counts, wrong: wrong.slice(0, 20) } satisfies Done, () => process.exit())
})
process.on('disconnect', () => process.exit())
