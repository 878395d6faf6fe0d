/** The answer to something short: only its status counts, whatever the body is (case HDR-06). */
import type { Dispatcher } from 'undici'

/** Bytes of a body that are read so that the connection can be used again. */
const maxBody = 64 * 1024

const enough = new Error('enough')

export class Acknowledged implements Dispatcher.DispatchHandler {
  #resolve: ((status: number) => void) | undefined
  #reject: ((cause: Error) => void) | undefined
  #bytes = 0

  constructor(resolve: (status: number) => void, reject: (cause: Error) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  onRequestStart(): void {}

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>
  ): void {
    if (status < 200) return
    this.#resolve?.(status)
    this.#resolve = undefined
    this.#reject = undefined
    if (String(headers['content-type'] ?? '').startsWith('text/event-stream')) controller.abort(enough)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > maxBody) controller.abort(enough)
  }

  onResponseEnd(): void {}

  onResponseError(_controller: unknown, cause: Error): void {
    this.#reject?.(cause)
    this.#resolve = undefined
    this.#reject = undefined
  }
}
