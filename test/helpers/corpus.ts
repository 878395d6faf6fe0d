/**
 * Corpora: inputs that are kept, one JSON object a line, with the kind of each and what comes of it. Lines that begin with
 * `#` are remarks. Whoever mends a fault adds its input.
 */
import { readFileSync } from 'node:fs'

export interface Entry {
  /** What the input is a sample of. */
  readonly kind: string
  /** What it is; once in its kind. */
  readonly name: string
}

/** `test/corpora/<name>.jsonl`. Throws where two entries have one kind and name, as one of them would go unseen. */
export function corpus<T extends Entry>(name: string): readonly T[] {
  const text = readFileSync(new URL(`../corpora/${name}.jsonl`, import.meta.url), 'utf8')
  const entries = text
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => JSON.parse(line) as T)
  const seen = new Set<string>()
  for (const entry of entries) {
    const title = titleOf(entry)
    if (seen.has(title)) throw new Error(`${name}: "${title}" stands twice`)
    seen.add(title)
  }
  return entries
}

export const titleOf = ({ kind, name }: Entry): string => `${kind}: ${name}`

/**
 * Fills in `{{name}}` by value, and `{{1000*text}}`: the text so many times. What is written in double braces and is
 * neither stays as it is.
 */
export function fill(text: string, values: Readonly<Record<string, string>> = {}): string {
  return text.replace(/\{\{(?:(\d+)\*((?:(?!\}\}).)*)|(\w+))\}\}/gs, (whole, count, repeated, name) =>
    count === undefined ? (values[name] ?? whole) : repeated.repeat(Number(count))
  )
}

/** Characters U+0000 to U+00FF stand for bytes. */
export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')
