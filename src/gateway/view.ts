/** What one audience sees of a union: a session's principal, revision and capabilities say which lists it has. */
import type { Backend } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Hint } from './hints.ts'
import type { Entry } from './list-entry.ts'
import { type Kind, kinds } from './list-items.ts'
import type { Merged } from './merge.ts'
import type { Snapshot } from './snapshots.ts'
import type { Member, Union } from './union.ts'

/** No hash. */
const several = 'several'

export class View {
  readonly #union: Union
  readonly #entries: Readonly<Record<Kind['name'], readonly Entry[]>>
  readonly #snapshots = new Map<Kind, Snapshot>()
  /** Hash of the merged list that its sessions know; `several` when they know different ones. */
  readonly given = new Map<Kind, string>()

  constructor(union: Union, live: Live) {
    this.#union = union
    const of = (kind: Kind): Entry[] => union.members.map(({ backend }) => union.lists.entry(backend, live, kind))
    this.#entries = {
      tools: of(kinds.tools),
      prompts: of(kinds.prompts),
      resources: of(kinds.resources),
      templates: of(kinds.templates)
    }
  }

  entries(kind: Kind): readonly Entry[] {
    return this.#entries[kind.name]
  }

  /**
   * Reads what is old or was never read. Undefined when there is nothing to wait for; else resolves when everything was
   * read, could not be, or had its time. Never rejects.
   */
  read(kind: Kind, live: Live): Promise<void> | undefined {
    const { lists, options } = this.#union
    if (lists.areFresh(this.entries(kind), options.listTtlMs)) return undefined
    const before = this.#begun(kind)
    return this.#waiting(kind, live, before) === undefined ? undefined : this.#read(kind, live, () => false, before)
  }

  /** The same, over as soon as `enough` says so. */
  readUntil(kind: Kind, live: Live, enough: () => boolean): Promise<void> {
    return this.#read(kind, live, enough)
  }

  /** The same for the lists of some backends: others are neither read nor waited for. */
  readOf(kind: Kind, live: Live, backends: ReadonlySet<Backend>): Promise<void> {
    return this.#read(kind, live, () => false, this.#begun(kind), backends)
  }

  /** The names and merged lists of what is known now. */
  snapshot(kind: Kind): Snapshot {
    const lists = this.entries(kind)
    const last = this.#snapshots.get(kind)
    if (last !== undefined && isOf(last, lists)) return last
    const snapshot = this.#union.snapshots.of(
      kind,
      lists.map(({ list }) => list)
    )
    this.#snapshots.set(kind, snapshot)
    return snapshot
  }

  /** Who is left out of a list: `1` by member. */
  missing(kind: Kind): string {
    let text = ''
    for (const { list, failure } of this.entries(kind)) text += list === undefined || failure !== undefined ? '1' : '0'
    return text
  }

  /** The merged list, of what is known now. */
  merged(kind: Kind): Merged | Promise<Merged> {
    const snapshot = this.snapshot(kind)
    const missing = this.missing(kind)
    return snapshot.ready(missing) ?? snapshot.merged(missing)
  }

  /** How long a merged list may be kept. Who is left out may be back at any time. */
  hint(kind: Kind): Hint {
    return this.#union.lists.hint(this.entries(kind))
  }

  /** One of its sessions is given the list. Who has another one than the rest hears of it, though it may be again what it was. */
  give(kind: Kind, { hash }: Merged): void {
    const given = this.given.get(kind)
    if (given !== hash) this.given.set(kind, given === undefined ? hash : several)
  }

  /** It took the place of another: what its sessions were given there they know. */
  inherit({ given }: View): void {
    for (const [kind, hash] of given) if (!this.given.has(kind)) this.given.set(kind, hash)
  }

  /** Whether its sessions know a list of that. */
  wasGiven(capability: Kind['capability']): boolean {
    return Object.values(kinds).some(kind => kind.capability === capability && this.given.has(kind))
  }

  /** Whether a backend has that; undefined when it was never met. */
  serves(backend: Backend, capability: string): boolean | undefined {
    return this.#union.lists.known.has(backend, capability)
  }

  /** Whether the lists of all were read at some time. */
  complete(kind: Kind): boolean {
    for (const { list } of this.entries(kind)) if (list === undefined) return false
    return true
  }

  /** Those whose list was never read. */
  unread(kind: Kind): Member[] {
    return this.#union.members.filter((_member, i) => this.entries(kind)[i]!.list === undefined)
  }

  /** Those whose list is being read for the first time. */
  awaited(kind: Kind): Member[] {
    const { members, lists, options } = this.#union
    return members.filter((_member, i) => lists.isAwaited(this.entries(kind)[i]!, options.listTimeoutMs))
  }

  /** Why the list of a backend, of the first that has none when none is named, is missing. */
  failure(kind: Kind, of?: Member): GatewayError | undefined {
    for (const { list, failure, backend } of this.entries(kind)) {
      if (of !== undefined && of.backend !== backend) continue
      if (failure !== undefined) return failure
      if (list === undefined) {
        const text = `backend "${backend.name}" did not answer ${kind.method} in time`
        return new GatewayError('timeout', text, { backend: backend.name })
      }
    }
    return undefined
  }

  async #read(
    kind: Kind,
    live: Live,
    enough: () => boolean,
    before = this.#begun(kind),
    backends?: ReadonlySet<Backend>
  ): Promise<void> {
    let waiting = this.#waiting(kind, live, before, backends)
    if (waiting === undefined || enough()) return
    let timer: NodeJS.Timeout | undefined
    let late = false
    const time = new Promise<void>(resolve => {
      timer = setTimeout(() => {
        late = true
        resolve()
      }, this.#union.options.listTimeoutMs)
    })
    while (waiting !== undefined && !late && !enough()) {
      await Promise.race([time, ...waiting])
      waiting = this.#waiting(kind, live, before, backends)
    }
    clearTimeout(timer)
  }

  /** When the last reading of each began. */
  #begun(kind: Kind): number[] {
    return this.entries(kind).map(({ startedAt }) => startedAt)
  }

  /**
   * `before`: when readings began. What was read from its beginning since then is new enough, however often it changes.
   * `backends`: those that are looked at; default: all.
   */
  #waiting(
    kind: Kind,
    live: Live,
    before: readonly number[],
    backends?: ReadonlySet<Backend>
  ): Promise<void>[] | undefined {
    const { lists, options } = this.#union
    let waiting: Promise<void>[] | undefined
    for (const [i, entry] of this.entries(kind).entries()) {
      if (backends?.has(entry.backend) === false) continue
      if (entry.fetching === undefined && entry.startedAt > before[i]!) continue
      const reading = lists.reading(entry, live, options.listTtlMs, options.listTimeoutMs)
      if (reading === undefined) continue
      if (waiting === undefined) waiting = [reading]
      else waiting.push(reading)
    }
    return waiting
  }
}

function isOf({ lists }: Snapshot, entries: readonly Entry[]): boolean {
  for (let i = 0; i < entries.length; i++) if (entries[i]!.list !== lists[i]) return false
  return true
}
