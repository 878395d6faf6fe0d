import type { Authenticator } from '../auth/principal.ts'
import type { Bus } from '../instances/bus.ts'
import type { Presence } from '../instances/presence.ts'
import type { SessionStore } from '../sessions/session.ts'
import type { MemoryStreamLog } from '../streams/memory.ts'
import type { StreamLog } from '../streams/stream-log.ts'

export interface Shared {
  readonly presence: Presence
  readonly bus: Bus
  /** The same for all: ids of requests to clients are made with it. 32 bytes or more. */
  readonly key: Buffer
}

/** What an embedding program brings in place of the gateway's own. Whoever brings a store closes it. */
export interface Parts {
  /** Where several instances serve the same sessions, from a `store` and a `log` that all of them see. */
  readonly shared?: Shared
  readonly authenticator?: Authenticator
  readonly store?: SessionStore
  readonly log?: StreamLog & Partial<Pick<MemoryStreamLog, 'stats'>>
}
