/**
 * Which of our requests a message answers that is too large to be read: told by its first and last bytes, where every
 * common writer puts the id. `none`: it has a method, so it is no answer. `unknown`: its ends do not say.
 */
export function answeredId(head: Buffer, tail: Buffer): number | 'none' | 'unknown' {
  const first = head.toString('latin1')
  if (method.test(first)) return 'none'
  const id = idFirst.exec(first) ?? idLast.exec(tail.toString('latin1'))
  return id === null ? 'unknown' : Number(id[1])
}

/** Bytes of the ends that are looked at. */
export const endBytes = 256

const method = /^\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:"[^"]*"|-?\d+)\s*,\s*)*"method"\s*:/
const idFirst = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,/
const idLast = /,\s*"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/
