/** The lists that are kept of one backend. */
import type { Backend } from '../backends/backend.ts'
import { Entry } from './list-entry.ts'
import type { List } from './list-fetch.ts'
import type { Kind } from './list-items.ts'

/** Who sees the same lists. */
interface Audience {
  readonly key: string
  readonly principal: string
}

export class Shelf {
  /** Used least recently first. */
  readonly entries = new Map<string, Entry>()
  #latest: string | undefined
  /** Whether it could not be reached since a link of it was opened. */
  away = false
  /** Sessions of each principal that hear the backend. */
  readonly #hearing = new Map<string, number>()
  /** Counts what made the lists old. */
  readonly revisions: Record<Kind['name'], number> = { tools: 0, prompts: 0, resources: 0, templates: 0 }

  /** The list of an audience; beyond `max` of them that goes which was used least recently. */
  entry(backend: Backend, { key: audience, principal }: Audience, kind: Kind, max: number): Entry {
    const { entries } = this
    const key = `${kind.name} ${audience}`
    const found = entries.get(key)
    if (found !== undefined && this.#latest === key) return found
    const entry = found ?? new Entry(backend, kind, principal)
    this.#latest = key
    entries.delete(key)
    entries.set(key, entry)
    if (entries.size > max) entries.delete(entries.keys().next().value!)
    return entry
  }

  /** The same list that another audience has is kept once. */
  same(kind: Kind, list: List): List {
    for (const other of this.entries.values()) {
      if (other.kind === kind && other.list?.hash === list.hash) return other.list
    }
    return list
  }

  /** Whether lists could not be read before. What is being read is read by the link that was opened, or was: not once more. */
  reached(): boolean {
    const { away } = this
    this.away = false
    return (
      away &&
      [...this.entries.values()].some(({ failure, fetching }) => failure !== undefined && fetching === undefined)
    )
  }

  /**
   * Whether a session of the principal hears the backend, from now on. Returns the lists that were read while none did: they
   * may be others by now. One that is being read is as new as the stream.
   */
  heard(principal: string, on: boolean): readonly Entry[] {
    const before = this.#hearing.get(principal) ?? 0
    const now = before + (on ? 1 : -1)
    if (now > 0) this.#hearing.set(principal, now)
    else this.#hearing.delete(principal)
    if (!on || before > 0) return []
    const unheard = [...this.entries.values()].filter(entry => entry.principal === principal && entry.isAtRest)
    for (const entry of unheard) entry.lapse()
    return unheard
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
