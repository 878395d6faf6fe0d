/**
 * Names that clients can be shown. The specification (2025-11-25, server/tools, Tool Names) has letters, digits, `_`, `-`
 * and `.` for tools; Causeway keeps prompts within them too when it names them, since clients make commands of both.
 */
import { hash } from 'node:crypto'

/** The longest advertised name, in characters: what model APIs and clients take. */
export const longestName = 64

const control = /[\p{Cc}\u2028\u2029]/u

/** Whether a name or a URI can be shown at all. Others are left out of lists: they could forge lines of logs and headers. */
export const isShowable = (text: string): boolean => text !== '' && !control.test(text)

const plain = /^[A-Za-z0-9_.-]{1,64}$/
const otherCharacter = /[^A-Za-z0-9_.-]/gu

/** `text` with the hash of `of` at its end, cut in front of it when too long. */
export function marked(text: string, of: string): string {
  const mark = `_${hash('sha256', of, 'hex').slice(0, 10)}`
  return text.slice(0, longestName - mark.length) + mark
}

/** `_` for every other character; too long: cut, with a hash of the whole. Two texts may become the same. */
export function fitting(text: string): string {
  if (plain.test(text)) return text
  // Only the start is looked at: a backend may send megabytes.
  const clean = text.slice(0, 2 * longestName).replace(otherCharacter, '_')
  return text.length > 2 * longestName || clean.length > longestName ? marked(clean, text) : clean
}

/**
 * The names of one backend as they can be shown, each another one. A name that can be shown as it is stays as it is,
 * whatever else there is; what would be shown alike is told apart by hash.
 */
export function distinct(names: Iterable<string>): Map<string, string> {
  const shown = new Map<string, string>()
  const others: string[] = []
  const times = new Map<string, number>()
  for (const name of names) {
    if (shown.has(name)) continue
    const text = fitting(name)
    shown.set(name, text)
    if (text === name) continue
    others.push(name)
    times.set(text, (times.get(text) ?? 0) + 1)
  }
  const taken = new Set<string>()
  for (const name of others) {
    const base = shown.get(name)!
    let text = base
    for (let salt = 0; taken.has(text) || shown.get(text) === text || (text === base && times.get(base) !== 1); salt++)
      text = marked(base, `${salt} ${name}`)
    shown.set(name, text)
    taken.add(text)
  }
  return shown
}
