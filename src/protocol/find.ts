/**
 * Where a value stands in a JSON text, by the names that lead to it. The text was scanned before, with its depth bounded:
 * nothing is checked a second time, and no values are built.
 */
import { colon, space, string, value } from './grammar.ts'
import { decodeString } from './names.ts'

/** Offsets of the first byte of a value, and after its last. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * The value at `path` below the value that begins at `start`; undefined when there is none, or something on the way is no
 * object. Of members with the same name the last one counts, as for `JSON.parse`.
 */
export function find(bytes: Buffer, start: number, path: readonly string[]): Span | undefined {
  let at = start
  let span: Span | undefined
  for (const name of path) {
    span = member(bytes, at, name)
    if (span === undefined) return undefined
    at = span.start
  }
  return span ?? { start, end: value(bytes, start, 1, anyDepth) }
}

/** The elements of the array that begins at `start`; undefined when it is none. */
export function elements(bytes: Buffer, start: number): Span[] | undefined {
  if (bytes[start] !== 0x5b) return undefined
  const spans: Span[] = []
  let at = space(bytes, start + 1)
  while (bytes[at] !== 0x5d) {
    const end = value(bytes, at, 1, anyDepth)
    spans.push({ start: at, end })
    at = next(bytes, end)
  }
  return spans
}

const anyDepth = 0x3fff_ffff

/** Each member of the object at `start`: its name, and where its value stands. */
export function eachMember(bytes: Buffer, start: number, tell: (key: string, from: number, to: number) => void): void {
  let at = space(bytes, start + 1)
  while (bytes[at] !== 0x7d) {
    const key = string(bytes, at)
    const from = colon(bytes, key)
    const end = value(bytes, from, 1, anyDepth)
    tell(decodeString(bytes, at, key), from, end)
    at = next(bytes, end)
  }
}

function member(bytes: Buffer, start: number, name: string): Span | undefined {
  if (bytes[start] !== 0x7b) return undefined
  let found: Span | undefined
  let at = space(bytes, start + 1)
  while (bytes[at] !== 0x7d) {
    const key = string(bytes, at)
    const from = colon(bytes, key)
    const end = value(bytes, from, 1, anyDepth)
    if (decodeString(bytes, at, key) === name) found = { start: from, end }
    at = next(bytes, end)
  }
  return found
}

/** From the end of a value to the next one, or to what closes them. */
function next(bytes: Buffer, end: number): number {
  const at = space(bytes, end)
  return bytes[at] === 0x2c ? space(bytes, at + 1) : at
}
