/**
 * What of a backend is served, and what it is called and said to be: `tools`, `prompts` and `resources` of its config.
 * What is not allowed is as unknown as what does not exist, in lists and calls alike.
 */
import { matches } from './glob.ts'

/** As configured. Patterns are globs. */
export interface Choice {
  /** Left out: everything. */
  readonly allow?: readonly string[] | undefined
  /** Wins over `allow`. */
  readonly deny?: readonly string[] | undefined
  /** Own name to shown name. */
  readonly rename?: Readonly<Record<string, string>> | undefined
  /** Own name, or URI, to description. */
  readonly describe?: Readonly<Record<string, string>> | undefined
}

export interface Selection {
  /** By the backend's own name, or URI. */
  allows(own: string): boolean
  /** What an own name is called before any prefix; itself unless renamed. */
  shown(own: string): string
  /** The other way round; undefined for what is not allowed, and for the former name of what was renamed. */
  own(shown: string): string | undefined
  /** In place of the backend's; undefined: the backend's. */
  description(own: string): string | undefined
  /** Patterns and names of the config that fit none of these own names. */
  unmatched(owns: readonly string[]): readonly string[]
}

/** Everything, as it is. */
export const everything: Selection = {
  allows: () => true,
  shown: own => own,
  own: shown => shown,
  description: () => undefined,
  unmatched: () => []
}

/** Of tools or prompts. `everything` itself when nothing is configured. */
export function selectNames(choice: Choice = {}): Selection {
  return saysNothing(choice) ? everything : new Chosen(choice, name => name)
}

/** Of resources and templates, by URI. `everything` itself when nothing is configured. */
export function selectUris(choice: Pick<Choice, 'allow' | 'deny' | 'describe'> = {}): Selection {
  return saysNothing(choice) ? everything : new Chosen(choice, plainUri)
}

const saysNothing = ({ allow, deny = [], rename = {}, describe = {} }: Choice): boolean =>
  allow === undefined && deny.length + Object.keys(rename).length + Object.keys(describe).length === 0

class Chosen implements Selection {
  readonly #allow: readonly Pattern[] | undefined
  readonly #deny: readonly Pattern[]
  readonly #shown: ReadonlyMap<string, string>
  readonly #own: ReadonlyMap<string, string>
  readonly #descriptions: ReadonlyMap<string, string>
  readonly #plain: (own: string) => string

  constructor({ allow, deny = [], rename = {}, describe = {} }: Choice, plain: (own: string) => string) {
    const patterns = (texts: readonly string[]) => texts.map(text => ({ text, plain: plain(text) }))
    this.#allow = allow && patterns(allow)
    this.#deny = patterns(deny)
    this.#shown = new Map(Object.entries(rename))
    this.#own = new Map([...this.#shown].map(([own, shown]) => [shown, own]))
    this.#descriptions = new Map(Object.entries(describe))
    this.#plain = plain
  }

  allows(own: string): boolean {
    // Whose name was given to another one is left out: one name, one thing.
    if (this.#own.has(own) && !this.#shown.has(own)) return false
    const reading = this.#plain(own)
    const allowed = ({ text, plain }: Pattern) => text === own || (matches(text, own) && matches(plain, reading))
    const denied = ({ text, plain }: Pattern) => matches(text, own) || matches(plain, reading)
    return this.#allow?.some(allowed) !== false && !this.#deny.some(denied)
  }

  shown(own: string): string {
    return this.#shown.get(own) ?? own
  }

  own(shown: string): string | undefined {
    const own = this.#own.get(shown) ?? shown
    return this.shown(own) === shown && this.allows(own) ? own : undefined
  }

  description(own: string): string | undefined {
    return this.#descriptions.get(own)
  }

  unmatched(owns: readonly string[]): readonly string[] {
    const known = new Set(owns)
    const names = [...this.#shown.keys(), ...this.#descriptions.keys()].filter(name => !known.has(name))
    const patterns = [...(this.#allow ?? []), ...this.#deny].map(({ text }) => text)
    const idle = patterns.filter(pattern => !known.has(pattern) && !owns.some(own => matches(pattern, own)))
    return [...new Set([...idle, ...names])]
  }
}

/** As written, and in the form in which a plain reading is compared. */
interface Pattern {
  readonly text: string
  readonly plain: string
}

const encoded = /(?:%[0-9a-f]{2})+/gi

const decoded = (run: string): string => {
  try {
    return decodeURIComponent(run)
  } catch {
    return run
  }
}

/**
 * What a backend may take a URI for, so that `file:///docs/../secret` and `file:///docs/..%2f%73ecret` pass no pattern
 * that `file:///secret` would not pass.
 */
function plainUri(uri: string): string {
  let text = uri
  for (let round = 0; round < 4; round++) {
    const next = (URL.parse(text)?.href ?? text).replace(encoded, decoded)
    if (next === text) break
    text = next
  }
  return text
}
