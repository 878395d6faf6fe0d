/** What dispatch gives to `http/`, which only writes it. */
import type { GatewayError } from '../errors.ts'
import type { Batch, Message } from '../protocol/message.ts'
import type { SessionId } from '../sessions/session.ts'

export type Answer =
  /** 202 without a body. */
  | { readonly kind: 'accepted' }
  /** 204: the session is gone. */
  | { readonly kind: 'deleted' }
  | {
      readonly kind: 'message'
      readonly body: Message | readonly Message[]
      readonly session?: SessionId
      readonly status?: number
    }
  /** An event stream. `run` feeds the sink until the stream is over or the reader is gone. */
  | { readonly kind: 'stream'; readonly session?: SessionId; run(sink: Sink): Promise<void> }
  /** An event stream with nothing on it: the call was cancelled. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'refused'; readonly error: GatewayError }

/** One open response with an event stream. Every method is a no-op once the reader is gone. */
export interface Sink {
  /**
   * One event. Without an id the message cannot be resumed from. A promise when the reader is behind: it resolves once
   * there is room again, or the reader is gone.
   */
  push(id: string | undefined, data: Uint8Array): Promise<void> | undefined
  /** An id and `retry` (milliseconds) without a message. */
  prime(id: string, retryMs: number): void
  /** A comment, so that the head and the first byte leave at once. */
  comment(): void
  /** Tells the reader how long to stay away. */
  retry(ms: number): void
  /** Ends the response. `abruptly`: without the final chunk (old clients never return after a clean end). */
  end(abruptly?: boolean): void
  readonly gone: boolean
  /** Called once, when the reader is gone or `end` was called. */
  onGone(listener: () => void): void
}

export type { Batch }
