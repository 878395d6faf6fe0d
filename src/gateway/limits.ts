/** How long calls at each backend may take. */
import type { Backend } from '../backends/backend.ts'

/** Milliseconds of silence, and in all. */
export interface CallLimits {
  readonly timeout: number
  readonly maxTime: number
}

/** Those of a backend stand as long as it does: calls at one that left the config have them too. */
export class Limits {
  readonly #limits = new WeakMap<Backend, CallLimits>()

  set(backend: Backend, { timeout, maxTime }: CallLimits): void {
    this.#limits.set(backend, { timeout, maxTime })
  }

  /** `tasks/result` blocks until the task is over, and nothing is said meanwhile. */
  readonly of = (backend: Backend, method: string): CallLimits =>
    method === 'tasks/result' ? endless : this.#limits.get(backend)!
}

/** The longest that a timer takes: 24 days. */
const longest = 2 ** 31 - 1

const endless: CallLimits = { timeout: longest, maxTime: longest }
