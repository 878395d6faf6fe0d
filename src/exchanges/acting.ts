/** Sources around a call: begun later, or with something done before the result is told. */
import { toGatewayError } from '../errors.ts'
import { errorMessage } from '../protocol/make.ts'
import { isError, type Message } from '../protocol/message.ts'
import { type MessageSource, single } from './source.ts'

/**
 * The source that comes of `make`; when that rejects, one error for the request with this id. `cancelParts`: of one that makes
 * calls of its own at several backends, with that id.
 */
export const later = (id: string, make: () => Promise<MessageSource>, cancelParts?: CancelParts): Later =>
  new Later(id, make, cancelParts)

type CancelParts = (reason: string | undefined) => void

/** Until it is made it can be cancelled: then nothing comes of it, and what is made is cancelled before it began (R102). */
export class Later implements MessageSource {
  /** Resolves once there is something to ask for messages. Never rejects. */
  readonly made: Promise<void>
  readonly #source = Promise.withResolvers<MessageSource>()
  #cancelled = false
  #made: MessageSource | undefined
  readonly #cancelParts: CancelParts | undefined

  constructor(id: string, make: () => Promise<MessageSource>, cancelParts?: CancelParts) {
    this.#cancelParts = cancelParts
    this.made = this.#make(id, make)
  }

  /** Whether the calls that it makes are parts of it. */
  get hasParts(): boolean {
    return this.#cancelParts !== undefined
  }

  async next(): Promise<Message | undefined> {
    return (await this.#source.promise).next()
  }

  cancel(reason?: string): void {
    this.#cancelled = true
    this.#cancelParts?.(reason)
    if (this.#made === undefined) this.#source.resolve(nothing)
    else this.#made.cancel?.()
  }

  async #make(id: string, make: () => Promise<MessageSource>): Promise<void> {
    const source: MessageSource = await make().catch((error: unknown) =>
      single(errorMessage(toGatewayError(error), id))
    )
    this.#made = source
    if (this.#cancelled && source.cancel !== undefined) {
      source.cancel()
      // Read to its end it is over for whoever counts calls, too.
      await source.next()
    }
    this.#source.resolve(source)
  }
}

const nothing: MessageSource = { next: async () => undefined }

/** The source, with `act` done before its result is told. When that rejects, the client gets the error instead. */
export function acting(source: MessageSource, act: () => Promise<void>): MessageSource {
  return {
    async next() {
      const message = await source.next()
      if (message?.kind !== 'response' || isError(message)) return message
      try {
        await act()
        return message
      } catch (error) {
        return errorMessage(toGatewayError(error), message.id)
      }
    },
    ...(source.cancel && { cancel: reason => source.cancel!(reason) })
  }
}

/** The response, and nothing of what comes before it; undefined when the call was cancelled. */
export async function responseOf(source: MessageSource): Promise<Message | undefined> {
  let response: Message | undefined
  for (let message = await source.next(); message !== undefined; message = await source.next()) {
    if (message.kind === 'response') response = message
  }
  return response
}
