/** Messages on their way into a stream. */
import type { MessageSource } from '../exchanges/source.ts'
import { line, type Message } from '../protocol/message.ts'
import type { Source } from '../streams/pump.ts'

/** Progress and logs may be trimmed first; requests of the upstream carry their id as a label. */
export const outgoing = (source: MessageSource): Source => ({
  async next() {
    const message = await source.next()
    if (message === undefined) return undefined
    return { data: line(message), place: source.place, expendable: isExpendable(message), label: labelOf(message) }
  }
})

export const isExpendable = (message: Message): boolean =>
  message.method === 'notifications/progress' || message.method === 'notifications/message'

/** Our own ids of server requests are JSON strings without escapes. */
export const labelOf = (message: Message): string | undefined =>
  message.kind === 'request' ? message.id!.slice(1, -1) : undefined
