/**
 * One connection to Redis on which nothing waits for long. The client library keeps a command for ever when the server stalls,
 * whatever its own time-outs, and what was asked of it while it connects again, so that deadlines and connecting again are done
 * here: one client after the other, and without one whatever is asked is refused.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, RESP_TYPES } from '@redis/client'
import { facts } from '../telemetry/events.ts'
import { InFlight, Unavailable } from './in-flight.ts'

export type Argument = string | Buffer
/** What a command gives: texts as buffers. */
export type Reply = Buffer | string | number | null | readonly Reply[]

export type Client = ReturnType<typeof open>

export interface ConnectionOptions {
  /** redis:// or rediss://, with credentials and the number of the database where they are needed. */
  readonly url: string
  /** Milliseconds that a command may take. */
  readonly deadlineMs: number
  /** What it is for, in notices. */
  readonly use: string
  /** What a new connection needs before it serves. */
  readonly prepare?: (client: Client) => Promise<unknown>
  /** It serves, for the first time or again. */
  readonly ready?: () => void
}

/** A connection is made within this time (ms), or tried again. */
const connectMs = 1_000
/** Pauses (ms) between tries: the first, and the longest. */
const firstPauseMs = 25
const longestPauseMs = 1_000
/** How often (ms) an idle connection is tried. */
const pingMs = 1_000

/** The server cannot do what it is there for: connecting again may lead to one that can. */
const misplaced = /^(READONLY|LOADING|MASTERDOWN)\b/

const texts = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } } as const

const open = (url: string) =>
  createClient({
    url,
    RESP: 3,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    socket: { connectTimeout: connectMs, reconnectStrategy: false }
  })

export class Connection {
  readonly #options: ConnectionOptions
  readonly #inFlight: InFlight
  readonly #pinger: NodeJS.Timeout
  readonly #closing = new AbortController()
  readonly #over: Promise<void>
  #client: Client | undefined
  /** An operator was told that it cannot be reached. */
  #told = false
  /** Why there is none. */
  #why: Error = new Unavailable('Redis is not connected yet')
  #cut: (why: Error) => void = () => {}

  /** Connects, and goes on doing so until it is closed. */
  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#inFlight = new InFlight(options.deadlineMs, why => this.#cut(why))
    this.#pinger = setInterval(() => this.#ping(), pingMs).unref()
    this.#over = this.#run()
  }

  /** Whether commands are sent, and answered in time. */
  get up(): boolean {
    return this.#client !== undefined && this.#inFlight.prompt
  }

  /** Rejects with {@link Unavailable} within the deadline, or with what the server refuses. */
  send(args: readonly Argument[]): Promise<Reply> {
    return this.ask(client => client.sendCommand<Reply>(args, texts))
  }

  /** The same for what the client has a method for. */
  async ask<T>(run: (client: Client) => Promise<T>): Promise<T> {
    const client = this.#client
    if (client === undefined) throw new Unavailable('Redis is not connected', { cause: this.#why })
    try {
      return await this.#inFlight.ask(() => run(client))
    } catch (error) {
      if (misplaced.test((error as Error).message)) this.#cut(error as Error)
      throw error
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#pinger)
    this.#closing.abort()
    this.#cut(new Unavailable('the connection was closed'))
    await this.#over
  }

  #ping(): void {
    if (this.#client !== undefined && this.#inFlight.size === 0) this.send(['PING']).catch(() => {})
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    let pause = firstPauseMs
    while (!signal.aborted) {
      const began = performance.now()
      await this.#serve()
      if (performance.now() - began > 5 * longestPauseMs) pause = firstPauseMs
      await sleep(pause * (0.75 + Math.random() / 2), undefined, { signal, ref: false }).catch(() => {})
      pause = Math.min(2 * pause, longestPauseMs)
    }
  }

  /** Connects once, and serves until that breaks. Never rejects. */
  async #serve(): Promise<void> {
    const { promise: broken, resolve: cut } = Promise.withResolvers<Error>()
    this.#cut = cut
    const slow = setTimeout(() => cut(new Unavailable(`no connection within ${connectMs} ms`)), connectMs).unref()
    let client: Client | undefined
    try {
      client = open(this.#options.url)
      client.on('error', cut)
      await Promise.race([this.#connect(client), broken.then(why => Promise.reject(why))])
      clearTimeout(slow)
      this.#client = client
      this.#told = false
      this.#tell('info', 'Redis is connected')
      this.#options.ready?.()
      this.#why = await broken
    } catch (error) {
      this.#why = error as Error
    }
    clearTimeout(slow)
    this.#client = undefined
    this.#inFlight.refuseAll(this.#why)
    if (client?.isOpen) client.destroy()
    if (this.#told || this.#closing.signal.aborted) return
    this.#told = true
    this.#tell('warn', 'Redis cannot be reached', this.#why)
  }

  #tell(level: 'info' | 'warn', text: string, error?: Error): void {
    facts.notice.publish({ level, text: `${text} (${this.#options.use})`, ...(error && { error }) })
  }

  async #connect(client: Client): Promise<void> {
    await client.connect()
    await client.sendCommand(['PING'])
    await this.#options.prepare?.(client)
  }
}
