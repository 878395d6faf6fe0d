/**
 * JSON strings of a message as JavaScript strings. Short ones are mostly the same few names, so they are looked up by their
 * bytes in a table of fixed size instead of being decoded anew.
 */

/** Longer strings (bytes between the quotes) are decoded each time. */
const longest = 48
const slots = 1_024

/** The latest string of each slot and its bytes: ASCII without escapes, one byte a character. */
const texts: string[] = new Array(slots).fill('')
const copies = new Uint8Array(slots * longest)

/** The value of the JSON string whose quotes stand at `start` and before `end`. */
export function decodeString(bytes: Buffer, start: number, end: number): string {
  const from = start + 1
  const length = end - 1 - from
  if (length === 0) return ''
  if (length > longest) return decode(bytes, from, end - 1)
  const first = bytes[from] as number
  const middle = bytes[from + (length >> 1)] as number
  const last = bytes[end - 2] as number
  const slot = (length ^ (first << 2) ^ (middle << 4) ^ (last * 3)) & (slots - 1)
  const known = texts[slot] as string
  if (known.length === length) {
    const copy = slot * longest - from
    let at = from
    while (at < end - 1 && bytes[at] === copies[copy + at]) at++
    if (at === end - 1) return known
  }
  return remember(bytes, from, end - 1, slot)
}

function remember(bytes: Buffer, from: number, to: number, slot: number): string {
  for (let i = from; i < to; i++) {
    const c = bytes[i] as number
    if (c === 0x5c || c >= 0x80) return decode(bytes, from, to)
  }
  const text = bytes.toString('latin1', from, to)
  copies.set(bytes.subarray(from, to), slot * longest)
  texts[slot] = text
  return text
}

function decode(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('utf8', from, to)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}
