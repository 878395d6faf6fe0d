/** Something that comes and goes, in one list at a time. The members are that list's own. */
export interface Placed {
  list: unknown
  before: Placed | undefined
  after: Placed | undefined
}

/**
 * What is under way, oldest first. Not a Set, where one comes and goes with every call: V8 links the tables that a Set has
 * outgrown one to the next, and once one of them is old they all keep what was in them until the next full collection.
 */
export class UnderWay<One extends Placed> {
  #first: One | undefined
  #last: One | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  add(one: One): void {
    one.list = this
    one.before = this.#last
    if (this.#last === undefined) this.#first = one
    else this.#last.after = one
    this.#last = one
    this.#size++
  }

  /** Whether it was there. */
  delete(one: One): boolean {
    if (one.list !== this) return false
    const before = one.before as One | undefined
    const after = one.after as One | undefined
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    one.list = undefined
    one.before = undefined
    one.after = undefined
    this.#size--
    return true
  }

  /** Those of this moment: whatever is done with them may end them. */
  now(): One[] {
    const all: One[] = []
    for (let one = this.#first; one !== undefined; one = one.after as One | undefined) all.push(one)
    return all
  }
}
