/** What backends said of themselves the last time that they were met: so that nobody waits for the slowest (MUX-06). */
import type { Backend, Server } from '../backends/backend.ts'

/** Who was given time in vain is not asked again so soon (milliseconds): else every session hangs there. */
const againMs = 30_000

export class Known {
  readonly #servers = new WeakMap<Backend, Server>()
  /** When somebody last waited in vain. */
  readonly #waited = new WeakMap<Backend, number>()

  get(backend: Backend): Server | undefined {
    return this.#servers.get(backend)
  }

  /** A link was opened. Whether the backend says something else than before. */
  seen(backend: Backend, server: Server): boolean {
    const before = this.#servers.get(backend)
    this.#servers.set(backend, server)
    this.#waited.delete(backend)
    return before !== undefined && JSON.stringify(before.capabilities) !== JSON.stringify(server.capabilities)
  }

  /** Somebody waited for it in vain; forgotten when it is met. */
  waited(backend: Backend): void {
    this.#waited.set(backend, performance.now())
  }

  /** Whether that was a moment ago. */
  late(backend: Backend): boolean {
    const at = this.#waited.get(backend)
    return at !== undefined && performance.now() - at < againMs
  }

  /** Whether it can do that; undefined when it was never met. */
  has(backend: Backend, capability: string): boolean | undefined {
    const server = this.#servers.get(backend)
    return server === undefined ? undefined : server.capabilities[capability] !== undefined
  }
}
