/** What instances write to each other about a call that one of them hands over to another. */

import type { Principal } from '../auth/principal.ts'
import type { ErrorCode } from '../errors.ts'
import { GatewayError, toGatewayError } from '../errors.ts'
import type { InstanceId } from '../instances/presence.ts'
import type { StreamKey } from '../streams/stream-log.ts'

/** The request, whole: it is judged anew where it goes. */
export interface Handed {
  readonly kind: 'call'
  readonly call: string
  readonly from: InstanceId
  readonly route: string
  readonly version: string | undefined
  readonly address: string
  readonly principal: Principal
  readonly accepts: { readonly json: boolean; readonly sse: boolean }
  readonly rawHeaders: readonly string[]
  /** Base64. */
  readonly body: string
}

/** `gone`: the client left. */
export type There = Handed | { readonly kind: 'gone'; readonly call: string }

interface Told {
  readonly code: ErrorCode
  readonly text: string
  readonly data: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
}

/** One message; or an event stream: `open`, events, `end`; or an error in place of either. */
export type Back =
  | { readonly kind: 'message'; readonly text: string; readonly status: 200 | 400 | 404 }
  | { readonly kind: 'open' }
  | { readonly kind: 'event'; readonly text: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly error: Told }

/** Where an instance gets calls, and where the asker of one gets what comes of it. */
export const inboxOf = (instance: InstanceId): StreamKey => ({ session: `instance ${instance}`, stream: 'in' })
export const backOf = (call: string): StreamKey => ({ session: `call ${call}`, stream: 'back' })

export function told(cause: unknown): Told {
  const { code, message, data, headers } = toGatewayError(cause)
  return { code, text: message, data, headers }
}

export const errorOf = ({ code, text, data, headers }: Told, id: string | undefined): GatewayError =>
  new GatewayError(code, text, { id, data, headers })

/** In a buffer of its own, as the log keeps it. */
export function written(letter: There | Back): Buffer {
  const text = JSON.stringify(letter)
  const data = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  data.write(text)
  return data
}
