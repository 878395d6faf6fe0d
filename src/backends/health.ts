/** Whether a backend works, as `facts.backend` says it: told when it changes. */
import { facts } from '../telemetry/events.ts'

export class Health {
  readonly #backend: string
  #up: boolean | undefined
  #retired = false

  constructor(backend: string) {
    this.#backend = backend
  }

  /** Another backend may have its name by now: what becomes of this one is not told any more. */
  retire(): void {
    this.#retired = true
  }

  up(): void {
    if (this.#up === true || this.#retired) return
    this.#up = true
    facts.backend.publish({ backend: this.#backend, up: true })
  }

  down(reason: string): void {
    if (this.#up === false || this.#retired) return
    this.#up = false
    facts.backend.publish({ backend: this.#backend, up: false, reason })
  }
}
