/** The messages that answer one POST, in order, whoever makes them. */
import type { Message } from '../protocol/message.ts'
import type { Place } from '../streams/stream-log.ts'

export interface MessageSource {
  /** Undefined after the last. Never rejects. One reader. */
  next(): Promise<Message | undefined>
  /** Where the upstream's own stream stands after what was given; undefined when it cannot be resumed. */
  readonly place?: Place | undefined
  /** The connection is to be closed now, while the exchange goes on (R18). One listener. */
  onCloseStream?(listener: () => void): void
  /** The client does not want the answer any more: nothing but what was given before follows. */
  cancel?(reason?: string): void
}

/** One message of the gateway's own. The promise must not reject. */
export const single = (message: Message | undefined | Promise<Message | undefined>): Single => new Single(message)

export class Single implements MessageSource {
  #left: Message | undefined | Promise<Message | undefined>

  constructor(message: Message | undefined | Promise<Message | undefined>) {
    this.#left = message
  }

  /** The message, when it is there already and was not taken. */
  get ready(): Message | undefined {
    return this.#left instanceof Promise ? undefined : this.#left
  }

  async next(): Promise<Message | undefined> {
    const taken = this.#left
    this.#left = undefined
    return taken
  }
}

interface Waiting {
  readonly message: Message
  readonly taken: () => void
}

/**
 * Several sources side by side: messages as they come, over when all are. Each source is asked for its next message only
 * once the last was taken, so that a reader who is behind holds all of them back.
 */
export function merged(sources: readonly MessageSource[]): MessageSource {
  const waiting: Waiting[] = []
  let left = sources.length
  let wake: (() => void) | undefined
  const carry = async (source: MessageSource): Promise<void> => {
    for (let message = await source.next(); message !== undefined; message = await source.next()) {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push({ message, taken: resolve })
      wake?.()
      await promise
    }
    left--
    wake?.()
  }
  for (const source of sources) void carry(source)
  return {
    async next() {
      for (;;) {
        const next = waiting.shift()
        next?.taken()
        if (next !== undefined) return next.message
        if (left === 0) return undefined
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    }
  }
}
