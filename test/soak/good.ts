/**
 * A process with the good traffic: clients that call, wait a moment, and call again, through the gateway and, to know what the
 * machine itself costs, past it. Measures when its parent says so.
 */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { RawClient } from '../helpers/raw-client.ts'

/** Milliseconds. */
export interface Measured {
  readonly calls: number
  readonly p50: number
  readonly p99: number
  /** 99th percentile of the same calls past the gateway. */
  readonly direct: number
  readonly failed: readonly string[]
}

const clients = 20
/** Milliseconds between two calls of a client, at most; half of it on average. */
const pauseMs = 200

const [url = '', directUrl = ''] = process.argv.slice(2)
let latencies: number[] = []
let direct: number[] = []
let failed: string[] = []
let paused = false
const sessions: RawClient[] = []

async function call(client: RawClient, progress: boolean): Promise<number> {
  const began = performance.now()
  const { json, events } = await client.call('hello', {}, progress ? { progressToken: 1 } : undefined)
  const messages = json === undefined ? (await events.whole(10_000)).messages : [json]
  const ms = performance.now() - began
  if (messages.at(-1)?.result === undefined || messages.length !== (progress ? 4 : 1))
    failed.push(JSON.stringify(messages))
  return ms
}

async function drive(client: RawClient, into: () => number[]): Promise<never> {
  client.agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  for (let n = 0; ; n++) {
    await sleep(Math.random() * pauseMs)
    if (paused) continue
    try {
      into().push(await call(client, n % 5 === 0))
    } catch (error) {
      failed.push(String(error))
    }
  }
}

const percentile = (values: number[], share: number): number =>
  values.sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN

for (let i = 0; i < clients; i++) {
  const client = await RawClient.open(url)
  sessions.push(client)
  void drive(client, () => latencies)
  if (i % 4 === 0) void drive(await RawClient.open(directUrl), () => direct)
}

process.on('message', (what: 'begin' | 'end' | 'pause' | 'resume' | 'ping') => {
  if (what === 'pause' || what === 'resume') paused = what === 'pause'
  // A pause shall not be the end of the sessions.
  if (what === 'ping') for (const client of sessions) client.request('ping').catch(error => failed.push(String(error)))
  if (what === 'end') {
    process.send?.({
      calls: latencies.length,
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
      direct: percentile(direct, 0.99),
      failed
    } satisfies Measured)
  }
  if (what === 'begin' || what === 'end') {
    latencies = []
    direct = []
    failed = []
  }
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
