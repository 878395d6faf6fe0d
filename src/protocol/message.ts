/**
 * A JSON-RPC message as bytes plus the few members that the gateway reads (JSON-RPC 2.0; MCP basic/index, "Messages").
 * The bytes are the truth: a change is an {@link Edit} of one span, everything else is written as it came.
 */
import { GatewayError } from '../errors.ts'
import { decodeString, type Members, type Scan, ScanError, type Scanned, scan } from './scan.ts'

/** Replaces the bytes from `start` to `end` of the source by `text` (UTF-8). */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

export interface Message {
  readonly kind: 'request' | 'notification' | 'response'
  /** The id as JSON text (`1`, `"a"`); undefined for notifications and for errors without an id. */
  readonly id: string | undefined
  readonly method: string | undefined
  /** The text as it came. The spans of `scanned` and `edits` are offsets into it. */
  readonly source: Buffer
  readonly scanned: Scanned
  /** Sorted by `start`, disjoint. */
  readonly edits: readonly Edit[]
}

export interface Batch {
  /** An error where an element is no valid message. */
  readonly elements: readonly (Message | GatewayError)[]
}

/** Request ids longer than this (bytes of JSON text) are refused. */
const maxIdBytes = 512

/**
 * Reads one text: a message, or a batch (an array).
 * Throws GatewayError `parse` (-32700) for bad JSON or UTF-8 and `invalid` (-32600) for whatever is JSON but no message;
 * the error carries the id when it could be read.
 */
export function read(bytes: Buffer, maxDepth: number): Message | Batch {
  const scanned = scanOrThrow(bytes, maxDepth)
  if (scanned.kind === 'object') return envelope(bytes, scanned.object)
  if (scanned.kind === 'other') throw new GatewayError('invalid', 'a JSON-RPC message is an object')
  return { elements: scanned.elements.map((element, i) => elementOf(bytes, element, scanned.spans, i, maxDepth)) }
}

/** Like {@link read}, for peers that must send single messages. */
export function readMessage(bytes: Buffer, maxDepth: number): Message {
  const scanned = scanOrThrow(bytes, maxDepth)
  if (scanned.kind !== 'object') throw new GatewayError('invalid', 'a JSON-RPC message is an object')
  return envelope(bytes, scanned.object)
}

export const isBatch = (value: Message | Batch): value is Batch => 'elements' in value

function scanOrThrow(bytes: Buffer, maxDepth: number): Scan {
  try {
    return scan(bytes, maxDepth)
  } catch (cause) {
    if (!(cause instanceof ScanError)) throw cause
    if (cause.reason === 'syntax') throw new GatewayError('parse', cause.message, { cause })
    throw new GatewayError('invalid', cause.message, { cause })
  }
}

