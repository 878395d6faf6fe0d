/** What every modern request says of itself in `params._meta` (2026-07-28 basic/index, "Per-request protocol fields"). */
import { splice, withMember, withMeta, withParam } from './edit.ts'
import { find } from './find.ts'
import { type Message, readMessage, textMeta } from './message.ts'
import { capabilitiesKey, clientKey, subscriptionKey, versionKey } from './modern.ts'
import { bytes } from './write.ts'

/** Deeper than whatever a message was read with. */
const anyDepth = 2_000

/** The message with its edits in its source, so that what is read of it is what is sent. */
export const settled = (message: Message): Message =>
  message.edits.length === 0 ? message : readMessage(bytes(message), anyDepth)

/** A request with `params._meta` members (JSON texts) set, whether there are such objects yet or not. */
export function withMetas(request: Message, members: readonly (readonly [key: string, json: string])[]): Message {
  const message = settled(request)
  const { params, meta } = message.scanned
  const text = members.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')
  if (params === undefined) return withMember(message, 'params', `{"_meta":{${text}}}`)
  if (meta === undefined) return withParam(message, '_meta', `{${text}}`)
  if (members.some(([key]) => meta.keys.includes(key))) {
    return members.reduce((whole, [key, json]) => withMeta(whole, key, json), message)
  }
  const at = meta.start + 1
  return splice(message, { start: at, end: at, text: meta.keys.length === 0 ? text : `${text},` })
}

/** Who asks, where the request does not say so itself. */
export interface Asking {
  /** JSON text of `clientInfo`. */
  readonly info: string
  /** JSON text of `clientCapabilities`. */
  readonly capabilities: string
}

/** The request as it is sent to an upstream that speaks `version`. What it says of its client is left as it is. */
export function completed(request: Message, version: string, { info, capabilities }: Asking): Message {
  const message = settled(request)
  const keys = message.scanned.meta?.keys ?? []
  const said = `"${version}"`
  const isSaid = textMeta(message, versionKey) === said
  const [hasClient, hasCapabilities] = [keys.includes(clientKey), keys.includes(capabilitiesKey)]
  if (isSaid && hasClient && hasCapabilities) return message
  const missing: [string, string][] = []
  if (!isSaid) missing.push([versionKey, said])
  if (!hasClient) missing.push([clientKey, info])
  if (!hasCapabilities) missing.push([capabilitiesKey, capabilities])
  return withMetas(message, missing)
}

/** What came for a subscription, with the id (JSON text) by which its asker knows it. */
export function withSubscription(message: Message, id: string): Message {
  if (message.kind === 'notification') {
    return textMeta(message, subscriptionKey) === undefined ? message : withMeta(message, subscriptionKey, id)
  }
  const { keys, spans } = message.scanned.top
  const i = keys.indexOf('result')
  const span = i === -1 ? undefined : find(message.source, spans[2 * i]!, ['_meta', subscriptionKey])
  return span === undefined ? message : splice(message, { ...span, text: id })
}
