/** The calls of each session that run now. Responses are matched by exchange, never through this; cancellation is. */
import { UnderWay } from '../backends/under-way.ts'
import { type Message, sameId } from '../protocol/message.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Later } from './acting.ts'
import type { Running } from './running.ts'

/** A call of a client, as far as it can be given up. */
export interface Cancellable {
  readonly request: Message
  cancel(reason?: string): void
}

/** A call that is not at a backend yet: whose it is has still to be found. */
interface Undecided extends Cancellable {
  readonly live: Live
  readonly made: Promise<void>
  /** Calls with its id are parts of it. */
  readonly hasParts: boolean
}

export class InFlight {
  readonly #calls = new Map<Live, UnderWay<Running>>()
  readonly #undecided = new Set<Undecided>()
  #size = 0
  #idle: PromiseWithResolvers<void> | undefined

  get size(): number {
    return this.#size
  }

  add(running: Running): void {
    const { live } = running
    let calls = this.#calls.get(live)
    if (calls === undefined) {
      calls = new UnderWay()
      this.#calls.set(live, calls)
    }
    calls.add(running)
    live.busy++
    this.#size++
  }

  delete(running: Running): void {
    const { live } = running
    const calls = this.#calls.get(live)
    if (calls?.delete(running) !== true) return
    if (calls.size === 0) this.#calls.delete(live)
    this.#left(live)
  }

  /** A call that begins later, until it does. */
  awaiting(live: Live, request: Message, later: Later): void {
    const { made, hasParts } = later
    const one: Undecided = { live, request, made, hasParts, cancel: reason => later.cancel(reason) }
    this.#undecided.add(one)
    live.busy++
    this.#size++
    void later.made.then(() => {
      this.#undecided.delete(one)
      this.#left(live)
    })
  }

  /** Resolves once no call is in flight. */
  idle(): Promise<void> {
    if (this.#size === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers()
    return this.#idle.promise
  }

  /** The one call with this id (JSON text); undefined when there is none, or when several share it. */
  find(live: Live, id: string): Cancellable | undefined {
    const awaited = named(this.awaited(live), id)
    if (awaited.some(({ hasParts }) => hasParts)) return only(awaited)
    const running = named(this.of(live), id)
    if (running.length > 1) return undefined
    // What waits for a call of its own to be answered has the id of that call.
    return running[0] ?? only(awaited)
  }

  /** Calls that are not at a backend yet. */
  *awaited(live: Live): Iterable<Undecided> {
    for (const one of this.#undecided) if (one.live === live) yield one
  }

  /** Resolves once all that were not at a backend when this was asked are at theirs, or over. */
  async decided(): Promise<void> {
    await Promise.all([...this.#undecided].map(({ made }) => made))
  }

  /** Oldest first. */
  of(live: Live): Iterable<Running> {
    return this.#calls.get(live)?.now() ?? []
  }

  *all(): Iterable<Running> {
    for (const calls of this.#calls.values()) yield* calls.now()
  }

  /** Calls in flight at a backend. */
  at(backend: string): number {
    let count = 0
    for (const running of this.all()) if (running.backend.name === backend) count++
    return count
  }

  #left(live: Live): void {
    live.busy--
    this.#size--
    if (this.#size > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }
}

function named<T extends Cancellable>(calls: Iterable<T>, id: string): T[] {
  const found: T[] = []
  for (const call of calls) if (sameId(call.request.id!, id)) found.push(call)
  return found
}

const only = <T>(found: readonly T[]): T | undefined => (found.length === 1 ? found[0] : undefined)
