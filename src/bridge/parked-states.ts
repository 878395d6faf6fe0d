/**
 * The `requestState` by which a client comes back to an exchange that is parked for it: sealed, good for the same request of
 * the same principal and for a time (2026-07-28 basic/patterns/mrtr, "Server Requirements"; decisions: "`requestState` made
 * by the gateway").
 */
import type { Origin } from '../backends/backend.ts'
import { GatewayError } from '../errors.ts'
import type { Sealer } from '../protocol/seal.ts'
import { digestOf, notGood } from './origin.ts'

/** Which exchange, and how many of its rounds were over. */
export interface Mark {
  readonly id: string
  readonly round: number
}

/** What is sealed. `expires`: milliseconds since 1970. */
interface Facts extends Mark {
  readonly owner: string
  readonly expires: number
  readonly of: string
}

const purpose = 'requestState'

export class ParkedStates {
  readonly #sealer: Sealer
  readonly #owner: string

  /** `owner`: this instance. */
  constructor(sealer: Sealer, owner: string) {
    this.#sealer = sealer
    this.#owner = owner
  }

  /** `ms`: for how long it is good. */
  seal({ id, round }: Mark, origin: Origin, ms: number): string {
    const facts: Facts = { id, owner: this.#owner, round, expires: Date.now() + ms, of: digestOf(origin) }
    return this.#sealer.seal(purpose, facts)
  }

  /** The instance that made it for this request, when it is another one. */
  madeBy(state: string, origin: Origin): string | undefined {
    const facts = this.#sealer.open(purpose, state) as Facts | undefined
    const good = facts !== undefined && facts.of === digestOf(origin) && facts.expires > Date.now()
    return good && facts.owner !== this.#owner ? facts.owner : undefined
  }

  /** Undefined: it was not made here. Throws GatewayError `state` for one that is not good for this request. */
  open(state: string, origin: Origin): Mark | undefined {
    const facts = this.#sealer.open(purpose, state) as Facts | undefined
    if (facts === undefined) return undefined
    const { id } = origin.request
    if (facts.of !== digestOf(origin)) throw notGood('it was given to another request', id)
    if (facts.expires <= Date.now()) throw notGood('it has expired', id)
    if (facts.owner !== this.#owner) {
      throw new GatewayError('backend_unavailable', 'the instance where this call waited for input is gone', {
        id,
        data: { reason: 'owner' }
      })
    }
    return facts
  }
}
