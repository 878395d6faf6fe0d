/**
 * One bounded pass over the bytes of a JSON text: the whole grammar (RFC 8259), nesting depth, UTF-8, and the spans of the
 * members that the gateway decides on: the top level, `params` and `params._meta`. No values are built; whatever is not
 * looked at stays the bytes it was.
 */
import { isUtf8 } from 'node:buffer'
import { colon, deeper, fail, ScanError, space, string, value } from './grammar.ts'
import { decodeString } from './names.ts'

export { ScanError }

/** Members of one object in the order written: `keys[i]` has its value at `spans[2 * i]` (start) to `spans[2 * i + 1]` (end). */
export interface Members {
  /** Offset of the opening brace. */
  readonly start: number
  /** Offset after the closing brace. */
  end: number
  readonly keys: string[]
  readonly spans: number[]
}

/** A scanned object: spans are offsets into the scanned bytes. `params` and `meta` are there when they are objects. */
export interface Scanned {
  readonly top: Members
  readonly params: Members | undefined
  readonly meta: Members | undefined
}

export type Scan =
  | { readonly kind: 'object'; readonly object: Scanned }
  /** Element `i` stands at `spans[2 * i]` (start) to `spans[2 * i + 1]` (end); its own members are not looked at. */
  | { readonly kind: 'array'; readonly spans: readonly number[] }
  | { readonly kind: 'other' }

/** What an object is to the gateway: a message, its `params`, or its `params._meta`. */
type Watch = 'message' | 'params' | 'meta'

/** Members that one watched object may have: they are compared with each other. */
const maxMembers = 256

/** Throws ScanError. `maxElements` bounds a top-level array. */
export function scan(bytes: Buffer, maxDepth: number, maxElements = Number.POSITIVE_INFINITY): Scan {
  if (!isUtf8(bytes)) fail(bytes, 0, 'the text is not valid UTF-8')
  const start = space(bytes, 0)
  if (bytes[start] === 0x7b) {
    const object: Found = { top: undefined, params: undefined, meta: undefined }
    over(bytes, watched(bytes, start, 1, maxDepth, 'message', object))
    return { kind: 'object', object: object as Scanned }
  }
  if (bytes[start] === 0x5b) {
    const spans: number[] = []
    over(bytes, elements(bytes, start, maxDepth, maxElements, spans))
    return { kind: 'array', spans }
  }
  over(bytes, value(bytes, start, 1, maxDepth))
  return { kind: 'other' }
}

/** A {@link Scanned} in the making. */
interface Found {
  top: Members | undefined
  params: Members | undefined
  meta: Members | undefined
}

function over(bytes: Buffer, at: number): void {
  const end = space(bytes, at)
  if (end !== bytes.length) fail(bytes, end, 'unexpected text after the JSON value')
}

/** The top-level array: where its elements stand. */
function elements(bytes: Buffer, start: number, maxDepth: number, maxElements: number, spans: number[]): number {
  deeper(start, 1, maxDepth)
  let at = (bytes[start + 1] as number) > 0x20 ? start + 1 : space(bytes, start + 1)
  if (bytes[at] === 0x5d) return at + 1
  for (;;) {
    if (spans.length >= 2 * maxElements)
      throw new ScanError('many', at, `more than ${maxElements} elements in an array`)
    const end = value(bytes, at, 2, maxDepth)
    spans.push(at, end)
    at = space(bytes, end)
    const c = bytes[at]
    if (c === 0x5d) return at + 1
    if (c !== 0x2c) fail(bytes, at, 'expected a comma or a closing bracket')
    at++
    if (!((bytes[at] as number) > 0x20)) at = space(bytes, at)
  }
}

/** An object whose members are kept: in `found`, under what it is. */
function watched(bytes: Buffer, start: number, depth: number, maxDepth: number, watch: Watch, found: Found): number {
  deeper(start, depth, maxDepth)
  const members: Members = { start, end: 0, keys: [], spans: [] }
  const { keys, spans } = members
  let at = (bytes[start + 1] as number) > 0x20 ? start + 1 : space(bytes, start + 1)
  if (bytes[at] !== 0x7d) {
    for (;;) {
      if (bytes[at] !== 0x22) fail(bytes, at, 'expected a member name')
      const end = string(bytes, at)
      const key = decodeString(bytes, at, end)
      if (keys.includes(key)) throw new ScanError('duplicate', at, `the member "${shorten(key)}" stands twice`)
      if (keys.length >= maxMembers) throw new ScanError('many', at, `more than ${maxMembers} members in one object`)
      keys.push(key)
      at = colon(bytes, end)
      const inner = bytes[at] === 0x7b ? watchOf(watch, key) : undefined
      const last =
        inner === undefined
          ? value(bytes, at, depth + 1, maxDepth)
          : watched(bytes, at, depth + 1, maxDepth, inner, found)
      spans.push(at, last)
      at = (bytes[last] as number) > 0x20 ? last : space(bytes, last)
      const c = bytes[at]
      if (c === 0x7d) break
      if (c !== 0x2c) fail(bytes, at, 'expected a comma or a closing brace')
      at++
      if (!((bytes[at] as number) > 0x20)) at = space(bytes, at)
    }
  }
  members.end = at + 1
  if (watch === 'message') found.top = members
  else found[watch] = members
  return at + 1
}

/** What the object under a member is to be watched as. */
function watchOf(watch: Watch, key: string): Watch | undefined {
  if (watch === 'message') return key === 'params' ? 'params' : undefined
  return watch === 'params' && key === '_meta' ? 'meta' : undefined
}

const shorten = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}...` : text)
