/**
 * Where modern calls are made at backends that speak through one pipe: a request of the upstream names no call there, so that
 * a conversation that can ask has one call at a time, parked or running (decisions: "stdio behind modern clients").
 */
import type { Backend } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import type { Live } from '../sessions/lifecycle.ts'
import type { Caller, Seats } from './seats.ts'

export interface DesksOptions {
  readonly seats: Pick<Seats, 'stand' | 'release' | 'pools'>
  /** Of a backend: how many at once, how many wait for one, and for how long (ms). */
  readonly limits: (backend: Backend) => { readonly desks: number; readonly queue: number; readonly queueTime: number }
}

/** Of one principal at one backend. Callers that are not told apart share what there is. */
export const maxPerPrincipal = 8

interface Waiting {
  readonly caller: Caller
  readonly admit: (live: Live) => void
  readonly refuse: () => void
  readonly timer: NodeJS.Timeout
}

interface Place {
  readonly backend: Backend
  /** In use, idle, and those whose processes are not gone yet. */
  readonly desks: Map<Live, Caller>
  /** Nobody uses them at this moment; least recently used first. */
  readonly idle: Set<Live>
  readonly line: Set<Waiting>
}

/** One call's desk. */
export interface Desk {
  /** Undefined while the call waits in line. */
  readonly live: Live | undefined
  /** Rejects with GatewayError `overloaded`. */
  readonly ready: Promise<Live>
  /** The call needs it no more, wherever it stands. */
  leave(): Live | undefined
}

export class Desks {
  readonly #options: DesksOptions
  readonly #places = new Map<Backend, Place>()
  /** Calls were given up there, of which something may still come. */
  readonly #spoiled = new WeakSet<Live>()

  constructor(options: DesksOptions) {
    this.#options = options
  }

  /** What is left has to be dropped at the seats. */
  take(caller: Caller, backend: Backend): Desk {
    const place = this.#place(backend)
    const free = this.#find(place, caller)
    if (free !== undefined) return { live: free, ready: Promise.resolve(free), leave: () => free }
    const { queue, queueTime } = this.#options.limits(backend)
    if (place.line.size >= queue) return { live: undefined, ready: refused(backend), leave: () => undefined }
    return this.#wait(place, caller, queueTime)
  }

  /** It is not used again. */
  spoil(live: Live): void {
    this.#spoiled.add(live)
  }

  /** Gives up those that nobody used since `before`, milliseconds of the clock. */
  sweep(before: number): void {
    for (const place of this.#places.values()) {
      for (const live of place.idle) if (live.seen < before) void this.#leave(place, live)
      if (place.desks.size === 0 && place.line.size === 0) this.#places.delete(place.backend)
    }
  }

  close(): void {
    for (const place of this.#places.values()) {
      for (const waiting of place.line) waiting.refuse()
      for (const live of [...place.desks.keys()]) void this.#leave(place, live)
    }
  }

  #place(backend: Backend): Place {
    const known = this.#places.get(backend)
    if (known !== undefined) return known
    const place: Place = { backend, desks: new Map(), idle: new Set(), line: new Set() }
    this.#places.set(backend, place)
    return place
  }

  #wait(place: Place, caller: Caller, queueTime: number): Desk {
    const { promise: ready, resolve, reject } = Promise.withResolvers<Live>()
    ready.catch(() => {})
    let live: Live | undefined
    const waiting: Waiting = {
      caller,
      admit: admitted => {
        clearTimeout(waiting.timer)
        live = admitted
        resolve(admitted)
      },
      refuse() {
        clearTimeout(waiting.timer)
        place.line.delete(waiting)
        reject(busy(place.backend))
      },
      timer: setTimeout(() => waiting.refuse(), queueTime)
    }
    place.line.add(waiting)
    return {
      get live() {
        return live
      },
      ready,
      leave: () => {
        place.line.delete(waiting)
        clearTimeout(waiting.timer)
        return live
      }
    }
  }

  /** An idle one of this caller, else a new one if there may be one more. */
  #find(place: Place, caller: Caller): Live | undefined {
    const key = keyOf(caller)
    // The one used last: what a burst needed is given up when it is over, and a server that remembers is found again.
    const live = [...place.idle].findLast(live => keyOf(place.desks.get(live)!) === key)
    if (live !== undefined) {
      place.idle.delete(live)
      this.#options.seats.stand(caller, () => this.#freed(place, live), live)
      return live
    }
    const { desks } = this.#options.limits(place.backend)
    if (!this.#mayHaveMore(place, caller)) return undefined
    if (place.desks.size >= desks) {
      // The place of one that nobody uses is free once its processes are gone.
      for (const unused of place.idle) {
        void this.#leave(place, unused)
        break
      }
      return undefined
    }
    const made: Live = this.#options.seats.stand(caller, () => this.#freed(place, made))
    place.desks.set(made, caller)
    return made
  }

  #mayHaveMore(place: Place, { principal }: Caller): boolean {
    if (principal.subject === undefined) return true
    let own = 0
    for (const [live, other] of place.desks) {
      if (other.principal.key === principal.key && !place.idle.has(live) && !live.closed) own++
    }
    return own < maxPerPrincipal
  }

  #freed(place: Place, live: Live): void {
    const caller = place.desks.get(live)
    if (caller === undefined) return
    if (this.#spoiled.has(live) || live.closed || !this.#options.seats.pools(place.backend, caller)) {
      void this.#leave(place, live)
    } else {
      place.idle.add(live)
      this.#admit(place)
    }
  }

  #admit(place: Place): void {
    for (const waiting of place.line) {
      const free = this.#find(place, waiting.caller)
      if (free === undefined) continue
      place.line.delete(waiting)
      waiting.admit(free)
    }
  }

  async #leave(place: Place, live: Live): Promise<void> {
    place.idle.delete(live)
    await this.#options.seats.release(live)
    place.desks.delete(live)
    this.#admit(place)
  }
}

const keyOf = ({ route, principal, capabilities }: Caller): string => `${route} ${principal.key} ${capabilities}`

function refused(backend: Backend): Promise<never> {
  const refusal = Promise.reject(busy(backend))
  refusal.catch(() => {})
  return refusal
}

const busy = ({ name }: Backend): GatewayError =>
  new GatewayError('overloaded', `as many conversations of backend "${name}" as allowed wait for input or run`, {
    backend: name
  })
