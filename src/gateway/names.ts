/**
 * What clients call the tools, or the prompts, of several backends. A table decides; no name is ever taken apart at its
 * separator. It depends on the lists alone, not on the order in which they came or on that of their items.
 *
 * In `auto` and `always` a name that two backends could mean is nobody's: a client that still has it is told that it is
 * unknown, and never gets the tool of another backend. In `never` the first backend of the config has it.
 */
import { distinct, fitting, isShowable, marked } from './showable.ts'

export interface Naming {
  /** `auto`: own names while only one backend could mean them. `always`: with the prefix. `never`: own names. */
  readonly mode: 'auto' | 'always' | 'never'
  /** Between prefix and name. */
  readonly separator: string
}

/** What one backend of the route lists. The lists of a route are in the order of the config. */
export interface Listed {
  readonly backend: string
  /** The backend's name unless configured. */
  readonly prefix: string
  /** One that comes again counts once. */
  readonly names: readonly string[]
}

/** A backend and its own name for something. */
export interface Named {
  readonly backend: string
  readonly name: string
}

/** A name that several backends could mean. */
export interface Clash {
  readonly name: string
  readonly backends: readonly string[]
}

interface Entry extends Named {
  /** Of the backend, among the lists. */
  readonly index: number
  /** Without and with the prefix, as they can be shown. Both are another one for each entry of the backend. */
  readonly plain: string
  readonly full: string
}

export class NameTable {
  /** In the order in which they are met. */
  readonly clashes: readonly Clash[]
  /** Listed, but never advertised and not to be found: empty, or with control characters. */
  readonly unshowable: readonly Named[]
  readonly #found = new Map<string, Named>()
  readonly #advertised = new Map<string, Map<string, string>>()

  constructor(lists: readonly Listed[], { mode, separator }: Naming) {
    const unshowable: Named[] = []
    const entries = lists.map((listed, index) => entriesOf(listed, index, separator, unshowable))
    const claims = new Claims()
    for (const { backend } of lists) this.#advertised.set(backend, new Map())
    if (mode === 'never') this.#firstWins(entries.flat(), claims)
    else this.#onlyWins(entries, claims, mode === 'auto')
    // `<prefix><separator><name>` is found too, where nothing else is advertised so and nobody else could mean it.
    for (const entry of entries.flat()) {
      if (claims.holder(entry.full) === entry.index && !this.#found.has(entry.full)) this.#found.set(entry.full, entry)
    }
    this.clashes = claims.clashes(lists)
    this.unshowable = unshowable
  }

  /** Undefined for what is not listed, cannot be shown, or loses a clash in mode `never`. */
  advertised(backend: string, name: string): string | undefined {
    return this.#advertised.get(backend)?.get(name)
  }

  find(advertised: string): Named | undefined {
    return this.#found.get(advertised)
  }

  #firstWins(entries: readonly Entry[], claims: Claims): void {
    for (const entry of entries) {
      claims.claim(entry.plain, entry.index)
      if (!this.#found.has(entry.plain)) this.#advertise(entry.plain, entry)
    }
    for (const entry of entries) if (!this.#found.has(entry.full)) claims.claim(entry.full, entry.index)
  }

  #onlyWins(entries: readonly (readonly Entry[])[], claims: Claims, unprefixed: boolean): void {
    // The full name of one tool may be the plain name of another one of the same backend, which keeps it then.
    const plains: (Set<string> | undefined)[] = []
    const isPlain = (text: string, index: number): boolean => {
      if (!unprefixed) return false
      plains[index] ??= new Set(entries[index]!.map(({ plain }) => plain))
      return plains[index].has(text)
    }
    const all = entries.flat()
    for (const entry of all) {
      if (unprefixed) claims.claim(entry.plain, entry.index)
      claims.claim(entry.full, entry.index)
    }
    const made = new Map<Entry, string>()
    const nameOf = (entry: Entry): string => {
      const { plain, full, index } = entry
      if (unprefixed && claims.holder(plain) === index) return plain
      if (claims.holder(full) === index && !isPlain(full, index)) return full
      let name = made.get(entry)
      if (name === undefined || claims.holder(name) !== index) {
        name = claims.anew(entry)
        made.set(entry, name)
      }
      return name
    }
    // A name made anew may be one that somebody had: then nobody has it, and who had it needs another one.
    let contested: number
    let given: string[]
    do {
      contested = claims.contested
      given = all.map(nameOf)
    } while (claims.contested !== contested)
    for (const [index, name] of given.entries()) this.#advertise(name, all[index]!)
  }

  #advertise(advertised: string, entry: Entry): void {
    this.#found.set(advertised, entry)
    this.#advertised.get(entry.backend)!.set(entry.name, advertised)
  }
}

function entriesOf(listed: Listed, index: number, separator: string, unshowable: Named[]): Entry[] {
  const { backend, prefix, names } = listed
  const showable = names.filter(isShowable)
  if (showable.length < names.length) {
    for (const name of names) if (!isShowable(name)) unshowable.push({ backend, name })
  }
  return Array.from(distinct(showable), ([name, plain]) => {
    return { backend, name, index, plain, full: fitting(`${prefix}${separator}${plain}`) }
  })
}

const nobody = -1

/** Which backend could mean a text; nobody when several could. */
class Claims {
  readonly #holders = new Map<string, number>()
  readonly #contested = new Map<string, Set<number>>()

  get contested(): number {
    return this.#contested.size
  }

  claim(text: string, index: number): void {
    const holder = this.#holders.get(text)
    if (holder === undefined) this.#holders.set(text, index)
    else if (holder !== index) {
      const among = this.#contested.get(text)
      if (among === undefined) this.#contested.set(text, new Set([holder, index]))
      else among.add(index)
      this.#holders.set(text, nobody)
    }
  }

  holder(text: string): number | undefined {
    return this.#holders.get(text)
  }

  /** A name for what has no other. What somebody else could mean already is nobody's from then on. */
  anew({ backend, name, index, full }: Entry): string {
    for (let salt = 0; ; salt++) {
      const text = marked(full, `${salt} ${backend} ${name}`)
      const free = !this.#holders.has(text)
      this.claim(text, index)
      if (free) return text
    }
  }

  clashes(lists: readonly Listed[]): Clash[] {
    return Array.from(this.#contested, ([name, among]) => ({
      name,
      backends: [...among].sort((one, other) => one - other).map(index => lists[index]!.backend)
    }))
  }
}
