/** What is told of keeping results where a backend says nothing of it itself: `hints` of its config. */
import type { Backend } from '../backends/backend.ts'
import { type Hint, noHint } from './hints.ts'

interface Configured {
  /** Milliseconds. */
  readonly ttl: number
  readonly scope: 'public' | 'private'
}

export interface BackendHints {
  /** Of what there is: lists, and what the backend is. */
  readonly lists: Configured
  /** Of resources. */
  readonly reads: Configured
}

export class ConfiguredHints {
  readonly #lists = new WeakMap<Backend, Hint>()
  readonly #reads = new WeakMap<Backend, Hint>()

  set(backend: Backend, { lists, reads }: BackendHints): void {
    this.#lists.set(backend, hint(lists))
    this.#reads.set(backend, hint(reads))
  }

  /** Of the results of a method. Undefined: whose they are is not known. */
  readonly of = (backend: Backend | undefined, method: string): Hint =>
    (backend && (method === 'resources/read' ? this.#reads : this.#lists).get(backend)) ?? noHint
}

const hint = ({ ttl, scope }: Configured): Hint => ({ ttlMs: ttl, shared: scope === 'public' })
