/** How many responses are not over yet: at the end of the gateway the last of them are waited for. */
import type { ServerResponse } from 'node:http'

export class OpenResponses {
  #count = 0
  #empty: PromiseWithResolvers<void> | undefined

  add(response: ServerResponse): void {
    this.#count++
    response.on('close', this.#closed)
  }

  /** Resolves once none is open. */
  empty(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    this.#empty ??= Promise.withResolvers()
    return this.#empty.promise
  }

  /** One function for all: an open stream holds none of its own. */
  readonly #closed = (): void => {
    this.#count--
    if (this.#count > 0) return
    this.#empty?.resolve()
    this.#empty = undefined
  }
}
