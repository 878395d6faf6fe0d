import type { Running } from './running.ts'

/** A request of a handler that waits for its client. It ends once: answered, taken back, or given up with its call. */
export class Asked {
  /** JSON text; the link's own. */
  readonly id: string
  readonly key: string
  readonly answer: Promise<unknown>
  readonly #running: Running
  readonly #asking: Map<string, Asked>
  #resolve!: (result: unknown) => void
  #reject!: (error: Error) => void

  /** `asking`: the requests of the link, by the id that the client knows. */
  constructor(id: string, key: string, running: Running, asking: Map<string, Asked>) {
    this.id = id
    this.key = key
    this.#running = running
    this.#asking = asking
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    running.asked.set(id, this)
    asking.set(id, this)
  }

  resolve(result: unknown): void {
    this.#end()
    this.#resolve(result)
  }

  reject(error: Error): void {
    this.#end()
    this.#reject(error)
  }

  #end(): void {
    this.#running.asked.delete(this.id)
    this.#asking.delete(this.id)
    this.#running.follower?.answered(this.id)
  }
}
