/** What backends said of themselves the last time that they were met: so that nobody waits for the slowest (MUX-06). */
import type { Backend, Server } from '../backends/backend.ts'
import { toGatewayError } from '../errors.ts'

/** Who was given time in vain is not asked again so soon (milliseconds): else every session hangs there. */
const againMs = 30_000

export class Known {
  readonly #servers = new WeakMap<Backend, Server>()
  /** First contacts that are being made. */
  readonly #meetings = new WeakMap<Backend, { readonly over: Promise<unknown>; readonly began: number }>()
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

  /**
   * Resolves once the backend was met. One session opens its link for that, whoever comes meanwhile waits for it: a crowd
   * that comes at once is one session upstream. Rejects with the GatewayError of the opening; when that is the end of the
   * session which opened, the next one opens. What takes longer than `patienceMs` hangs: nobody else waits for that.
   */
  async meet(backend: Backend, open: () => Promise<unknown>, patienceMs: number): Promise<void> {
    while (!this.#servers.has(backend)) {
      const meeting = this.#meetings.get(backend)
      if (meeting === undefined || performance.now() - meeting.began >= patienceMs) {
        const own = { over: open(), began: performance.now() }
        this.#meetings.set(backend, own)
        await own.over.finally(() => {
          if (this.#meetings.get(backend) === own) this.#meetings.delete(backend)
        })
        return
      }
      await meeting.over.catch((error: unknown) => {
        if (toGatewayError(error).code !== 'session') throw error
      })
    }
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
