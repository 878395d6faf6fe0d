/**
 * The grammar of JSON (RFC 8259) over bytes that are UTF-8, with bounded depth. No values are built.
 *
 * Every step takes the offset where it begins and returns the offset where it ended. Plain functions over the buffer run more
 * than twice as fast as methods of an object that holds it, and so does calling `space` only where a byte may be one. Bytes
 * after the end are undefined, which matches nothing and is not greater than a space.
 */

/** Why a text was refused. `syntax` covers the grammar and UTF-8; `at` is a byte offset. */
export class ScanError extends Error {
  readonly reason: 'syntax' | 'depth' | 'duplicate' | 'many'
  readonly at: number
  constructor(reason: ScanError['reason'], at: number, message: string) {
    super(message)
    this.name = 'ScanError'
    this.reason = reason
    this.at = at
  }
}

/** After so many bytes the rest of a string is read four bytes at a time; after an escape sooner, with the view at hand. */
const bytewise = 256
const bytewiseAgain = 8

export function fail(bytes: Buffer, at: number, text: string): never {
  throw new ScanError('syntax', at, at >= bytes.length ? 'the JSON text ends too early' : text)
}

export function space(bytes: Buffer, at: number): number {
  for (;;) {
    const c = bytes[at] as number
    if (c > 0x20 || (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09)) return at
    at++
  }
}

/** `depth` is the level that an object or array here would have. */
export function value(bytes: Buffer, at: number, depth: number, maxDepth: number): number {
  const c = bytes[at]
  if (c === 0x22) return string(bytes, at)
  if (c === 0x7b) return object(bytes, at, depth, maxDepth)
  if (c === 0x5b) return array(bytes, at, depth, maxDepth)
  if (c === 0x74) return word(bytes, at, 0x72, 0x75, 0x65)
  if (c === 0x66 && bytes[at + 1] === 0x61) return word(bytes, at + 1, 0x6c, 0x73, 0x65)
  if (c === 0x6e) return word(bytes, at, 0x75, 0x6c, 0x6c)
  return number(bytes, at)
}

/** The three bytes after the one at `at`. */
function word(bytes: Buffer, at: number, a: number, b: number, c: number): number {
  if (bytes[at + 1] !== a || bytes[at + 2] !== b || bytes[at + 3] !== c) fail(bytes, at, 'expected a JSON value')
  return at + 4
}

function number(bytes: Buffer, at: number): number {
  if (bytes[at] === 0x2d) at++
  at = bytes[at] === 0x30 ? at + 1 : digits(bytes, at)
  if (bytes[at] === 0x2e) at = digits(bytes, at + 1)
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at++
    if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++
    at = digits(bytes, at)
  }
  return at
}

function digits(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    const c = bytes[at] as number
    if (!(c >= 0x30 && c <= 0x39)) break
    at++
  }
  if (at === from) fail(bytes, at, 'expected a JSON value')
  return at
}

export function string(bytes: Buffer, start: number): number {
  let at = start + 1
  let words = at + bytewise
  let view: DataView | undefined
  for (;;) {
    if (at >= words) {
      view ??= new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      at = plain(view, at)
      words = at + bytewiseAgain
    }
    const c = bytes[at] as number
    if (c > 0x5c) at++
    else if (c === 0x22) return at + 1
    else if (c === 0x5c) at = escaped(bytes, at)
    else if (c >= 0x20) at++
    else fail(bytes, at, 'a control character in a string')
  }
}

/** Skips whole words, four at a time where it can, that hold no quote, no backslash and no control character. */
function plain(view: DataView, at: number): number {
  const last = view.byteLength - 16
  while (at <= last) {
    const found =
      stops(view.getInt32(at, true)) |
      stops(view.getInt32(at + 4, true)) |
      stops(view.getInt32(at + 8, true)) |
      stops(view.getInt32(at + 12, true))
    if (found !== 0) break
    at += 16
  }
  while (at <= last + 12 && stops(view.getInt32(at, true)) === 0) at += 4
  return at
}

/**
 * The highest bit of every byte of the word that ends plain text. With bit 1 flipped, quotes and control characters are what is
 * below 0x21; carries only add false alarms.
 */
const stops = (word: number): number =>
  (((word ^ 0x02020202) - 0x21212121) | ((word ^ 0x5c5c5c5c) - 0x01010101)) & ~word & 0x80808080

function escaped(bytes: Buffer, at: number): number {
  switch (bytes[at + 1]) {
    case 0x22:
    case 0x5c:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return at + 2
    case 0x75:
      for (let i = at + 2; i < at + 6; i++) {
        const h = bytes[i] as number
        if (!((h >= 0x30 && h <= 0x39) || (h >= 0x41 && h <= 0x46) || (h >= 0x61 && h <= 0x66))) {
          fail(bytes, i, 'a bad \\u escape in a string')
        }
      }
      return at + 6
    default:
      return fail(bytes, at + 1, 'a bad escape in a string')
  }
}

export function deeper(at: number, depth: number, maxDepth: number): void {
  if (depth > maxDepth) throw new ScanError('depth', at, `the JSON text is nested deeper than ${maxDepth} levels`)
}

function array(bytes: Buffer, start: number, depth: number, maxDepth: number): number {
  deeper(start, depth, maxDepth)
  let at = (bytes[start + 1] as number) > 0x20 ? start + 1 : space(bytes, start + 1)
  if (bytes[at] === 0x5d) return at + 1
  for (;;) {
    at = value(bytes, at, depth + 1, maxDepth)
    if (!((bytes[at] as number) > 0x20)) at = space(bytes, at)
    const c = bytes[at]
    if (c === 0x5d) return at + 1
    if (c !== 0x2c) fail(bytes, at, 'expected a comma or a closing bracket')
    at++
    if (!((bytes[at] as number) > 0x20)) at = space(bytes, at)
  }
}

/** From the end of a member's name to the beginning of its value. */
export function colon(bytes: Buffer, end: number): number {
  const at = bytes[end] === 0x3a ? end : space(bytes, end)
  if (bytes[at] !== 0x3a) fail(bytes, at, 'expected a colon')
  return (bytes[at + 1] as number) > 0x20 ? at + 1 : space(bytes, at + 1)
}

function object(bytes: Buffer, start: number, depth: number, maxDepth: number): number {
  deeper(start, depth, maxDepth)
  let at = (bytes[start + 1] as number) > 0x20 ? start + 1 : space(bytes, start + 1)
  if (bytes[at] === 0x7d) return at + 1
  for (;;) {
    if (bytes[at] !== 0x22) fail(bytes, at, 'expected a member name')
    at = value(bytes, colon(bytes, string(bytes, at)), depth + 1, maxDepth)
    if (!((bytes[at] as number) > 0x20)) at = space(bytes, at)
    const c = bytes[at]
    if (c === 0x7d) return at + 1
    if (c !== 0x2c) fail(bytes, at, 'expected a comma or a closing brace')
    at++
    if (!((bytes[at] as number) > 0x20)) at = space(bytes, at)
  }
}
