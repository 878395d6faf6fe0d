/** The connections to one upstream, shared by its links (architecture, rule 9). */
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { Clock } from '../clock.ts'
import { Health } from '../health.ts'
import { Acknowledged } from './acknowledged.ts'
import { Draining } from './draining.ts'
import { GetStreams } from './get-streams.ts'
import type { Leg } from './leg.ts'

/** Connections of requests, of streams by GET, and of what is short: notifications, answers, DELETE. */
const callConnections = 4096
const streamConnections = 4096
const controlConnections = 256
/** Requests that may wait for a connection. */
const waitingCalls = 4096

const idleConnectionMs = 4_000
const forever = { headersTimeout: 0, bodyTimeout: 0 }

export interface WireOptions {
  readonly name: string
  readonly url: string
  /** Milliseconds: for connecting, and for what is short. */
  readonly timeout: number
  /** Largest message, bytes. */
  readonly limit: number
  readonly depth: number
  readonly clock: Clock
}

export class Wire {
  readonly name: string
  readonly limit: number
  readonly depth: number
  readonly clock: Clock
  readonly health: Health
  readonly gets: GetStreams
  timeout: number
  readonly #path: string
  readonly #calls: Pool
  readonly #streams: Pool
  readonly #control: Pool
  readonly #draining: Draining
  #connect: buildConnector.connector
  #inFlight = 0

  constructor(options: WireOptions) {
    const url = new URL(options.url)
    this.name = options.name
    this.limit = options.limit
    this.depth = options.depth
    this.clock = options.clock
    this.timeout = options.timeout
    this.health = new Health(options.name)
    this.gets = new GetStreams(options.clock)
    this.#path = url.pathname + url.search
    this.#connect = connector(options.timeout)
    const connect: buildConnector.connector = (to, callback) => this.#connect(to, callback)
    const pool = (connections: number): Pool =>
      new Pool(url.origin, {
        connections,
        connect,
        allowH2: false,
        keepAliveTimeout: idleConnectionMs,
        keepAliveMaxTimeout: idleConnectionMs,
        ...forever
      })
    this.#calls = pool(callConnections)
    this.#streams = pool(streamConnections)
    this.#control = pool(controlConnections)
    this.#draining = new Draining(options.name)
  }

  tune(timeout: number): void {
    this.timeout = timeout
    this.#connect = connector(timeout)
  }

  /** Whether one more request may be sent; `dismiss` when it is over. */
  admit(): boolean {
    if (this.#inFlight >= callConnections + waitingCalls) return false
    this.#inFlight++
    return true
  }

  dismiss(): void {
    this.#inFlight--
  }

  /** Sends a request. How long it may take is the caller's business. */
  call(headers: string[], body: Buffer, leg: Leg): void {
    this.#calls.dispatch({ path: this.#path, method: 'POST', headers, body }, leg)
  }

  /** Opens a stream by GET. */
  stream(headers: string[], leg: Leg): void {
    this.#streams.dispatch({ path: this.#path, method: 'GET', headers }, leg)
  }

  /** Sends something short. Resolves to the status; rejects with the cause when there was no answer in time. */
  control(method: 'POST' | 'DELETE', headers: string[], body: Buffer | null, timeout = this.timeout): Promise<number> {
    return new Promise((resolve, reject) => {
      const options: Dispatcher.DispatchOptions = {
        path: this.#path,
        method,
        headers,
        body,
        headersTimeout: timeout,
        bodyTimeout: timeout
      }
      this.#control.dispatch(options, new Acknowledged(resolve, reject))
    })
  }

  /** What is still on a stream after the response is read and thrown away. */
  finish(leg: Leg): void {
    this.#draining.take(leg)
  }

  async close(): Promise<void> {
    this.#draining.close()
    await Promise.all([this.#calls.destroy(), this.#streams.destroy(), this.#control.destroy()])
  }
}

/**
 * With less room than one read fills, reads are handed on one by one and not joined by a copy before they are parsed. The type
 * leaves out that undici hands other options to the socket.
 */
const connector = (timeout: number): buildConnector.connector =>
  buildConnector({ timeout, allowH2: false, highWaterMark: 16_384 } as buildConnector.BuildOptions)
