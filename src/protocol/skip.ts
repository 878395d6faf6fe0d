import { string } from './grammar.ts'

/** From the beginning of a value to its end, for what the grammar was checked of: one loop, soon compiled. */
export function skip(bytes: Buffer, start: number): number {
  let at = start
  let depth = 0
  for (;;) {
    const c = bytes[at] as number
    if (c === 0x22) {
      at = string(bytes, at)
      if (depth === 0) return at
      continue
    }
    if (c === 0x7b || c === 0x5b) depth++
    else if (c === 0x7d || c === 0x5d) {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (c === 0x2c || c <= 0x20)) return at
    at++
  }
}
