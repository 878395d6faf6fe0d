/**
 * What backends list, kept per backend, audience and kind: read once however many ask at the same time, by the link of the
 * session that asks first. What was read last is kept when a reading fails, so that names stay what they were.
 */
import type { Backend, Link } from '../backends/backend.ts'
import { isBusy } from '../backends/busy.ts'
import { GatewayError, toGatewayError } from '../errors.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { facts } from '../telemetry/events.ts'
import { audienceOf } from './audience.ts'
import type { ConfiguredHints } from './configured-hints.ts'
import { type Hint, together } from './hints.ts'
import type { Known } from './known.ts'
import type { Entry } from './list-entry.ts'
import { type Kind, kinds } from './list-items.ts'
import { type Reading, readList } from './list-read.ts'
import { Shelf } from './list-shelf.ts'

export interface ListsOptions extends Pick<Reading, 'known' | 'gates' | 'timeoutMs'> {
  readonly hints: Pick<ConfiguredHints, 'of'>
  readonly now?: () => number
}

/** What there is once the gateway is wired. */
export interface ListsContext extends Pick<Reading, 'links' | 'receive'> {
  /** A list may be another one than before, for some audience. `said`: the backend says so itself. */
  readonly changed: (backend: Backend, kind: Kind, said: boolean) => void
  /** A list could not be read. */
  readonly failed: (backend: Backend) => void
}

/** Failures that an open link disproves. */
const unreached: ReadonlySet<string> = new Set(['backend_unavailable', 'backend_broke', 'timeout'])

/** Audiences of one backend whose lists are kept; who comes after them takes the place of the one used least recently. */
const maxAudiences = 500
const maxLists = maxAudiences * Object.keys(kinds).length

export class Lists {
  readonly #options: ListsOptions
  #context: ListsContext | undefined
  readonly #now: () => number
  readonly #shelves = new WeakMap<Backend, Shelf>()

