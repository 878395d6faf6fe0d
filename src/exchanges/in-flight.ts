/** The calls of each session that run now. Responses are matched by exchange, never through this; cancellation is. */
import { sameId } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Running } from './running.ts'

export class InFlight {
  readonly #calls = new Map<Live, Set<Running>>()
  #size = 0
  #idle: PromiseWithResolvers<void> | undefined

  get size(): number {
    return this.#size
  }

  add(running: Running): void {
    const { live } = running
    const calls = this.#calls.get(live)
    if (calls === undefined) this.#calls.set(live, new Set([running]))
    else calls.add(running)
    live.busy++
    this.#size++
  }

  delete(running: Running): void {
    const { live } = running
    const calls = this.#calls.get(live)
    if (calls?.delete(running) !== true) return
    if (calls.size === 0) this.#calls.delete(live)
    live.busy--
    this.#size--
    if (this.#size === 0) {
      this.#idle?.resolve()
      this.#idle = undefined
    }
  }

  /** Resolves once no call is in flight. */
  idle(): Promise<void> {
    if (this.#size === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers()
    return this.#idle.promise
  }

  /** The one call with this id (JSON text); undefined when there is none, or when several share it. */
  find(live: Live, id: string): Running | undefined {
    let found: Running | undefined
    for (const running of this.#calls.get(live) ?? []) {
      if (!sameId(running.request.id!, id)) continue
      if (found !== undefined) return undefined
      found = running
    }
    return found
  }

  /** Oldest first. */
  of(live: Live): Iterable<Running> {
    return this.#calls.get(live) ?? []
  }

  *all(): Iterable<Running> {
    for (const calls of this.#calls.values()) yield* calls
  }

  /** Calls in flight at a backend. */
  at(backend: string): number {
    let count = 0
    for (const running of this.all()) if (running.backend.name === backend) count++
    return count
  }
}
