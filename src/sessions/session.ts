/** PORT. Legacy sessions as small records (basic/transports, "Session Management"). */
import type { InstanceId } from '../instances/presence.ts'

export type SessionId = string

/** What the client said in `initialize`. */
export interface Client {
  /** The revision spoken with this client. */
  readonly version: string
  /** JSON text of `params.capabilities`. */
  readonly capabilities: string
  /** JSON text of `params.clientInfo`. */
  readonly info: string
}

/** What an instance needs to reopen a link: JSON text, meaningful to the backend kind that made it. Sealed at rest. */
export type LinkState = string

export interface SessionRecord {
  readonly id: SessionId
  /** Counts replacements. */
  readonly revision: number
  /** The path of its route. */
  readonly route: string
  /** Key of the principal that opened it; for others the session does not exist. */
  readonly principal: string
  /** What its share of the caps is counted under: the principal, or for anonymous callers the address. */
  readonly group: string
  readonly client: Client
  /** Whether the client said `notifications/initialized`. */
  readonly operating: boolean
  /** Set by `logging/setLevel`. */
  readonly level?: string
  /** URIs of `resources/subscribe`. */
  readonly subscriptions: readonly string[]
  /** Where several backends are one server: URI to the name of the backend that it was subscribed at. */
  readonly places?: Readonly<Record<string, string>>
  /** Runs every link that cannot move. */
  readonly owner?: InstanceId
  /** Holds the upstream GET streams. */
  readonly listener?: InstanceId
  /** Backend identity to link state. */
  readonly links: Readonly<Record<string, LinkState>>
}

export interface Caps {
  /** Sessions in all. */
  readonly total: number
  /** Sessions of one `group`. */
  readonly perGroup: number
}

export interface SessionStore {
  /**
   * Counts and writes in one step. The record lives for `ttlMs` from its last `get`. `full` rather than `group-full` when
   * both are reached. Rejects when the id is taken.
   */
  create(record: SessionRecord, ttlMs: number, caps: Caps): Promise<'created' | 'full' | 'group-full'>
  /** Also refreshes its time to live: one operation per call. Without a promise where the sessions are in this process. */
  get(id: SessionId, ttlMs: number): Promise<SessionRecord | undefined> | SessionRecord | undefined
  /** Whether it exists. Does not refresh. */
  has(id: SessionId): Promise<boolean>
  /**
   * Compare-and-set on `previous.revision`; `next.revision` is one more, id and group are the same (else TypeError). False
   * when the record changed or is gone. Does not refresh.
   */
  replace(previous: SessionRecord, next: SessionRecord): Promise<boolean>
  /** Whether it was there. */
  delete(id: SessionId): Promise<boolean>
  /** Every record of a route that exists when its turn comes; concurrent deletes and creates harm nothing. */
  list(route: string): AsyncIterable<SessionRecord>
  /** How many sessions exist. */
  count(): Promise<number>
  close(): Promise<void>
}
