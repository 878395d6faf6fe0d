/** One HTTP request of a client as the gateway sees it, after `http/` has settled headers and principal. */
import type { Principal } from '../auth/principal.ts'
import type { Route } from './route.ts'

export interface Incoming {
  readonly route: Route
  readonly principal: Principal
  /** Of the client: anonymous sessions are counted by it. */
  readonly address: string
  /** `Mcp-Session-Id`, `MCP-Protocol-Version`: as sent; undefined when absent. */
  readonly session: string | undefined
  readonly version: string | undefined
  /** What the request log shows of it; filled in on the way. */
  readonly note: Note
}

export interface IncomingPost extends Incoming {
  readonly body: Buffer
  /** Names and values in turn, as they came: what mirrors the body of a modern request is among them. */
  readonly rawHeaders: readonly string[]
  /** The connection broke before the answer was written. One listener. */
  onGone(listener: () => void): void
  /** What `Accept` admits; at least one. */
  readonly accepts: { readonly json: boolean; readonly sse: boolean }
}

export interface IncomingGet extends Incoming {
  readonly lastEventId: string | undefined
}

export interface Note {
  method?: string | undefined
  name?: string | undefined
  backend?: string | undefined
  session?: string | undefined
  version?: string | undefined
  outcome?: 'ok' | 'accepted' | 'tool_error' | 'rpc_error' | 'cancelled' | 'rejected'
  error?: string | undefined
}
