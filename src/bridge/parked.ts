/**
 * Exchanges with legacy upstreams that wait for the input of modern clients. Each round is found again once, by its state, for
 * a time (2026-07-28 basic/patterns/mrtr, "Server Requirements"; decisions: "While parked").
 */
import { randomBytes } from 'node:crypto'
import { anonymous } from '../auth/principal.ts'
import type { Call, Origin } from '../backends/backend.ts'
import { type Countdown, Waiting } from '../exchanges/countdown.ts'
import type { Sealer } from '../protocol/seal.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { type Answered, answersIn } from './inputs.ts'
import type { Interaction } from './interaction.ts'
import { notGood } from './origin.ts'
import { ParkedStates } from './parked-states.ts'

/** Read when they are used: they may change. */
export interface ParkedOptions {
  readonly sealer: Sealer
  /** This instance. */
  readonly owner: string
  /** `input.timeout`. */
  readonly timeout: Countdown
  /** `input.rounds`. */
  readonly rounds: number
  /** What stands for the client upstream is needed for longer than its request, and then no more. */
  readonly hold: (live: Live) => void
  readonly drop: (live: Live) => void
  /** Something may still come of a call that was given up. */
  readonly spoil: (live: Live) => void
}

/** Parked exchanges of one backend, and of one caller who is told apart from others. */
export const maxPerBackend = 1_000
export const maxPerPrincipal = 250

/** What a request goes on with. */
export interface Claimed {
  readonly interaction: Interaction
  readonly answered: readonly Answered[]
}

/** An exchange that was parked once, and its time limit while it is. */
class Entry extends Waiting {
  readonly id = randomBytes(12).toString('base64url')
  readonly interaction: Interaction

  constructor(interaction: Interaction) {
    super()
    this.interaction = interaction
  }

  override ring(): void {
    this.interaction.cancel('the client did not answer in time')
  }
}

export class Parked {
  readonly #options: ParkedOptions
  readonly #states: ParkedStates
  /** By id. */
  readonly #waiting = new Map<string, Entry>()
  /** Those that still have something upstream. */
  readonly #held = new Map<Interaction, Entry>()
  readonly #claimed = new WeakMap<Call, Claimed>()
  /** By the call that its last round answered. */
  readonly #left = new WeakMap<Call, Interaction>()

  constructor(options: ParkedOptions) {
    this.#options = options
    this.#states = new ParkedStates(options.sealer, options.owner)
  }

  /** Exchanges that wait for their clients. */
  get size(): number {
    return this.#waiting.size
  }

  get rounds(): number {
    return this.#options.rounds
  }

  /** A round is over. Gives the state by which the next one finds it; undefined: too many wait. */
  park(interaction: Interaction): string | undefined {
    const { origin } = interaction
    if (origin === undefined || this.#isFull(interaction)) return undefined
    const { timeout, hold } = this.#options
    const entry = this.#held.get(interaction) ?? new Entry(interaction)
    const { id } = entry
    if (!this.#held.has(interaction)) hold(interaction.live)
    this.#held.set(interaction, entry)
    this.#waiting.set(id, entry)
    this.#left.set(interaction.call, interaction)
    timeout.start(entry)
    return this.#states.seal({ id, round: interaction.rounds }, origin, timeout.ms)
  }

  /**
   * Whether there is an exchange that a request with this state may go on with. False: the state was not made here. Throws
   * GatewayError `state` for one that is not good for this request, or not any more.
   */
  knowsState(state: string, origin: Origin): boolean {
    return this.#find(state, origin) !== undefined
  }

  /** The instance where the exchange is parked that a request with this state goes on with, when it is another one. */
  elsewhere(state: string, origin: Origin): string | undefined {
    return this.#states.madeBy(state, origin)
  }

  /** That exchange, which is the request's own from now on. Throws GatewayError `params`, too, for answers that are none. */
  claim(state: string, origin: Origin): Claimed | undefined {
    const entry = this.#find(state, origin)
    if (entry === undefined) return undefined
    const { interaction } = entry
    const answered = answersIn(origin.request, interaction.open)
    this.#unpark(entry)
    return { interaction, answered }
  }

  #find(state: string, origin: Origin): Entry | undefined {
    const mark = this.#states.open(state, origin)
    if (mark === undefined) return undefined
    const entry = this.#waiting.get(mark.id)
    if (entry?.interaction.rounds !== mark.round)
      throw notGood('it was used before, or the call is over', origin.request.id)
    return entry
  }

  /** The call goes on with what was claimed for it. */
  resume(call: Call, claimed: Claimed): void {
    this.#claimed.set(call, claimed)
  }

  /** Once. */
  resuming(call: Call): Claimed | undefined {
    const claimed = this.#claimed.get(call)
    this.#claimed.delete(call)
    return claimed
  }

  /** The call is over: what it was to go on with and did not is given up. */
  over(call: Call): void {
    this.resuming(call)?.interaction.cancel('the call was given up')
  }

  /** The client left before it had the whole answer of this call: it has no state to come back with. */
  left(call: Call): void {
    const interaction = this.#left.get(call)
    if (interaction?.call === call) interaction.cancel('the client left')
  }

  /** Nobody waits for it any more. `early`: the upstream may still be at it. */
  ended(interaction: Interaction, early: boolean): void {
    if (early) this.#options.spoil(interaction.live)
    const entry = this.#held.get(interaction)
    if (entry === undefined) return
    this.#unpark(entry)
    this.#held.delete(interaction)
    this.#options.drop(interaction.live)
  }

  close(): void {
    for (const interaction of [...this.#held.keys()]) interaction.cancel('the gateway is shutting down')
  }

  #unpark(entry: Entry): void {
    this.#waiting.delete(entry.id)
    entry.countdown?.stop(entry)
  }

  #isFull({ backend, live: { record } }: Interaction): boolean {
    let ofBackend = 0
    let ofPrincipal = 0
    for (const { interaction: other } of this.#waiting.values()) {
      if (other.backend !== backend) continue
      ofBackend++
      if (other.live.record.principal === record.principal) ofPrincipal++
    }
    // Anonymous callers are not told apart.
    return ofBackend >= maxPerBackend || (record.principal !== anonymous.key && ofPrincipal >= maxPerPrincipal)
  }
}
