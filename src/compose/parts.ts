import type { Authenticator } from '../auth/principal.ts'
import type { SessionStore } from '../sessions/session.ts'
import type { MemoryStreamLog } from '../streams/memory.ts'
import type { StreamLog } from '../streams/stream-log.ts'

/** What an embedding program brings in place of the gateway's own. Whoever brings a store closes it. */
export interface Parts {
  readonly authenticator?: Authenticator
  readonly store?: SessionStore
  readonly log?: StreamLog & Pick<MemoryStreamLog, 'stats'>
}
