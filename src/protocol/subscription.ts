/** What is said on the stream of a `subscriptions/listen`: everything names the request (2026-07-28 basic/patterns/subscriptions). */
import { splice } from './edit.ts'
import { find } from './find.ts'
import { type Message, readMessage } from './message.ts'
import { subscriptionKey as key, serverKey } from './modern.ts'
import { bytes } from './write.ts'

const own = (text: string | Buffer): Message => readMessage(Buffer.from(text), 100)

/** The first message. `id`: of the request, JSON text. `notifications`: what is honoured. */
export const acknowledgement = (id: string, notifications: unknown): Message =>
  own(
    `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"${key}":${id}},"notifications":${JSON.stringify(notifications)}}}`
  )

/** The response, when the server ends it. `server`: JSON text of who that is. */
export const completion = (id: string, server: string): Message =>
  own(
    `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","_meta":{"${key}":${id},"${serverKey}":${server}}}}`
  )

/** The notification as this subscription says it; what it came with stays. */
export function tagged(given: Message, id: string): Message {
  // What was edited stands no more where it was found.
  const notice = given.edits.length === 0 ? given : own(bytes(given))
  const { source, scanned, method } = notice
  const { params, meta } = scanned
  const tag = `"${key}":${id}`
  if (params === undefined) {
    return own(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":{"_meta":{${tag}}}}`)
  }
  if (meta === undefined) return first(notice, params, `"_meta":{${tag}}`)
  const there = find(source, meta.start, [key])
  return there === undefined ? first(notice, meta, tag) : splice(notice, { ...there, text: id })
}

function first(
  message: Message,
  { start, keys }: { readonly start: number; readonly keys: readonly string[] },
  member: string
): Message {
  return splice(message, { start: start + 1, end: start + 1, text: keys.length === 0 ? member : `${member},` })
}
