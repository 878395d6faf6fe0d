/**
 * One sweeper for all open event streams: a comment where nothing was written for a while (proxies cut idle streams), the
 * end of those whose reader takes nothing (SSE-08, E1).
 */
import type { SseReply } from './sse-reply.ts'

export interface KeepAliveOptions {
  /** `streams.keepAlive`, `streams.stall`: milliseconds. */
  readonly everyMs: number
  readonly stallMs: number
}

export class KeepAlive {
  readonly #options: KeepAliveOptions
  readonly #replies = new Set<SseReply>()
  readonly #timer: NodeJS.Timeout
  /** Milliseconds, as coarse as the sweeps: reading the clock for every event would cost more than it tells. */
  now = performance.now()

  constructor(options: KeepAliveOptions) {
    this.#options = options
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
  }

  /** Ends every stream that is still open. */
  close(): void {
    clearInterval(this.#timer)
    for (const reply of this.#replies) reply.end()
  }
}
