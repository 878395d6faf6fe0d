/** Body of `POST /broadcast`: `{"route": "/mcp", "notification": {"method": "notifications/...", "params": {...}}}`. */
import { GatewayError } from '../errors.ts'
import { type Message, readMessage, stringOf, textOf } from '../protocol/message.ts'
import { type Members, ScanError, scan } from '../protocol/scan.ts'

export interface Broadcast {
  readonly route: string
  readonly notification: Message
}

const maxDepth = 64

/** `params` stay the bytes they are. Throws GatewayError `parse` or `params` saying what was expected. */
export const readBroadcast = (body: Buffer): Broadcast => {
  const top = membersOf(body, 'the body')
  only(top, ['route', 'notification'], 'the body')
  const route = stringOf(body, top, 'route')
  if (route === undefined || !route.startsWith('/')) throw bad('"route" must be the path of a route')
  const text = Buffer.from(textOf(body, top, 'notification') ?? '""')
  const given = membersOf(text, '"notification"')
  only(given, ['jsonrpc', 'method', 'params'], '"notification"')
  if (given.keys.includes('jsonrpc') && stringOf(text, given, 'jsonrpc') !== '2.0') throw bad('"jsonrpc" must be "2.0"')
  const method = stringOf(text, given, 'method')
  if (method === undefined || !/^notifications\/[\w/.-]+$/.test(method)) {
    throw bad('"notification.method" must begin with "notifications/"')
  }
  const params = textOf(text, given, 'params')
  const member = params === undefined ? '' : `,"params":${params}`
  const message = `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${member}}`
  try {
    return { route, notification: readMessage(Buffer.from(message), maxDepth) }
  } catch (cause) {
    throw bad(cause instanceof Error ? cause.message : 'the notification is not valid', cause)
  }
}

const bad = (text: string, cause?: unknown): GatewayError => new GatewayError('params', text, { cause })

const membersOf = (bytes: Buffer, what: string): Members => {
  try {
    const scanned = scan(bytes, maxDepth)
    if (scanned.kind === 'object') return scanned.object.top
  } catch (cause) {
    if (!(cause instanceof ScanError)) throw cause
    throw new GatewayError('parse', `${what}: ${cause.message}`, { cause })
  }
  throw bad(`${what} must be an object`)
}

const only = (members: Members, known: readonly string[], what: string): void => {
  const unknown = members.keys.find(key => !known.includes(key))
  if (unknown !== undefined) throw bad(`${what} has ${known.join(', ')}, not ${JSON.stringify(unknown)}`)
}
