/** What is known of each backend, from what its kind reports. */
import type { Backend } from '../backends/backend.ts'
import { facts } from '../telemetry/events.ts'

export interface BackendHealth {
  readonly name: string
  /** `unknown` until somebody used it and it answered, or could not be reached. */
  readonly state: 'unknown' | 'up' | 'down'
  readonly lastError?: string
}

export class Health {
  readonly #states = new Map<string, BackendHealth>()
  readonly #unsubscribe: () => void

  /** `cameUp`: one can be reached that could not, or of which nothing was known. */
  constructor(backends: Iterable<Backend>, cameUp: (name: string) => void = () => {}) {
    for (const { name } of backends) this.#states.set(name, { name, state: 'unknown' })
    this.#unsubscribe = facts.backend.subscribe(({ backend, up, reason }) => {
      if (!this.#states.has(backend)) return
      this.#states.set(backend, {
        name: backend,
        state: up ? 'up' : 'down',
        ...(up || reason === undefined ? {} : { lastError: reason })
      })
      if (up) cameUp(backend)
    })
  }

  /** Other backends are served now. What is known of those that were served before is kept. */
  serve(now: Iterable<Backend>, before: Iterable<Backend>): void {
    const same = new Set(before)
    const known = new Map(this.#states)
    this.#states.clear()
    for (const backend of now) {
      const { name } = backend
      this.#states.set(name, (same.has(backend) ? known.get(name) : undefined) ?? { name, state: 'unknown' })
    }
  }

  of(name: string): BackendHealth {
    return this.#states.get(name) ?? { name, state: 'unknown' }
  }

  close(): void {
    this.#unsubscribe()
  }
}
