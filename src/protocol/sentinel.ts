/** Values of mirrored headers: plain where they are safe to send, otherwise Base64 between markers (2026-07-28 basic/transports/streamable-http, "Value Encoding"). */

const opening = '=?base64?'
const closing = '?='

/** Visible ASCII with spaces and tabs inside, not at the ends. */
const plain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/

/** The value as it is, or encoded where it cannot stand in a header, or would pass for an encoded one. */
export function encodeHeader(value: string): string {
  const isSafe = value === '' || plain.test(value)
  if (isSafe && !looksEncoded(value)) return value
  return `${opening}${Buffer.from(value).toString('base64')}${closing}`
}

/**
 * What a header says: trimmed, decoded where it is encoded. Undefined when it is malformed: characters that no header may
 * have, Base64 that is not canonical, bytes that are not UTF-8.
 */
export function decodeHeader(raw: string): string | undefined {
  const text = raw.replace(/^[\t ]+|[\t ]+$/g, '')
  if (!looksEncoded(text)) return text === '' || plain.test(text) ? text : undefined
  const base64 = text.slice(opening.length, -closing.length)
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') !== base64) return undefined
  const value = bytes.toString('utf8')
  return Buffer.from(value).equals(bytes) ? value : undefined
}

const looksEncoded = (text: string): boolean =>
  text.length >= opening.length + closing.length && text.startsWith(opening) && text.endsWith(closing)
