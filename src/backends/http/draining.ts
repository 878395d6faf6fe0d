/** Streams whose response has come: read to their end, for the connection's sake, but not for long. */
import { facts } from '../../telemetry/events.ts'
import type { Leg } from './leg.ts'
import type { Reader } from './reader.ts'

/** Upstreams should end the stream after the response (basic/transports, "Sending Messages to the Server", 6). Milliseconds. */
const patience = 1_000

export class Draining implements Reader {
  readonly #backend: string
  #older = new Set<Leg>()
  #newer = new Set<Leg>()
  #sweeper: NodeJS.Timeout | undefined

  constructor(backend: string) {
    this.#backend = backend
  }

  take(leg: Leg): void {
    if (!leg.handOver(this)) return
    this.#newer.add(leg)
    this.#sweeper ??= setInterval(() => this.#sweep(), patience).unref()
  }

  text(): void {
    facts.drop.publish({ reason: 'late_message', backend: this.#backend })
  }

  id(): void {}
  retry(): void {}

  ended(leg: Leg): void {
    this.#newer.delete(leg)
    this.#older.delete(leg)
  }

  failed(_fault: unknown, leg: Leg): void {
    this.ended(leg)
  }

  close(): void {
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
    for (const leg of [...this.#older, ...this.#newer]) leg.drop()
    this.#older.clear()
    this.#newer.clear()
  }

  /** Drops what was there at the last sweep already. */
  #sweep(): void {
    for (const leg of this.#older) leg.drop()
    this.#older = this.#newer
    this.#newer = new Set()
    if (this.#older.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }
}
