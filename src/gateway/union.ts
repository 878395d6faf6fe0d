/** Several backends as one server: who they are, what they are called, and what each audience sees of them. */
import type { Backend } from '../backends/backend.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { audienceOf } from './audience.ts'
import type { Lists } from './lists.ts'
import type { Naming } from './names.ts'
import type { Selection } from './selection.ts'
import { Snapshots } from './snapshots.ts'
import { View } from './view.ts'

export interface Member {
  readonly backend: Backend
  /** Before its names, where they need one. */
  readonly prefix: string
  /** URIs that begin like this are its own, listed or not. */
  readonly uriPrefix: string | undefined
  /** Methods that begin like this are its own. */
  readonly extensions: readonly string[]
  readonly tools: Selection
  readonly prompts: Selection
  /** Of resources and templates, by URI. */
  readonly resources: Selection
}

export interface UnionOptions {
  readonly path: string
  /** In the order of the config. */
  readonly members: readonly Member[]
  readonly naming: Naming
  /** What becomes of a request that needs a backend which fails. */
  readonly onError: 'skip' | 'fail'
  /** How long (ms) `initialize` waits for backends that were never met, and a list for one that is read. */
  readonly initTimeoutMs: number
  readonly listTimeoutMs: number
  /** After which (ms) lists are read again though nobody said that they changed. */
  readonly listTtlMs: number
  /** Items of one page of a merged list. */
  readonly page: number
  /** Hash of what names and order depend on: cursors are good for it. */
  readonly generation: string
}

/** Audiences whose view is kept. */
const maxViews = 500

export class Union {
  readonly options: UnionOptions
  readonly members: readonly Member[]
  readonly lists: Lists
  readonly snapshots: Snapshots
  readonly #byName: ReadonlyMap<string, Member>
  readonly #views = new Map<string, View>()
  readonly #ofLive = new WeakMap<Live, View>()

  constructor(options: UnionOptions, lists: Lists) {
    this.options = options
    this.members = options.members
    this.lists = lists
    this.snapshots = new Snapshots(options)
    this.#byName = new Map(options.members.map(member => [member.backend.name, member]))
  }

  member(backend: string): Member | undefined {
    return this.#byName.get(backend)
  }

  has(backend: Backend): boolean {
    return this.#byName.get(backend.name)?.backend === backend
  }

  /** What the session sees. */
  view(live: Live): View {
    let view = this.#ofLive.get(live)
    if (view === undefined) {
      const audience = audienceOf(live)
      view = this.#views.get(audience) ?? new View(this, live)
      this.#views.delete(audience)
      this.#views.set(audience, view)
      if (this.#views.size > maxViews) this.#views.delete(this.#views.keys().next().value!)
      this.#ofLive.set(live, view)
    }
    return view
  }

  views(): Iterable<View> {
    return this.#views.values()
  }
}
