/** When a stream that broke is asked for again (basic/transports, "Resumability and Redelivery"). */

import type { Clock } from '../clock.ts'
import { backoff } from './backoff.ts'
import type { Fault } from './reader.ts'

/** Attempts in a row that may come to nothing. */
const maxFailures = 5

/** Longest `retry` that is honoured, milliseconds. */
export const maxRetryMs = 30_000

const afterFailure = { first: 250, most: 5_000 }
/** A server that keeps ending its stream without a message is a poll; it shall not be a storm. */
const afterSilence = { first: 50, most: 1_000 }

export class Resumption {
  readonly #clock: Clock
  #failures = 0
  #silences = 0
  #heardEvent = false
  #heardMessage = false
  #retry = 0
  #forget: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  retry(ms: number): void {
    this.#retry = Math.min(ms, maxRetryMs)
  }

  /** An event with an id came. */
  event(): void {
    this.#heardEvent = true
  }

  message(): void {
    this.#heardMessage = true
  }

  /** The stream broke or ended: calls back when it is time to ask again. False: enough attempts. */
  again(call: () => void): boolean {
    if (this.#heardEvent || this.#heardMessage) this.#failures = 0
    else this.#failures++
    this.#silences = this.#heardMessage ? 0 : this.#silences + 1
    this.#heardEvent = false
    this.#heardMessage = false
    if (this.#failures > maxFailures) return false
    const pause =
      this.#failures > 0
        ? backoff(this.#failures, afterFailure, this.#clock)
        : this.#silences > 1
          ? backoff(this.#silences - 1, afterSilence, this.#clock)
          : 0
    this.#forget = this.#clock.after(Math.max(this.#retry, pause), call)
    return true
  }

  stop(): void {
    this.#forget?.()
    this.#forget = undefined
  }
}

/** Refusals that may be over by the next attempt. */
export const isPassing = (fault: Fault): boolean =>
  fault.kind === 'status' && (fault.status >= 500 || fault.status === 429 || fault.status === 408)
