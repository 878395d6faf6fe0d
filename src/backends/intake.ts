/** Texts of an upstream on one pipe: messages to the correlator, and what is none skipped, counted, or told to the call it was for. */
import { GatewayError } from '../errors.ts'
import { type Message, readMessage } from '../protocol/message.ts'
import { ScanError } from '../protocol/scan.ts'
import { facts } from '../telemetry/events.ts'
import { endBytes } from './answered-id.ts'
import type { Correlator } from './correlate.ts'

/** Bytes of a message of the backend, and levels of its nesting. */
export interface UpstreamLimits {
  readonly upstream: number
  readonly depth: number
}

/** So many times the largest message is read on for the end of a larger one, before there is none to be expected. */
export const endless = 4

export class Intake {
  readonly #correlator: Correlator
  readonly #backend: string
  readonly #limits: UpstreamLimits

  constructor(correlator: Correlator, backend: string, limits: UpstreamLimits) {
    this.#correlator = correlator
    this.#backend = backend
    this.#limits = limits
  }

  /** A text of its own bytes. False: pause the pipe. */
  text(bytes: Buffer): boolean {
    let message: Message
    try {
      message = readMessage(bytes, this.#limits.depth)
    } catch (error) {
      this.#noise(bytes, error)
      return true
    }
    return this.#correlator.accept(message)
  }

  /** A text that is no message, for instance because its sender died in the middle of it. */
  fragment(bytes: Buffer): void {
    try {
      this.#correlator.accept(readMessage(bytes, this.#limits.depth))
    } catch {
      this.#drop('noise')
    }
  }

  /** A message larger than the bound began like this. Whether the call that it answers is known, and has failed. */
  large(head: Buffer): boolean {
    return this.#correlator.unreadable(head, empty, this.#tooLarge())
  }

  /** It ended like this; its call has not failed yet. */
  largeOver(head: Buffer, tail: Buffer): void {
    if (!this.#correlator.unreadable(head, tail, this.#tooLarge(), true)) this.#drop('too_large')
  }

  /** Whatever is no message is skipped; a broken answer fails its call, where its ends say whose it is. */
  #noise(bytes: Buffer, error: unknown): void {
    if (error instanceof GatewayError && error.cause instanceof ScanError) {
      const text = `backend "${this.#backend}" gave an answer that is no valid message: ${error.message}`
      const invalid = new GatewayError('backend_invalid', text, { backend: this.#backend })
      if (this.#correlator.unreadable(bytes.subarray(0, endBytes), bytes.subarray(-endBytes), invalid)) return
    }
    this.#drop('noise')
  }

  #tooLarge(): GatewayError {
    const text = `backend "${this.#backend}" sent a message that is larger than ${this.#limits.upstream} bytes`
    return new GatewayError('backend_too_large', text, { backend: this.#backend })
  }

  #drop(reason: string): void {
    facts.drop.publish({ reason, backend: this.#backend })
  }
}

const empty = Buffer.alloc(0)
