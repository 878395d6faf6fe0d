/** What the adapters share: connections, the names of keys, the seal. Keys of one session are in one slot of a cluster. */
import { hash } from 'node:crypto'
import type { Sealer } from '../protocol/seal.ts'
import { type Argument, Connection, type Reply } from './connection.ts'
import type { Script } from './script.ts'
import { Signals } from './signals.ts'

export interface RedisOptions {
  readonly url: string
  /** Begins every key and channel: deployments that share a server have different ones. */
  readonly prefix: string
  /** Of the key that every instance has. */
  readonly sealer: Sealer
  /** Milliseconds that a command may take. Default 250. */
  readonly deadlineMs?: number
}

/** How long (ms) is waited for it at the start. */
const patienceMs = 1_000

/** Of what is stored. Instances of another one have keys of their own: they neither read nor break what they do not know. */
const format = 1

export class Redis {
  readonly sealer: Sealer
  readonly signals: Signals
  readonly #prefix: string
  readonly #commands: Connection
  readonly #ready = Promise.withResolvers<void>()

  /** Resolves once it is there, or is not for now. */
  static async connect(options: RedisOptions): Promise<Redis> {
    const redis = new Redis(options)
    const { promise: tooLong, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, patienceMs)
    await Promise.race([redis.#ready.promise, tooLong])
    clearTimeout(timer)
    return redis
  }

  constructor({ url, prefix, sealer, deadlineMs = 250 }: RedisOptions) {
    this.sealer = sealer
    this.#prefix = `${prefix}:${format}:`
    this.#commands = new Connection({ url, deadlineMs, use: 'commands', ready: this.#ready.resolve })
    this.signals = new Signals({ url, deadlineMs })
  }

  /** Whether it is there and answers in time. */
  get up(): boolean {
    return this.#commands.up && this.signals.up
  }

  key(name: string): string {
    return this.#prefix + name
  }

  /** A key of a session. Whoever reads keys learns no session id: that would be enough to act for its client. */
  sessionKey(session: string, name = ''): string {
    return `${this.#prefix}{${digest(session)}}${name}`
  }

  send(...args: readonly Argument[]): Promise<Reply> {
    return this.#commands.send(args)
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    return script.run(this.#commands, keys, args)
  }

  async close(): Promise<void> {
    await Promise.all([this.#commands.close(), this.signals.close()])
  }
}

/** 128 bits in base64url. */
export const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22)
