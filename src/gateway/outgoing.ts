/** Messages on their way into a stream. */
import type { MessageSource } from '../exchanges/source.ts'
import type { Message } from '../protocol/message.ts'
import { line } from '../protocol/write.ts'
import type { Source } from '../streams/pump.ts'

/** Progress and logs may be trimmed first; requests of the upstream carry their id as a label. */
export const outgoing = (source: MessageSource): Source => ({
  async next() {
    const message = await source.next()
    if (message === undefined) return undefined
    return { data: kept(message), place: source.place, expendable: isExpendable(message), label: labelOf(message) }
  }
})

/** The message's line in a buffer of its own: a log keeps it, and must not keep what stood beside it. */
export function kept(message: Message): Buffer {
  const data = line(message)
  if (data.byteLength === data.buffer.byteLength) return data
  const copy = Buffer.allocUnsafeSlow(data.byteLength)
  data.copy(copy)
  return copy
}

export const isExpendable = (message: Message): boolean =>
  message.method === 'notifications/progress' || message.method === 'notifications/message'

/** Says nothing but "look again": once is as good as many times. */
export const isListChanged = (message: Message): boolean =>
  message.kind === 'notification' && message.method!.endsWith('/list_changed')

/** Our own ids of server requests are JSON strings without escapes. */
export const labelOf = (message: Message): string | undefined =>
  message.kind === 'request' ? message.id!.slice(1, -1) : undefined
