/** Messages on their way past a log that fails: written without an id, after what the log has. */
import type { Reader } from './reader.ts'

export class Unlogged {
  readonly #messages: Uint8Array[] = []
  /** Whether there were any: then the last of the stream is among them. */
  #some = false
  #ended = false

  /** Messages that wait. */
  get length(): number {
    return this.#messages.length
  }

  push(data: Uint8Array): void {
    this.#messages.push(data)
    this.#some = true
  }

  /** Nothing follows. */
  end(): void {
    this.#ended = true
  }

  /**
   * Writes what waits, to the reader that is there each time. `failed`: the log did not hand out what it has; that can be
   * resumed, what waits here cannot. Resolves to whether the stream is over.
   */
  async pass(reader: () => Reader | undefined, failed: boolean): Promise<boolean> {
    for (;;) {
      const data = this.#messages.shift()
      if (data === undefined) return this.#ended && (this.#some || !failed)
      const room = reader()?.push(undefined, data)
      if (room !== undefined) await room
    }
  }
}
