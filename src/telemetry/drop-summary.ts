import type { DropFact } from './events.ts'

/** At most one line a second for each kind of drop. */
const everyMs = 1_000

/** Adds up drops of a kind (reason and backend) and tells them together. */
export class DropSummary {
  readonly #tell: (drop: DropFact) => void
  readonly #counts = new Map<string, { reason: string; backend?: string; count: number }>()
  #timer: NodeJS.Timeout | undefined

  constructor(tell: (drop: DropFact) => void) {
    this.#tell = tell
  }

  add({ reason, backend, count = 1 }: DropFact): void {
    const key = `${reason} ${backend ?? ''}`
    const known = this.#counts.get(key)
    if (known !== undefined) known.count += count
    else this.#counts.set(key, { reason, ...(backend === undefined ? {} : { backend }), count })
    this.#timer ??= setTimeout(() => this.flush(), everyMs).unref()
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const drops = [...this.#counts.values()]
    this.#counts.clear()
    for (const drop of drops) this.#tell(drop)
  }
}
