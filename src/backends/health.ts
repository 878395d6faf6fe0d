/** Whether a backend works, as `facts.backend` says it: told when it changes. */
import { facts } from '../telemetry/events.ts'

export class Health {
  readonly #backend: string
  #up: boolean | undefined

  constructor(backend: string) {
    this.#backend = backend
  }

  up(): void {
    if (this.#up === true) return
    this.#up = true
    facts.backend.publish({ backend: this.#backend, up: true })
  }

  down(reason: string): void {
    if (this.#up === false) return
    this.#up = false
    facts.backend.publish({ backend: this.#backend, up: false, reason })
  }
}
