/**
 * Streams that nobody reads go on, for their response is waited for, but they do not take the event loop from those that are
 * read: all together they have so many messages in a second.
 */

/** For all unread streams: so much every tick. A message costs one, and one more for each 16 KiB of it. */
const perTick = 50
const tickMs = 10
const costBytes = 16_384

export class Trickle {
  readonly #waiting: (() => void)[] = []
  #left = perTick
  #timer: NodeJS.Timeout | undefined

  /** Whoever just dealt with a message of so many bytes waits for this before the next one. */
  turn(bytes: number): Promise<void> | undefined {
    this.#timer ??= setTimeout(() => this.#tick(), tickMs).unref()
    this.#left -= 1 + Math.floor(bytes / costBytes)
    if (this.#left > 0 && this.#waiting.length === 0) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    return promise
  }

  /** Those that waited longest go first. */
  #tick(): void {
    this.#timer = undefined
    this.#left = Math.min(perTick, this.#left + perTick)
    if (this.#waiting.length === 0 && this.#left === perTick) return
    this.#timer = setTimeout(() => this.#tick(), tickMs).unref()
    for (const go of this.#waiting.splice(0, Math.max(0, this.#left))) go()
  }
}

/** It is the loop of this thread that is spared. */
export const trickle = new Trickle()
