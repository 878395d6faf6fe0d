import type { Backend } from '../backends/backend.ts'
import type { GatewayError } from '../errors.ts'
import type { List } from './list-fetch.ts'
import type { Kind } from './list-items.ts'

/** One list of one backend for one audience. */
export class Entry {
  readonly backend: Backend
  readonly kind: Kind
  /** The last one that was read. */
  list: List | undefined
  /** Why there is none, or why it may be old. */
  failure: GatewayError | undefined
  fetching: Promise<void> | undefined
  /** When the reading began that is under way. */
  startedAt = 0
  /** Revision and time of what was read last. */
  revision = -1
  readAt = 0
  failures = 0
  retryAt = 0

  constructor(backend: Backend, kind: Kind) {
    this.backend = backend
    this.kind = kind
  }
}

/** The lists of one backend. */
export class Shelf {
  readonly entries = new Map<string, Entry>()
  /** Counts what made the lists old. */
  readonly revisions: Record<Kind['name'], number> = { tools: 0, prompts: 0, resources: 0, templates: 0 }
}
