/** The entries of one stream in memory: in order, bounded, what is expendable goes first. */
import type { Entry } from './stream-log.ts'

export class Entries {
  readonly #list: Entry[] = []
  /** Numbers of those that are expendable, ascending. No array until there is one. */
  #expendable: number[] | undefined
  /** Number of the last entry that was ever added. */
  last = 0
  bytes = 0
  /** Number of the last entry that went and was not expendable. Whatever is left is newer. */
  gone = 0

  get length(): number {
    return this.#list.length
  }

  add(data: Uint8Array, label: string | undefined, expendable: boolean): number {
    const number = ++this.last
    this.#list.push(label === undefined ? { number, data } : { number, data, label })
    this.bytes += data.byteLength
    if (expendable) {
      this.#expendable ??= []
      this.#expendable.push(number)
    }
    return number
  }

  /** Removes the oldest expendable entry, or the oldest when there is none. Not for empty lists. */
  drop(): void {
    const number = this.#expendable?.shift()
    const i = number === undefined ? 0 : this.#indexAfter(number - 1)
    const entry = this.#list[i] as Entry
    if (i === 0) this.#list.shift()
    else this.#list.splice(i, 1)
    this.bytes -= entry.data.byteLength
    if (number === undefined) this.gone = entry.number
  }

  /** At most `limit` entries after a number. */
  after(number: number, limit: number): Entry[] {
    const from = this.#indexAfter(number)
    return this.#list.slice(from, from + limit)
  }

  /** Number of the last entry that is left, 0 when there is none. */
  get newest(): number {
    return this.#list.at(-1)?.number ?? 0
  }

  #indexAfter(number: number): number {
    let low = 0
    let high = this.#list.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#list[middle] as Entry).number > number) high = middle
      else low = middle + 1
    }
    return low
  }
}
