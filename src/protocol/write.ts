/** A message as text again, its edits applied. */
import type { Message } from './message.ts'

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

/** The text in one piece, edits applied. Copied by hand: for small ones views and their list cost more than the copy. */
export function bytes(message: Message): Buffer {
  const { edits, source } = message
  if (edits.length === 0) return source
  const out = Buffer.allocUnsafe(byteLength(message))
  let from = 0
  let to = 0
  for (const { start, end, text } of edits) {
    to += source.copy(out, to, from, start)
    to += out.write(text, to)
    from = end
  }
  source.copy(out, to, from)
  return out
}

/** The bytes of the text, each as the character of its number: what is written in Latin-1 is the text. */
export function latin1(message: Message): string {
  const { edits, source } = message
  let text = ''
  let at = 0
  for (const edit of edits) {
    text += source.toString('latin1', at, edit.start)
    text += ascii.test(edit.text) ? edit.text : Buffer.from(edit.text).toString('latin1')
    at = edit.end
  }
  return text + source.toString('latin1', at)
}

/** The text in pieces: large ones as they are, what stands between them joined in strings as {@link latin1} makes them. */
export function pieces(message: Message): (Buffer | string)[] {
  const joined: (Buffer | string)[] = []
  let small = ''
  for (const part of parts(message)) {
    if (part.length < joinBelow) small += part.toString('latin1')
    else {
      if (small !== '') joined.push(small)
      small = ''
      joined.push(part)
    }
  }
  if (small !== '') joined.push(small)
  return joined
}

/** A piece more in a write costs as much as the copy of so many bytes. */
const joinBelow = 4_096

const ascii = /^[\x00-\x7f]*$/

export function byteLength(message: Message): number {
  let length = message.source.length
  for (const { start, end, text } of message.edits) length += Buffer.byteLength(text) - (end - start)
  return length
}

/**
 * The text on one line: CR and LF can only stand between tokens, where a space says the same. In memory of about its own
 * size, so that it can be kept: small buffers are often slices of larger ones.
 */
export function line(message: Message): Buffer {
  const text = bytes(message)
  const broken = text.includes(0x0a) || text.includes(0x0d)
  if (!broken && text.buffer.byteLength - text.length <= Math.max(tolerated, text.length)) return text
  const copy = ownCopy(text)
  if (broken) for (let i = 0; i < copy.length; i++) if (copy[i] === 0x0a || copy[i] === 0x0d) copy[i] = 0x20
  return copy
}

/** Bytes that a kept buffer may hold besides its own. */
const tolerated = 512

/** In memory of its own. */
export function ownCopy(text: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(text.length)
  text.copy(copy)
  return copy
}

/** The whole message as a value. Only for messages that the gateway itself answers: numbers lose digits. */
export const value = (message: Message): Record<string, unknown> =>
  JSON.parse(bytes(message).toString()) as Record<string, unknown>
