/**
 * Backends of merged routes that are down are looked for by the gateway itself, so that they come back though nobody calls
 * them: a link is opened as the gateway and closed again. One attempt at a time for each, further and further apart.
 */
import { anonymous } from '../auth/principal.ts'
import type { Backend } from '../backends/backend.ts'
import { Backoff } from '../backends/backoff.ts'
import { isBusy } from '../backends/busy.ts'
import { type Clock, systemClock } from '../backends/clock.ts'
import { GatewayError } from '../errors.ts'
import { facts } from '../telemetry/events.ts'
import type { Route } from './route.ts'
import { self } from './self.ts'

/** How long (ms) one attempt may take. */
const maxProbe = 10_000

export interface ProbesOptions {
  /** A backend that went down, or is under suspicion, did not come back at once. Must not throw. */
  readonly away: (backend: Backend) => void
  /** It can be reached, after it went down or was under suspicion. Must not throw. */
  readonly back: (backend: Backend) => void
  readonly clock?: Clock
}

interface Watched {
  readonly backend: Backend
  readonly backoff: Backoff
  /** Down, or under suspicion: until an attempt, or anything else, reached it. */
  wanted: boolean
  /** What one attempt has found already. */
  away: boolean
  stopTimer: (() => void) | undefined
  attempt: AbortController | undefined
  /** It went down while an attempt was under way, which tells nothing then. */
  relapsed: boolean
}

export class Probes {
  readonly #options: ProbesOptions
  readonly #clock: Clock
  readonly #watched = new Map<string, Watched>()
  readonly #attempts = new Set<Promise<void>>()
  readonly #unsubscribe: () => void

  constructor(options: ProbesOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#unsubscribe = facts.backend.subscribe(({ backend, up }) => {
      const watched = this.#watched.get(backend)
      if (watched === undefined) return
      watched.relapsed = !up
      if (!up) this.#want(watched)
      // What an attempt finds is told at its end: a backend can be there and refuse the handshake.
      else if (watched.wanted && watched.attempt === undefined) this.#back(watched)
    })
  }

  /** From now on these backends, and no others. `isDown`: which of them are known to be. */
  watch(backends: Iterable<Backend>, isDown: (backend: Backend) => boolean = () => false): void {
    const wanted = new Set(backends)
    for (const watched of this.#watched.values()) if (!wanted.has(watched.backend)) this.#forget(watched)
    for (const backend of wanted) {
      if (this.#watched.has(backend.name)) continue
      const watched: Watched = {
        backend,
        backoff: new Backoff(
          () => this.#clock.now(),
          () => this.#clock.random()
        ),
        wanted: false,
        away: false,
        stopTimer: undefined,
        attempt: undefined,
        relapsed: false
      }
      this.#watched.set(backend.name, watched)
      if (isDown(backend)) this.#want(watched)
    }
  }

  /** It does not do what it should, though nothing says that it is down. */
  suspect(backend: Backend): void {
    const watched = this.#watched.get(backend.name)
    if (watched?.backend === backend) this.#want(watched)
  }

  /** Resolves once no attempt is under way. */
  async close(): Promise<void> {
    this.#unsubscribe()
    for (const watched of this.#watched.values()) this.#forget(watched)
    await Promise.all(this.#attempts)
  }

  #forget(watched: Watched): void {
    this.#watched.delete(watched.backend.name)
    watched.wanted = false
    this.#rest(watched)
    watched.attempt?.abort(new Error('it is served no more'))
  }

  #want(watched: Watched): void {
    if (watched.wanted) return
    watched.wanted = true
    this.#later(watched)
  }

  #later(watched: Watched): void {
    watched.backoff.failed()
    watched.stopTimer = this.#clock.after(watched.backoff.remaining, () => {
      watched.stopTimer = undefined
      const attempt = this.#attempt(watched).finally(() => this.#attempts.delete(attempt))
      this.#attempts.add(attempt)
    })
  }

  #rest(watched: Watched): void {
    watched.stopTimer?.()
    watched.stopTimer = undefined
  }

  async #attempt(watched: Watched): Promise<void> {
    const { backend } = watched
    const abort = new AbortController()
    watched.attempt = abort
    watched.relapsed = false
    const stopTimer = this.#clock.after(maxProbe, () => abort.abort(new Error('it takes too long')))
    let reached = true
    try {
      const link = await backend.open({
        principal: anonymous,
        client: self,
        signal: abort.signal,
        receive: () => {},
        ended: () => {}
      })
      await link.close()
    } catch (error) {
      reached = isBusy(error)
    }
    stopTimer()
    watched.attempt = undefined
    if (!watched.wanted) return
    if (reached && !watched.relapsed) {
      this.#back(watched)
      return
    }
    this.#later(watched)
    if (watched.away) return
    watched.away = true
    this.#options.away(backend)
  }

  #back(watched: Watched): void {
    const { backend } = watched
    watched.wanted = false
    watched.away = false
    this.#rest(watched)
    facts.notice.publish({ level: 'debug', text: 'the backend can be reached again', backend: backend.name })
    this.#options.back(backend)
  }
}

/** Those whose coming and going changes what is served: a route of one backend has nothing without it. */
export const watched = (routes: Iterable<Route>): Set<Backend> =>
  new Set([...routes].flatMap(({ union, backends }) => (union === undefined ? [] : backends)))

export const cannotBeReached = ({ name }: Backend): GatewayError =>
  new GatewayError('backend_unavailable', `backend "${name}" cannot be reached`, { backend: name })
