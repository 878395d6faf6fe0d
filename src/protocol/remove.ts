/** Members taken out of an object, the rest of the text as it is. */
import { splice } from './edit.ts'
import { find } from './find.ts'
import type { Message } from './message.ts'

/** Where a response's `result` begins; undefined for an error. */
export function resultStart({ scanned: { top } }: Message): number | undefined {
  const i = top.keys.indexOf('result')
  return i === -1 ? undefined : top.spans[2 * i]
}

/** The message without the member whose value is found at `path` below the value at `start`; as it is when there is none. */
export function without(message: Message, start: number, path: readonly string[]): Message {
  const span = find(message.source, start, path)
  return span === undefined ? message : splice(message, { ...memberAround(message.source, span), text: '' })
}

/** From the name to the end of the value, with the comma after it, or else the one before. */
function memberAround(bytes: Buffer, { start, end }: { start: number; end: number }): { start: number; end: number } {
  // Back over the colon to the closing quote of the name, which has no quote inside: it was found by its plain name.
  const name = bytes.lastIndexOf(quote, bytes.lastIndexOf(quote, start - 1) - 1)
  const after = spaces(bytes, end, 1)
  if (bytes[after] === comma) return { start: name, end: spaces(bytes, after + 1, 1) }
  const before = spaces(bytes, name - 1, -1)
  return { start: bytes[before] === comma ? before : name, end }
}

const quote = 0x22
const comma = 0x2c

function spaces(bytes: Buffer, at: number, step: 1 | -1): number {
  let i = at
  while (bytes[i] === 0x20 || bytes[i] === 0x09 || bytes[i] === 0x0a || bytes[i] === 0x0d) i += step
  return i
}
