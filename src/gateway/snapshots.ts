/** What follows from the lists of the members at one moment: names and merged lists, made once for all who have the same lists. */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { List } from './list-fetch.ts'
import type { Item, Kind } from './list-items.ts'
import { type Merged, merge, type Shown } from './merge.ts'
import { type Named, NameTable } from './names.ts'
import type { Selection } from './selection.ts'
import { isShowable } from './showable.ts'
import { Told } from './told.ts'
import type { Member, UnionOptions } from './union.ts'

/** By member; undefined where none was ever read. */
export type ListOfEach = readonly (List | undefined)[]

/** Of each kind: audiences mostly have the same lists, and lists change seldom. */
const kept = 8

export class Snapshots {
  readonly #options: UnionOptions
  readonly #kept = new Map<Kind, Snapshot[]>()
  readonly #told = new Told()

  constructor(options: UnionOptions) {
    this.#options = options
  }

  of(kind: Kind, lists: ListOfEach): Snapshot {
    const snapshots = this.#kept.get(kind) ?? []
    this.#kept.set(kind, snapshots)
    const at = snapshots.findIndex(snapshot => snapshot.isOf(lists))
    const [snapshot] = at === -1 ? [new Snapshot(kind, [...lists], this.#options, this.#told)] : snapshots.splice(at, 1)
    snapshots.unshift(snapshot!)
    snapshots.length = Math.min(snapshots.length, kept)
    return snapshot!
  }
}

export class Snapshot {
  readonly kind: Kind
  readonly lists: ListOfEach
  readonly #options: UnionOptions
  readonly #told: Told
  #table: NameTable | undefined
  /** By who is missing. */
  readonly #merged = new Map<string, Promise<Merged>>()
  readonly #done = new Map<string, Merged>()

  constructor(kind: Kind, lists: ListOfEach, options: UnionOptions, told: Told) {
    this.kind = kind
    this.lists = lists
    this.#options = options
    this.#told = told
  }

  isOf(lists: ListOfEach): boolean {
    for (let i = 0; i < lists.length; i++) if (lists[i] !== this.lists[i]) return false
    return true
  }

  /** Of tools and prompts. */
  get table(): NameTable {
    this.#table ??= this.#name()
    return this.#table
  }

  /** The merged list when it is made already. `missing`: bit by member. */
  ready(missing: string): Merged | undefined {
    return this.#done.get(missing)
  }

  /** The list without the members that are missing (`1` by member, else `0`). */
  merged(missing: string): Promise<Merged> {
    let merged = this.#merged.get(missing)
    if (merged === undefined) {
      merged = this.#merge(missing)
      for (const old of this.#merged.keys()) if (this.#merged.size >= kept) this.#forget(old)
      this.#merged.set(missing, merged)
      void merged.then(
        done => {
          if (this.#merged.get(missing) === merged) this.#done.set(missing, done)
        },
        () => this.#forget(missing)
      )
    }
    return merged
  }

  #forget(missing: string): void {
    this.#merged.delete(missing)
    this.#done.delete(missing)
  }

  #name(): NameTable {
    const { members, naming, path } = this.#options
    const listed = members.map((member, i) => {
      const selection = this.kind.name === 'prompts' ? member.prompts : member.tools
      const items = this.lists[i]?.items ?? []
      this.#unmatched(member, selection, items)
      const names = items.flatMap(({ id }) => (selection.allows(id) ? [selection.shown(id)] : []))
      return { backend: member.backend.name, prefix: member.prefix, names }
    })
    const table = new NameTable(listed, naming)
    if (table.clashes.length > 0) {
      const never = naming.mode === 'never'
      const outcome = never ? 'the first in the list has them' : 'clients see longer ones'
      const text = `names of ${this.kind.name} at ${path} that several backends could mean: ${outcome}`
      const data = { clashes: table.clashes.slice(0, most), count: table.clashes.length }
      this.#told.tell({ level: never ? 'warn' : 'info', text, data })
    }
    this.#leftOut(table.unshowable)
    return table
  }

  async #merge(missing: string): Promise<Merged> {
    const { members, page, generation } = this.#options
    const named = this.kind.id === 'name'
    if (named && this.#table === undefined) {
      // Many names take a while: others have their turn before and after.
      await otherWork()
      this.#table ??= this.#name()
      await otherWork()
    }
    const shown = named ? this.#named(missing) : this.#byUri(missing)
    return merge(shown, {
      kind: this.kind,
      page,
      generation,
      missing: members.filter((_member, i) => missing[i] === '1').map(({ backend }) => backend.name)
    })
  }

  #named(missing: string): Shown[] {
    const { table } = this
    return this.#options.members.flatMap((member, i) => {
      if (missing[i] === '1') return []
      const selection = this.kind.name === 'prompts' ? member.prompts : member.tools
      const { name: backend } = member.backend
      let place = 0
      return (this.lists[i]?.items ?? []).flatMap((item): Shown[] => {
        if (!selection.allows(item.id)) return []
        const id = table.advertised(backend, selection.shown(item.id))
        if (id === undefined) return []
        const description = selection.description(item.id)
        return [{ backend, item, place: place++, id: id === item.id ? undefined : id, description }]
      })
    })
  }

  /** Of several with one URI the first in the order of the config. */
  #byUri(missing: string): Shown[] {
    const seen = new Set<string>()
    const unshowable: Named[] = []
    let twice: string | undefined
    const shown = this.#options.members.flatMap(({ backend: { name: backend }, resources }, i) => {
      if (missing[i] === '1') return []
      let place = 0
      return (this.lists[i]?.items ?? []).flatMap((item): Shown[] => {
        if (!resources.allows(item.id)) return []
        if (!isShowable(item.id)) {
          unshowable.push({ backend, name: item.id })
          return []
        }
        if (seen.has(item.id)) {
          twice ??= item.id
          return []
        }
        seen.add(item.id)
        return [{ backend, item, place: place++, id: undefined, description: resources.description(item.id) }]
      })
    })
    if (twice !== undefined) {
      const text = `${this.kind.name} at ${this.#options.path}: several backends list ${twice}; the first of them has it`
      this.#told.tell({ level: 'warn', text })
    }
    this.#leftOut(unshowable)
    return shown
  }

  /** A pattern that fits nothing is mostly a mistake, and one in `deny` a dangerous one. */
  #unmatched({ backend }: Member, selection: Selection, items: readonly Item[]): void {
    if (items.length === 0) return
    const patterns = selection.unmatched(items.map(({ id }) => id))
    if (patterns.length === 0) return
    const text = `${this.kind.name} of its config names what the backend does not list`
    this.#told.tell({ level: 'warn', text, backend: backend.name, data: { patterns: patterns.slice(0, most) } })
  }

  #leftOut(unshowable: readonly Named[]): void {
    if (unshowable.length === 0) return
    const text = `${unshowable.length} of ${this.kind.name} at ${this.#options.path} are left out: their names are empty or have control characters`
    this.#told.tell({ level: 'warn', text, data: { names: unshowable.slice(0, most) } })
  }
}

/** Names in one line of the log. */
const most = 20
