/** Who reads a response, and what can go wrong with one. */
import type { Leg } from './leg.ts'

/** How the reading of a response ended, when it did not end as it should. */
export type Fault =
  /** No connection: the request was not sent. */
  | { readonly kind: 'unreached'; readonly cause: Error }
  /** The connection broke after the request was sent. */
  | { readonly kind: 'broke'; readonly cause: Error }
  /** A status that is no answer; `body` is there when it may be a JSON-RPC message. */
  | { readonly kind: 'status'; readonly status: number; readonly body: Buffer | undefined }
  /** An answer, but none of the protocol; `text` says what is wrong. */
  | { readonly kind: 'invalid'; readonly text: string }
  | { readonly kind: 'too_large' }

/** Who reads. Exactly one of `ended` and `failed` comes last, unless the leg was dropped. Callbacks must not throw. */
export interface Reader {
  /** A head that is an answer: a stream, or JSON. */
  opened?(leg: Leg, headers: Headers, stream: boolean): void
  /** One JSON text. */
  text(bytes: Buffer, leg: Leg): void
  id(id: string): void
  retry(ms: number): void
  ended(leg: Leg): void
  failed(fault: Fault, leg: Leg): void
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>
