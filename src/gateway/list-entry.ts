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

  constructor(backend: Backend, kind: Kind) {
    this.backend = backend
    this.kind = kind
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

/** The lists of one backend. */
export class Shelf {
  /** Used least recently first. */
  readonly entries = new Map<string, Entry>()
  #latest: string | undefined
  /** Whether it could not be reached since a link of it was opened. */
  away = false
  /** Counts what made the lists old. */
  readonly revisions: Record<Kind['name'], number> = { tools: 0, prompts: 0, resources: 0, templates: 0 }

  /** The list of an audience; beyond `max` of them that goes which was used least recently. */
  entry(backend: Backend, audience: string, kind: Kind, max: number): Entry {
    const { entries } = this
    const key = `${kind.name} ${audience}`
    const found = entries.get(key)
    if (found !== undefined && this.#latest === key) return found
    const entry = found ?? new Entry(backend, kind)
    this.#latest = key
    entries.delete(key)
    entries.set(key, entry)
    if (entries.size > max) entries.delete(entries.keys().next().value!)
    return entry
  }

  /** Lists that the last one who asked did not get, and that nothing was heard of since: method and reason. */
  get leftOut(): readonly string[] {
    const last = new Map<Kind, Entry>()
    for (const entry of this.entries.values()) {
      const { kind, startedAt } = entry
      if (startedAt >= (last.get(kind)?.startedAt ?? Number.NEGATIVE_INFINITY)) last.set(kind, entry)
    }
    return [...last.values()].flatMap(({ kind, failure, paused }) =>
      failure === undefined || paused !== this.revisions[kind.name] ? [] : [`${kind.method}: ${failure.message}`]
    )
  }
}
