/** How a call ended, for the request log: read from the response only while somebody listens. */
import type { MessageSource } from '../exchanges/source.ts'
import { failureOf } from '../protocol/failure.ts'
import { isError, type Message } from '../protocol/message.ts'
import { facts } from '../telemetry/events.ts'
import type { Note } from './request.ts'

export function noteOutcome(response: Message, note: Note): void {
  if (!facts.request.wanted) return
  // Large results are not searched for what only tools say.
  if (note.method?.endsWith('/list') === true && !isError(response)) return
  const failure = failureOf(response)
  if (failure === undefined) return
  note.outcome = failure.outcome
  if (failure.outcome === 'rpc_error') note.error = failure.reason ?? failure.code
}

/** The source, with the outcome noted when its response passes. */
export function noted(source: MessageSource, note: Note): MessageSource {
  if (!facts.request.wanted) return source
  return {
    async next() {
      const message = await source.next()
      if (message?.kind === 'response') noteOutcome(message, note)
      return message
    },
    onCloseStream: listener => source.onCloseStream?.(listener),
    get place() {
      return source.place
    }
  }
}
