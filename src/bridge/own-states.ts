/**
 * The `requestState` that a modern backend made by itself, as callers carry it who are told apart: sealed, and good for the
 * same caller, backend, method and name, for a time; nothing is remembered of it, so that every instance can open it
 * (2026-07-28 basic/patterns/mrtr, "Server Requirements"; decisions: "`input_required` of a modern backend").
 */
import type { Sealer } from '../protocol/seal.ts'
import { notGood } from './origin.ts'

export interface OwnStateOptions {
  readonly sealer: Sealer
  /** For how long it is good, milliseconds: `input.timeout`. Read when it is used: it may change. */
  readonly ms: number
}

/** Who comes with it, in which request. */
export interface Bearer {
  /** Key of the principal. */
  readonly principal: string
  readonly method: string
}

/** What it is bound to: also the backend, by its identity, and the name or URI that the request has there, JSON text. */
export interface Binding extends Bearer {
  readonly backend: string
  readonly name: string | undefined
}

/** `state`: JSON text, as the backend wrote it. `expires`: milliseconds since 1970. */
interface Facts extends Binding {
  readonly state: string
  readonly expires: number
}

const purpose = 'requestState of a backend'

export class OwnStates {
  readonly #options: OwnStateOptions

  constructor(options: OwnStateOptions) {
    this.#options = options
  }

  seal(state: string, { principal, method, backend, name }: Binding): string {
    const { sealer, ms } = this.#options
    const facts: Facts = { principal, method, backend, name, state, expires: Date.now() + ms }
    return sealer.seal(purpose, facts)
  }

  /** What the backend wrote. Throws GatewayError `state`; `id`: of the request that brings it. */
  open(sealed: string, binding: Binding, id: string | undefined): string {
    const facts = this.#facts(sealed, binding, id)
    if (facts.backend !== binding.backend || facts.name !== binding.name)
      throw notGood('it was given to another request', id)
    return facts.state
  }

  /** Before it is known which backend has the name: what no backend of this caller can have made is refused. */
  check(sealed: string, bearer: Bearer, id: string | undefined): void {
    this.#facts(sealed, bearer, id)
  }

  #facts(sealed: string, { principal, method }: Bearer, id: string | undefined): Facts {
    // As long as a request may be.
    const facts = this.#options.sealer.open(purpose, sealed, Number.POSITIVE_INFINITY) as Facts | undefined
    if (facts === undefined) throw notGood('it was not made here', id)
    if (facts.principal !== principal || facts.method !== method) throw notGood('it was given to another request', id)
    if (facts.expires <= Date.now()) throw notGood('it has expired', id)
    return facts
  }
}