/** Elements get bytes of their own, so that none keeps the whole batch in memory. */
function elementOf(
  bytes: Buffer,
  element: Scanned | undefined,
  spans: readonly number[],
  i: number,
  maxDepth: number
): Message | GatewayError {
  try {
    if (element === undefined) throw new GatewayError('invalid', 'a JSON-RPC message is an object')
    return readMessage(Buffer.from(bytes.subarray(spans[2 * i], spans[2 * i + 1])), maxDepth)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

function envelope(source: Buffer, scanned: Scanned): Message {
  const { top } = scanned
  const id = idOf(source, top)
  const refuse = (text: string): never => {
    throw new GatewayError('invalid', text, { id })
  }
  if (textOf(source, top, 'jsonrpc') !== '"2.0"') refuse('"jsonrpc" must be "2.0"')
  const methodText = textOf(source, top, 'method')
  const hasResult = top.keys.includes('result')
  const hasError = top.keys.includes('error')
  if (methodText !== undefined) {
    if (methodText.charCodeAt(0) !== 0x22 || methodText.length === 2) refuse('"method" must be a non-empty string')
    if (hasResult || hasError) refuse('a message has a method, or a result or an error')
    if (top.keys.includes('params') && scanned.params === undefined) refuse('"params" must be an object')
    if (scanned.params !== undefined && scanned.meta === undefined && scanned.params.keys.includes('_meta')) {
      refuse('"params._meta" must be an object')
    }
    const method = stringOf(source, top, 'method')
    if (id === null) refuse('"id" must be a string or an integer')
    return {
      kind: id === undefined ? 'notification' : 'request',
      id: id ?? undefined,
      method,
      source,
      scanned,
      edits: none
    }
  }
  if (hasResult === hasError) refuse('a message has a method, or a result or an error')
  if (hasResult && typeof id !== 'string') refuse('a response needs the id of its request')
  return { kind: 'response', id: id ?? undefined, method: undefined, source, scanned, edits: none }
}

const none: readonly Edit[] = []

/** The id as JSON text; undefined when absent, null when it is there but no string or integer. */
function idOf(source: Buffer, top: Members): string | undefined | null {
  const i = top.keys.indexOf('id')
  if (i === -1) return undefined
  const start = top.spans[2 * i]!
  const end = top.spans[2 * i + 1]!
  if (end - start > maxIdBytes) return null
  const text = source.toString('utf8', start, end)
  const c = text.charCodeAt(0)
  if (c === 0x22) return text
  for (let k = c === 0x2d ? 1 : 0; k < text.length; k++) {
    const digit = text.charCodeAt(k)
    if (digit < 0x30 || digit > 0x39) return null
  }
  return text
}

/** JSON text of a member, as it came. */
export function textOf(source: Buffer, members: Members | undefined, key: string): string | undefined {
  const i = members === undefined ? -1 : members.keys.indexOf(key)
  return i === -1 ? undefined : source.toString('utf8', members!.spans[2 * i]!, members!.spans[2 * i + 1]!)
}

/** Value of a member that is a JSON string; undefined when it is absent or something else. */
export function stringOf(source: Buffer, members: Members | undefined, key: string): string | undefined {
  const i = members === undefined ? -1 : members.keys.indexOf(key)
  if (i === -1) return undefined
  const start = members!.spans[2 * i]!
  return source[start] === 0x22 ? decodeString(source, start, members!.spans[2 * i + 1]!) : undefined
}

/** Value of `params.<key>` when it is a string, as it came. */
export const stringParam = (message: Message, key: string): string | undefined =>
  stringOf(message.source, message.scanned.params, key)

/** JSON text of `params.<key>`, as it came. */
export const textParam = (message: Message, key: string): string | undefined =>
  textOf(message.source, message.scanned.params, key)

/** JSON text of `params._meta.<key>`, as it came. */
export const textMeta = (message: Message, key: string): string | undefined =>
  textOf(message.source, message.scanned.meta, key)

/** The text in pieces, edits applied; large texts are not copied. */
export function parts(message: Message): Buffer[] {
  if (message.edits.length === 0) return [message.source]
  const pieces: Buffer[] = []
  let at = 0
  for (const { start, end, text } of message.edits) {
    if (start > at) pieces.push(message.source.subarray(at, start))
    if (text !== '') pieces.push(Buffer.from(text))
    at = end
  }
  if (at < message.source.length) pieces.push(message.source.subarray(at))
  return pieces
}

/** The text in one piece, edits applied. */
export const bytes = (message: Message): Buffer =>
  message.edits.length === 0 ? message.source : Buffer.concat(parts(message))

export function byteLength(message: Message): number {
  let length = message.source.length
  for (const { start, end, text } of message.edits) length += Buffer.byteLength(text) - (end - start)
  return length
}

/** The text on one line: CR and LF can only stand between tokens, where a space says the same. */
export function line(message: Message): Buffer {
  const text = bytes(message)
  if (!text.includes(0x0a) && !text.includes(0x0d)) return text
  const copy = Buffer.from(text)
  for (let i = 0; i < copy.length; i++) if (copy[i] === 0x0a || copy[i] === 0x0d) copy[i] = 0x20
  return copy
}

/** The whole message as a value. Only for messages that the gateway itself answers: numbers lose digits. */
export const value = (message: Message): Record<string, unknown> =>
  JSON.parse(bytes(message).toString()) as Record<string, unknown>

/** Whether two id texts name the same id: type and value, however the string is escaped. */
export const sameId = (a: string, b: string): boolean =>
  a === b || (a.charCodeAt(0) === 0x22 && b.charCodeAt(0) === 0x22 && JSON.parse(a) === JSON.parse(b))

/** Whether a response carries an error. */
export const isError = (message: Message): boolean => message.scanned.top.keys.includes('error')
