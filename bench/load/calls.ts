// A process that sends small requests over 32 connections for a while and prints what it saw as JSON.
// Usage: calls.ts URL SECONDS PID ERA [REQUEST], the CPU time of that process over the measured time is in the output; ERA is
// that of the client; REQUEST is method and params as they stand in the message, a tools/call of `echo` unless told otherwise
import { cpuOf } from '../program.ts'
import { Connection, type Reply } from './connection.ts'
import { type Era, modernLines, openSession, post, smallCall } from './mcp.ts'

export interface CallsReport {
  readonly perSecond: number
  /** CPU microseconds of the watched process per call. */
  readonly cpu: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Size of a response's body, the mean. */
  readonly bytes: number
}

const connections = 32
const [address = '', seconds = '3', pid = '0', era = 'legacy', request = smallCall(era as Era)] = process.argv.slice(2)
/**
 * Before each measured time, ms: the first requests of a round are unlike the last of the round before, and code is compiled
 * anew. What is that short is not measured, only tried.
 */
const warmUp = Number(seconds) < 1 ? 300 : 3000
const url = new URL(address)

const openLegacy = async (): Promise<string> => {
  const first = new Connection(url)
  const session = await openSession(first, url)
  first.close()
  return session
}

const lines = era === 'modern' ? modernLines : await openLegacy()

// Every id has seven digits, so that one head serves all requests.
const bodyOf = (id: number): string => `{"jsonrpc":"2.0","id":${id},${request}}`
const example = post(url, lines, bodyOf(1_000_000))
const head = example.slice(0, example.indexOf('\r\n\r\n') + 4)

let next = 1_000_000
let running = true
let measuring = false
const latencies: number[] = []
let bytes = 0

const check = (reply: Reply): void => {
  const good = reply.status === 200 && reply.start.includes('"result"')
  if (!good) throw new Error(`a call failed: ${reply.status} ${reply.start}`)
}

const drive = (connection: Connection): Promise<void> =>
  new Promise(resolve => {
    const call = (): void => {
      const sent = performance.now()
      connection.send(head + bodyOf(next++), reply => {
        check(reply)
        if (measuring) {
          bytes += reply.size
          latencies.push(performance.now() - sent)
        }
        if (running) call()
        else {
          connection.close()
          resolve()
        }
      })
    }
    call()
  })

const all = Promise.all(Array.from({ length: connections }, () => drive(new Connection(url))))
await new Promise(resolve => setTimeout(resolve, warmUp))
const cpuBefore = cpuOf(Number(pid))
const began = performance.now()
measuring = true
await new Promise(resolve => setTimeout(resolve, Number(seconds) * 1000))
measuring = false
const elapsed = performance.now() - began
const cpu = cpuOf(Number(pid)) - cpuBefore
running = false
await all

latencies.sort((a, b) => a - b)
const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0
const report: CallsReport = {
  perSecond: (latencies.length * 1000) / elapsed,
  cpu: cpu / latencies.length,
  p50: at(0.5),
  p99: at(0.99),
  bytes: bytes / latencies.length
}
console.log(JSON.stringify(report))
