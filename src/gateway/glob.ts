/**
 * Patterns of the config: `*` stands for any characters, `?` for one. Matched by hand: names come from backends, and a
 * pattern such as `*a*a*a*` made into a regular expression would take time without bound.
 */

/** Time is at most the product of both lengths. */
export function matches(pattern: string, text: string): boolean {
  let at = 0
  let star = -1
  let resumed = 0
  let position = 0
  while (position < text.length) {
    const wanted = pattern[at]
    if (wanted === '*') {
      star = at++
      resumed = position
    } else if (wanted === '?' || (wanted !== undefined && wanted === text[position])) {
      position += wanted === '?' && text.codePointAt(position)! > 0xffff ? 2 : 1
      at++
    } else if (star !== -1) {
      position = ++resumed
      at = star + 1
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
