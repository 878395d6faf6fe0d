/**
 * One sweeper for all open event streams: a comment where nothing was written for a while (proxies cut idle streams), the
 * end of those whose reader takes nothing, be it slow or gone without a word (SSE-08, E1, E6).
 */
import type { SseReply } from './sse-reply.ts'
import { type Unacknowledged, unacknowledged } from './unacknowledged.ts'

export interface KeepAliveOptions {
  /** `streams.keepAlive`, `streams.stall`: milliseconds. */
  readonly everyMs: number
  readonly stallMs: number
  /** What peers have not acknowledged; by default asked of the system. */
  readonly unacknowledged?: () => Promise<Unacknowledged>
}

export class KeepAlive {
  readonly #options: KeepAliveOptions
  readonly #replies = new Set<SseReply>()
  readonly #timer: NodeJS.Timeout
  readonly #unacknowledged: () => Promise<Unacknowledged>
  #lookedAt: number
  /** Milliseconds, as coarse as the sweeps: reading the clock for every event would cost more than it tells. */
  now = performance.now()

  constructor(options: KeepAliveOptions) {
    this.#options = options
    this.#unacknowledged = options.unacknowledged ?? unacknowledged
    this.#lookedAt = this.now
    this.#timer = setInterval(
      () => this.sweep(),
      Math.max(20, Math.min(1_000, options.everyMs / 4, options.stallMs / 4))
    )
    this.#timer.unref()
  }

  get size(): number {
    return this.#replies.size
  }

  add(reply: SseReply): void {
    this.#replies.add(reply)
  }

  delete(reply: SseReply): void {
    this.#replies.delete(reply)
  }

  sweep(): void {
    this.now = performance.now()
    const { everyMs, stallMs } = this.#options
    for (const reply of this.#replies) {
      if (reply.waiting === 0) {
        if (this.now - reply.wroteAt >= everyMs) reply.comment()
      } else if (this.now - reply.drainedAt() >= stallMs) {
        reply.cut()
      }
    }
    if (this.#replies.size > 0 && this.now - this.#lookedAt >= stallMs / 3) void this.look()
  }

  /** Cuts those whose peer has acknowledged nothing for `stallMs`. One look at a time. */
  async look(): Promise<void> {
    this.#lookedAt = Number.POSITIVE_INFINITY
    const held = await this.#unacknowledged()
    this.now = performance.now()
    for (const reply of this.#replies) if (this.now - reply.takenAt(held) >= this.#options.stallMs) reply.cut()
    this.#lookedAt = this.now
  }

  /** Ends every stream that is still open. */
  close(): void {
    clearInterval(this.#timer)
    for (const reply of this.#replies) reply.end()
  }
}
