/** How a call ended, for the request log: read from the response only while somebody listens. */
import type { MessageSource } from '../exchanges/source.ts'
import type { Message } from '../protocol/message.ts'
import { facts } from '../telemetry/events.ts'
import type { Note } from './request.ts'

export function noteOutcome(response: Message, note: Note): void {
  if (!facts.request.wanted) return
  const error = memberOf(response, 'error') as { code?: unknown; data?: { reason?: unknown } } | undefined
  if (error !== undefined) {
    note.outcome = 'rpc_error'
    note.error = String(error.data?.reason ?? error.code)
  } else if (response.source.includes(isErrorKey)) {
    const result = memberOf(response, 'result') as { isError?: unknown } | undefined
    if (result?.isError === true) note.outcome = 'tool_error'
  }
}

/** Most results have none: a search of the bytes is cheaper than a look at the members. */
const isErrorKey = Buffer.from('"isError"')

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

function memberOf(response: Message, key: string): unknown {
  const { keys, spans } = response.scanned.top
  const i = keys.indexOf(key)
  if (i === -1) return undefined
  const value: unknown = JSON.parse(response.source.toString('utf8', spans[2 * i], spans[2 * i + 1]))
  return value ?? undefined
}
