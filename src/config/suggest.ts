import { formatSize } from './units.ts'

/** Levenshtein's distance, with a swap of neighbours as one step; two rows of it are enough for words. */
const distance = (a: string, b: string): number => {
  let above: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const step = a[i - 1] === b[j - 1] ? 0 : 1
      const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? above[j - 2]! + 1 : Infinity
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + step, swap))
    }
    above = row
    row = next
  }
  return row[b.length]!
}

/** How many characters both begin with: people get the beginning of a word right. */
const shared = (a: string, b: string): number => {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  return i
}

/** The word that was probably meant; undefined when none is near. */
export const nearest = (word: string, words: readonly string[]): string | undefined => {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_ ]/g, '')
  const given = plain(word).slice(0, 64)
  const [best] = words
    .map(candidate => ({ candidate, steps: distance(given, plain(candidate)) }))
    .sort((a, b) => a.steps - b.steps || shared(given, b.candidate) - shared(given, a.candidate))
  return best !== undefined && best.steps <= Math.max(1, given.length / 3) && best.steps < given.length
    ? best.candidate
    : undefined
}

const durations: Readonly<Record<string, string>> = {
  millis: 'ms',
  milliseconds: 'ms',
  sec: 's',
  secs: 's',
  second: 's',
  seconds: 's',
  min: 'm',
  mins: 'm',
  minute: 'm',
  minutes: 'm',
  hr: 'h',
  hour: 'h',
  hours: 'h',
  ms: 'ms',
  s: 's',
  m: 'm',
  h: 'h'
}
const sizes: Readonly<Record<string, string>> = {
  b: 'B',
  byte: 'B',
  bytes: 'B',
  k: 'KiB',
  kb: 'KiB',
  kib: 'KiB',
  m: 'MiB',
  mb: 'MiB',
  mib: 'MiB',
  g: 'GiB',
  gb: 'GiB',
  gib: 'GiB'
}

const amount = (given: unknown, units: Readonly<Record<string, string>>): string | undefined => {
  const [, digits, unit] = /^\s*([1-9]\d{0,11})\s*([A-Za-z]*)\s*$/.exec(String(given)) ?? []
  const known = units[unit?.toLowerCase() ?? '?']
  return digits === undefined || known === undefined ? undefined : `${digits}${known}`
}

/** A number without unit, with the one it most likely has: for durations thousands are milliseconds. */
const bare = (given: unknown, withUnit: (count: number) => string): unknown =>
  /^[1-9]\d{0,11}$/.test(String(given)) ? withUnit(Number(given)) : given

const wholeUrl = (given: string): string | undefined => {
  const bare = /^\/*([A-Za-z0-9[][^\s@]*)$/.exec(given.replace(/^[a-z]+:?\/\//i, ''))?.[1]
  return bare !== undefined && URL.canParse(`http://${bare}`) ? `http://${bare}` : undefined
}

const origin = (text: string): string | undefined => {
  const parsed = URL.parse(text.includes('://') ? text : `https://${text}`)
  return parsed === null || parsed.origin === 'null' || /[\s@*]/.test(text) ? undefined : parsed.origin
}

const path = (given: string): string | undefined => {
  const parts = given.split('/').filter(part => part !== '')
  return parts.length > 0 && parts.every(part => /^[\w~-][\w.~-]*$/.test(part)) ? `/${parts.join('/')}` : undefined
}

const name = (given: string): string | undefined => {
  const parts = given.split(/[^A-Za-z0-9_-]+/).filter(part => part !== '')
  return (
    parts
      .join('-')
      .slice(0, 64)
      .replace(/^[_-]+/, '') || undefined
  )
}

const hostOf = (text: string): string | undefined => {
  return URL.parse(text.includes('://') ? text : `http://${text}`)?.host || undefined
}

const ofText =
  (repair: (given: string) => string | undefined) =>
  (given: unknown): string | undefined =>
    typeof given === 'string' && given !== '' ? repair(given) : undefined

const scalar = (given: unknown): string | undefined =>
  typeof given === 'number' || typeof given === 'boolean' ? `"${given}"` : undefined

const repairs: readonly (readonly [RegExp, (given: unknown) => string | undefined])[] = [
  [
    /^expected (off or )?a duration/,
    given =>
      amount(
        bare(given, count => `${count >= 1000 && count % 1000 === 0 ? count / 1000 : count}s`),
        durations
      )
  ],
  [/^expected a size/, given => amount(bare(given, formatSize), sizes)],
  [/^expected an http\(s\) URL/, ofText(wholeUrl)],
  [/^expected an origin/, ofText(origin)],
  [/^expected a path/, ofText(path)],
  [/^expected a name/, ofText(name)],
  [/^expected a host/, ofText(hostOf)],
  [/^expected a list/, ofText(given => `[${JSON.stringify(given)}]`)],
  [/^expected a string$/, scalar],
  [/^expected a whole number/, ofText(given => (/^\d{1,15}$/.test(given) ? `${given} without quotes` : undefined))]
]

/** A value like the given one that would be right; what was expected tells how to repair it. */
export const repair = (expected: string, given: unknown): string | undefined => {
  const repaired = repairs.find(([pattern]) => pattern.test(expected))?.[1](given)
  return repaired === given ? undefined : repaired
}
