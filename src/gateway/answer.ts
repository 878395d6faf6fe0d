/** What dispatch gives to `http/`, which only writes it. Refusals are thrown as GatewayErrors. */
import type { Message } from '../protocol/message.ts'
import type { SessionId } from '../sessions/session.ts'
import type { Reader } from '../streams/reader.ts'

export type Answer =
  /** 202 without a body. */
  | { readonly kind: 'accepted' }
  /** 204: the session is gone. */
  | { readonly kind: 'deleted' }
  /**
   * JSON: one message, or the array that answers a batch. `session`: the id that `initialize` made. `status`: 200 unless
   * the array is all that there is to say of a batch that was refused, or a modern request ended in an error that has one.
   */
  | {
      readonly kind: 'message'
      readonly body: Message | readonly Message[]
      readonly session?: SessionId | undefined
      readonly status?: 200 | 400 | 404
    }
  /** An event stream. `run` feeds the reader and ends it; it never throws. */
  | { readonly kind: 'stream'; readonly session?: SessionId | undefined; readonly run: (reader: Reader) => void }
