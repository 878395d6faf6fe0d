/** The reader that a stream is written to: one open connection. Every method is a no-op once it is gone. */
export interface Reader {
  readonly gone: boolean
  /**
   * One event; without an id it cannot be resumed from. A promise when the reader is behind: it resolves once there is
   * room again, or the reader is gone.
   */
  push(id: string | undefined, data: Uint8Array): Promise<void> | undefined
  /** An event with an id and `retry` (milliseconds), and no message. */
  prime(id: string, retryMs: number): void
  /** A comment, so that the head and a first byte leave at once. */
  comment(): void
  /** How long to stay away after the end (milliseconds). */
  retry(ms: number): void
  /** Ends the connection. `abruptly`: without the final chunk (old clients never return after a clean end). */
  end(abruptly?: boolean): void
  /** Called once when the reader is gone, also by `end`. */
  onGone(listener: () => void): void
}
