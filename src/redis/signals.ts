/** Who listens to which channel (publish and subscribe) on the connection that is there: at most once, but a gap is noticed. */
import { type Client, Connection, type ConnectionOptions } from './connection.ts'

export type Unsubscribe = () => Promise<void>

interface Listener {
  readonly heard: (payload: string) => void
  readonly gap: (() => void) | undefined
}

interface Channel {
  readonly listeners: Set<Listener>
  /** Resolves once Redis knows. */
  readonly live: Promise<void>
}

export class Signals {
  readonly #connection: Connection
  readonly #channels = new Map<string, Channel>()

  constructor(options: Pick<ConnectionOptions, 'url' | 'deadlineMs'>) {
    this.#connection = new Connection({
      ...options,
      use: 'signals',
      prepare: client => this.#resubscribe(client),
      ready: () => this.#missed()
    })
  }

  get up(): boolean {
    return this.#connection.up
  }

  /** Resolves once live. `gap`: the connection was lost and is there again; signals were missed. Neither may throw. */
  async subscribe(channel: string, heard: (payload: string) => void, gap?: () => void): Promise<Unsubscribe> {
    const listener: Listener = { heard, gap }
    const known = this.#channels.get(channel)
    const entry = known ?? { listeners: new Set(), live: this.#subscribe(channel) }
    if (known === undefined) this.#channels.set(channel, entry)
    entry.listeners.add(listener)
    try {
      await entry.live
    } catch (error) {
      this.#leave(channel, entry, listener)
      throw error
    }
    return async () => this.#leave(channel, entry, listener)
  }

  async close(): Promise<void> {
    this.#channels.clear()
    await this.#connection.close()
  }

  #subscribe(channel: string): Promise<void> {
    return this.#connection.ask(client => client.subscribe(channel, this.#heard))
  }

  #leave(channel: string, entry: Channel, listener: Listener): void {
    if (!entry.listeners.delete(listener) || entry.listeners.size > 0) return
    if (this.#channels.get(channel) !== entry) return
    this.#channels.delete(channel)
    this.#connection.ask(client => client.unsubscribe(channel, this.#heard)).catch(() => {})
  }

  readonly #heard = (payload: string, channel: string): void => {
    for (const listener of [...(this.#channels.get(channel)?.listeners ?? [])]) {
      // Whoever left meanwhile hears nothing more.
      if (this.#channels.get(channel)?.listeners.has(listener)) listener.heard(payload)
    }
  }

  async #resubscribe(client: Client): Promise<void> {
    const channels = [...this.#channels.keys()]
    if (channels.length > 0) await client.subscribe(channels, this.#heard)
  }

  #missed(): void {
    for (const { listeners } of [...this.#channels.values()]) for (const { gap } of [...listeners]) gap?.()
  }
}