  constructor(options: ListsOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  get known(): Known {
    return this.#options.known
  }

  /** Before the first request. */
  use(context: ListsContext): void {
    this.#context = context
  }

  /** What the session sees, and all who see the same. */
  entry(backend: Backend, live: Live, kind: Kind): Entry {
    const { principal } = live.record
    const key = backend.scope === 'shared' ? principal : audienceOf(live)
    return this.#shelf(backend).entry(backend, { key, principal }, kind, maxLists)
  }

  /** Whether nothing has to be read. */
  areFresh(entries: readonly Entry[], ttlMs: number): boolean {
    const now = this.#now()
    const { hints } = this.#options
    return entries.every(entry => entry.isFresh(now, this.#revision(entry), ttlMs, hints))
  }

  /** How much longer what the entries have may be kept. */
  hint(entries: readonly Entry[]): Hint {
    const now = this.#now()
    const { hints } = this.#options
    return together(entries.flatMap(entry => entry.hintAt(now, this.#revision(entry), hints) ?? []))
  }

  /**
   * Reads what is not fresh. Undefined when there is nothing to wait for: it is fresh, or its backend was given all the
   * time that there is. Else resolves when it was read or could not be; never rejects.
   */
  reading(entry: Entry, live: Live, ttlMs: number, patienceMs: number): Promise<void> | undefined {
    const now = this.#now()
    if (entry.isFresh(now, this.#revision(entry), ttlMs, this.#options.hints)) return undefined
    if (entry.fetching === undefined) {
      if (live.closed || entry.isPaused(now, this.#revision(entry))) return undefined
      this.#begin(entry, live, patienceMs)
    }
    return now - entry.startedAt < patienceOf(entry, patienceMs) ? entry.fetching : undefined
  }

  /** Whether it is being read for the first time, and its backend has time left. */
  isAwaited(entry: Entry, patienceMs: number): boolean {
    const { list, fetching, failures, startedAt } = entry
    return list === undefined && fetching !== undefined && failures === 0 && this.#now() - startedAt < patienceMs
  }

  /** The lists, or those of a capability, may say something else than before: they are read again when asked for. `said`: the backend says so itself. */
  invalidate(backend: Backend, of?: Kind['capability'], said = of !== undefined): void {
    const { revisions } = this.#shelf(backend)
    for (const kind of Object.values(kinds)) {
      if (of !== undefined && kind.capability !== of) continue
      revisions[kind.name]++
      this.#context?.changed(backend, kind, said)
    }
  }

  /** Whether the backend is heard for the session, from now on. */
  readonly heard = (backend: Backend, { record }: Live, on: boolean): void => {
    for (const { kind } of this.#shelf(backend).heard(record.principal, on))
      this.#context?.changed(backend, kind, false)
  }

  /** A link was opened: what could not be read before can be now, and what the backend can do may be something else. */
  opened(link: Link, backend: Backend): void {
    const changed = this.#options.known.seen(backend, link.server)
    const waiting = this.#shelf(backend).reached()
    if (changed || waiting) this.invalidate(backend)
  }

  /** It cannot be reached: its lists are left out until it can, and its names stay taken. */
  down(backend: Backend, failure: GatewayError): void {
    for (const entry of this.#shelf(backend).entries.values()) {
      if (entry.fetching === undefined && entry.failure === undefined) this.#failed(entry, failure)
    }
  }

  /** What of the backend is left out of merged lists, and why; for operators. */
  leftOut(backend: Backend): readonly string[] {
    return this.#shelf(backend).leftOut
  }

  #revision({ backend, kind }: Entry): number {
    return this.#shelf(backend).revisions[kind.name]
  }

  #shelf(backend: Backend): Shelf {
    let shelf = this.#shelves.get(backend)
    if (shelf === undefined) {
      shelf = new Shelf()
      this.#shelves.set(backend, shelf)
    }
    return shelf
  }

  #begin(entry: Entry, live: Live, patienceMs: number): void {
    entry.startedAt = this.#now()
    entry.fetching = this.#read(entry, live, patienceMs).finally(() => {
      entry.fetching = undefined
    })
  }

  async #read(entry: Entry, live: Live, patienceMs: number): Promise<void> {
    const { backend, kind } = entry
    const revision = this.#revision(entry)
    try {
      const { list, hint } = await readList(entry, live, { ...this.#options, ...this.#context! })
      const { list: before, failure } = entry
      const kept = before?.hash === list.hash ? before : this.#shelf(backend).same(kind, list)
      entry.read(kept, hint, revision, this.#now())
      if (before !== entry.list || failure !== undefined) this.#context?.changed(backend, kind, false)
    } catch (error) {
      const failure = toGatewayError(error)
      if (failure.code !== 'session') this.#failed(entry, failure)
      // It was the session that ended, not the backend that failed: the next one tries.
      else if (this.#now() - entry.startedAt < patienceOf(entry, patienceMs)) entry.startedAt = Number.NEGATIVE_INFINITY
      // It had its time all the same: else each of those that end soon would give it as much again.
      else this.#failed(entry, late(entry))
    }
  }

  #failed(entry: Entry, failure: GatewayError): void {
    const { backend, kind } = entry
    const told = entry.failure !== undefined
    const known = [...this.#shelf(backend).entries.values()].some(other => other.kind === kind && other.failure)
    entry.pause(this.#now(), this.#revision(entry))
    // It is busy, not away: what it listed last is what it has.
    if (isBusy(failure) && entry.list !== undefined) return
    entry.failure = failure
    if (unreached.has(failure.code)) this.#shelf(backend).away = true
    this.#context?.failed(backend)
    if (told) return
    const text = `${kind.method} of this backend is left out: ${failure.message}`
    // Once for all audiences.
    if (!known) facts.notice.publish({ level: 'warn', text, backend: backend.name })
    this.#context?.changed(backend, kind, false)
  }
}

/** Who failed the last time is not waited for as long again. */
const patienceOf = ({ failures }: Entry, patienceMs: number): number => (failures === 0 ? patienceMs : patienceMs / 10)

function late({ backend: { name }, kind }: Entry): GatewayError {
  return new GatewayError('timeout', `backend "${name}" did not answer ${kind.method} in time`, { backend: name })
}
