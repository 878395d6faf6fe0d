import type { Backend } from '../backends/backend.ts'
import type { GatewayError } from '../errors.ts'
import type { ConfiguredHints } from './configured-hints.ts'
import { after, type Hint, noHint } from './hints.ts'
import { emptyList, type List } from './list-fetch.ts'
import type { Kind } from './list-items.ts'

/** Milliseconds until a list that could not be read is asked for again: doubled each time. */
const firstPause = 1_000
const longestPause = 30_000

type Silent = Pick<ConfiguredHints, 'of'>

/** One list of one backend for one audience. */
export class Entry {
  readonly backend: Backend
  readonly kind: Kind
  readonly principal: string
  /** The last one that was read. */
  list: List | undefined
  /** What the backend said of how long that holds; undefined: nothing. */
  #hint: Hint | undefined
  /** Why there is none, or why it may be old. */
  failure: GatewayError | undefined
  fetching: Promise<void> | undefined
  /** When the reading began that is under way, or was the last. */
  startedAt = Number.NEGATIVE_INFINITY
  /** Revision and time of what was read last. */
  revision = -1
  readAt = 0
  failures = 0
  /** When to try again, while the revision is that one. */
  retryAt = 0
  paused = -1

  constructor(backend: Backend, kind: Kind, principal: string) {
    this.backend = backend
    this.kind = kind
    this.principal = principal
  }

  read(list: List, hint: Hint | undefined, revision: number, now: number): void {
    this.list = list
    this.#hint = hint
    this.failure = undefined
    this.failures = 0
    this.retryAt = 0
    this.revision = revision
    this.readAt = now
  }

  /** Whether that is what the backend lists, as far as is known. `configured`: what holds where the backend says nothing. */
  isFresh(now: number, revision: number, ttlMs: number, configured: Silent): boolean {
    const { ttlMs: said } = this.#hint ?? this.#silent(configured)
    return this.#isCurrent(revision) && now - this.readAt < (said > 0 ? Math.min(ttlMs, said) : ttlMs)
  }

  /** How much longer it may be kept. Undefined: the backend has nothing of the kind, so that there is nothing to keep. */
  hintAt(now: number, revision: number, configured: Silent): Hint | undefined {
    if (!this.#isCurrent(revision)) return noHint
    return this.list === emptyList ? undefined : after(this.#hint ?? this.#silent(configured), now - this.readAt)
  }

  #silent(configured: Silent): Hint {
    return configured.of(this.backend, this.kind.method)
  }

  /** It was read, and is not being read. */
  get isAtRest(): boolean {
    return this.list !== undefined && this.fetching === undefined
  }

  /** It is not current any more, whatever is heard. */
  lapse(): void {
    this.revision = -1
  }

  #isCurrent(revision: number): boolean {
    return this.list !== undefined && this.failure === undefined && this.revision === revision
  }

  isPaused(now: number, revision: number): boolean {
    return now < this.retryAt && this.paused === revision
  }

  /** Not again before some time is over, longer with each failure. */
  pause(now: number, revision: number): void {
    this.paused = revision
    this.retryAt = now + Math.min(longestPause, firstPause * 2 ** this.failures) * (0.8 + Math.random() * 0.4)
    this.failures = Math.min(this.failures + 1, 10)
  }
}
