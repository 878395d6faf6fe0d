/** What the gateway and a thread of handlers say to one another. Protocol messages are JSON text; links and calls have numbers. */
import type { Principal } from '../../auth/principal.ts'
import type { ErrorCode } from '../../errors.ts'
import type { Client } from '../../sessions/session.ts'
import type { DropFact, NoticeFact } from '../../telemetry/events.ts'
import type { Server } from '../backend.ts'

/** What a thread is made with. */
export interface ThreadData {
  readonly name: string
  readonly path: string
  readonly strict: boolean
  readonly watch: boolean
  readonly limits: { readonly upstream: number }
  /** See marker.ts. */
  readonly marker: SharedArrayBuffer
}

export type ToThread =
  | { readonly kind: 'open'; readonly link: number; readonly principal: Principal; readonly client: Client }
  | { readonly kind: 'close'; readonly link: number }
  | {
      readonly kind: 'exchange'
      readonly link: number
      readonly call: number
      readonly principal: Principal
      readonly text: string
    }
  | { readonly kind: 'send'; readonly link: number; readonly text: string }
  | { readonly kind: 'cancel'; readonly call: number; readonly reason: string | undefined }
  /** The reader is behind, or is no longer. */
  | { readonly kind: 'pause' | 'resume'; readonly call: number }
  | { readonly kind: 'ping' }
  | { readonly kind: 'end' }

export type FromThread =
  | { readonly kind: 'ready' }
  /** It cannot be served; the last word. */
  | { readonly kind: 'refused'; readonly text: string }
  | { readonly kind: 'opened'; readonly link: number; readonly server: Server }
  /** Of a call, the response last. */
  | { readonly kind: 'message'; readonly call: number; readonly text: string }
  | { readonly kind: 'failed'; readonly call: number; readonly code: ErrorCode; readonly text: string }
  | { readonly kind: 'closeStream'; readonly call: number }
  /** Belongs to no call. */
  | { readonly kind: 'received'; readonly link: number; readonly text: string }
  | { readonly kind: 'notice'; readonly fact: NoticeFact }
  | { readonly kind: 'drop'; readonly fact: DropFact }
  | { readonly kind: 'pong' }
