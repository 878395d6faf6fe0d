/** From the first message to the shape of the answer: JSON when it is quick, an event stream otherwise (decisions: "Response mode"). */
import { isError, type Message } from '../protocol/message.ts'
import type { MessageSource } from './source.ts'

/**
 * `auto`: JSON unless something else than responses comes, or time runs out. `json`: always that. `sse`: an event stream, but
 * errors that come first are JSON. `sse-only`: the client takes nothing else.
 */
export type ResponseMode = 'auto' | 'json' | 'sse' | 'sse-only'

export type Begun =
  /** All responses, and nothing else; fewer than asked for (none) when calls were cancelled. */
  | { readonly kind: 'whole'; readonly responses: readonly Message[] }
  /** An event stream is to be opened; `rest` begins with what came already. */
  | { readonly kind: 'open'; readonly rest: MessageSource }

export async function begin(source: MessageSource, mode: ResponseMode, sseAfterMs: number): Promise<Begun> {
  if (mode === 'json') return { kind: 'whole', responses: await responsesOf(source) }
  const came: Message[] = []
  let settle: ((message: Message | undefined | typeof tooLate) => void) | undefined
  const timer = setTimeout(() => settle?.(tooLate), sseAfterMs)
  try {
    for (;;) {
      const next = source.next()
      // What Promise.race does, for a third of its price: this is the way of every call.
      const message = await new Promise<Message | undefined | typeof tooLate>(resolve => {
        settle = resolve
        void next.then(resolve)
      })
      if (message === tooLate) return { kind: 'open', rest: from(source, came, next) }
      if (message === undefined) return { kind: 'whole', responses: came }
      came.push(message)
      const plain = message.kind === 'response' && (mode === 'auto' || (mode === 'sse' && isError(message)))
      if (!plain) return { kind: 'open', rest: from(source, came, undefined) }
    }
  } finally {
    clearTimeout(timer)
  }
}

const tooLate = Symbol('too late')

/** Notifications are dropped: a JSON body has no room for them. */
async function responsesOf(source: MessageSource): Promise<Message[]> {
  const responses: Message[] = []
  for (let message = await source.next(); message !== undefined; message = await source.next()) {
    if (message.kind === 'response') responses.push(message)
  }
  return responses
}

function from(
  source: MessageSource,
  came: Message[],
  pending: Promise<Message | undefined> | undefined
): MessageSource {
  return {
    async next() {
      const message = came.shift()
      if (message !== undefined) return message
      if (pending === undefined) return source.next()
      const first = pending
      pending = undefined
      return first
    },
    onCloseStream(listener) {
      source.onCloseStream?.(listener)
    },
    get place() {
      return came.length > 0 || pending !== undefined ? undefined : source.place
    }
  }
}
