/**
 * A JSON-RPC message as bytes plus the few members that the gateway reads (JSON-RPC 2.0; MCP basic/index, "Messages").
 * The bytes are the truth: a change is an {@link Edit} of one span, everything else is written as it came.
 */
import { GatewayError } from '../errors.ts'
import { decodeString } from './names.ts'
import { type Members, type Scan, ScanError, type Scanned, scan } from './scan.ts'
import { ownCopy } from './write.ts'

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

/** Elements of a batch where the caller sets no bound (`server.limits.batch`). */
const usualBatch = 50

/**
 * Reads one text: a message, or a batch (an array) of at most `maxBatch` elements.
 * Throws GatewayError `parse` (-32700) for bad JSON or UTF-8 and `invalid` (-32600) for whatever is JSON but no message;
 * the error carries the id when it could be read.
 */
export function read(bytes: Buffer, maxDepth: number, maxBatch = usualBatch): Message | Batch {
  const scanned = scanOrThrow(bytes, maxDepth, maxBatch)
  if (scanned.kind === 'object') return envelope(bytes, scanned.object)
  if (scanned.kind === 'other') throw new GatewayError('invalid', 'a JSON-RPC message is an object')
  const elements: (Message | GatewayError)[] = []
  const { spans } = scanned
  for (let i = 0; i < spans.length; i += 2) elements.push(elementOf(bytes, spans[i]!, spans[i + 1]!, maxDepth))
  return { elements }
}

/** Like {@link read}, for peers that must send single messages. */
export function readMessage(bytes: Buffer, maxDepth: number): Message {
  const scanned = scanOrThrow(bytes, maxDepth, usualBatch)
  if (scanned.kind !== 'object') throw new GatewayError('invalid', 'a JSON-RPC message is an object')
  return envelope(bytes, scanned.object)
}

export const isBatch = (value: Message | Batch): value is Batch => 'elements' in value

function scanOrThrow(bytes: Buffer, maxDepth: number, maxBatch: number): Scan {
  try {
    return scan(bytes, maxDepth, maxBatch)
  } catch (cause) {
    if (!(cause instanceof ScanError)) throw cause
    if (cause.reason === 'syntax') throw new GatewayError('parse', cause.message, { cause })
    throw new GatewayError('invalid', cause.message, { cause })
  }
}

/** Elements get bytes of their own, so that none keeps the whole batch in memory. */
function elementOf(bytes: Buffer, start: number, end: number, maxDepth: number): Message | GatewayError {
  try {
    return readMessage(ownCopy(bytes.subarray(start, end)), maxDepth)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

function envelope(source: Buffer, scanned: Scanned): Message {
  const { top } = scanned
  const id = idOf(source, top)
  if (stringOf(source, top, 'jsonrpc') !== '2.0') refuse('"jsonrpc" must be "2.0"', id)
  const hasResult = top.keys.includes('result')
  const hasError = top.keys.includes('error')
  if (!top.keys.includes('method')) {
    if (hasResult === hasError) refuse('a message has a method, or a result or an error', id)
    if (hasResult && typeof id !== 'string') refuse('a response needs the id of its request', id)
    return { kind: 'response', id: id ?? undefined, method: undefined, source, scanned, edits: none }
  }
  const method = stringOf(source, top, 'method')
  if (method === undefined || method === '') return refuse('"method" must be a non-empty string', id)
  if (hasResult || hasError) refuse('a message has a method, or a result or an error', id)
  if (scanned.params === undefined) {
    if (top.keys.includes('params')) refuse('"params" must be an object', id)
  } else if (scanned.meta === undefined && scanned.params.keys.includes('_meta')) {
    refuse('"params._meta" must be an object', id)
  }
  if (id === null) return refuse('"id" must be a string or an integer', id)
  return { kind: id === undefined ? 'notification' : 'request', id, method, source, scanned, edits: none }
}

function refuse(text: string, id: string | undefined | null): never {
  throw new GatewayError('invalid', text, { id })
}

const none: readonly Edit[] = []

/** The id as JSON text; undefined when absent, null when it is there but no string or integer. */
function idOf(source: Buffer, top: Members): string | undefined | null {
  const i = top.keys.indexOf('id')
  if (i === -1) return undefined
  const start = top.spans[2 * i]!
  const end = top.spans[2 * i + 1]!
  if (end - start > maxIdBytes) return null
  if (source[start] === 0x22) return source.toString('utf8', start, end)
  let number = 0
  for (let at = source[start] === 0x2d ? start + 1 : start; at < end; at++) {
    const digit = source[at]! - 0x30
    if (!(digit >= 0 && digit <= 9)) return null
    number = number * 10 + digit
  }
  // Most ids are small counters, whose text the engine has at hand.
  if (source[start] !== 0x2d && end - start < 10) return `${number}`
  return source.toString('latin1', start, end)
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

/** Whether two id texts name the same id: type and value, however the string is escaped. */
export const sameId = (a: string, b: string): boolean =>
  a === b || (a.charCodeAt(0) === 0x22 && b.charCodeAt(0) === 0x22 && JSON.parse(a) === JSON.parse(b))

/** Whether a response carries an error. */
export const isError = (message: Message): boolean => message.scanned.top.keys.includes('error')
