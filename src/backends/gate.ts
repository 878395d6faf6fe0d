/**
 * What calls of one backend pass: so many at once, the next ones wait in line for a time, and none while the backend fails
 * (breaker). Calls that pass at once cost a few counters. What one backend makes wait costs the others nothing (B12).
 */
import { GatewayError } from '../errors.ts'
import type { Breaker, Outcome } from './breaker.ts'
import type { Clock } from './clock.ts'
import { Line, type Waiting } from './line.ts'

export interface GateLimits {
  /** Most calls in flight. */
  readonly calls: number
  /** Most calls in line. */
  readonly queue: number
  /** Milliseconds that a call waits in line. */
  readonly queueTime: number
}

/** Why calls were turned away: no place in line, not admitted in time, the breaker is open. */
export type Rejection = 'queue_full' | 'queue_time' | 'breaker'

/** An error of ours says itself whether the backend failed; JSON-RPC errors of the backend are `ok`. */
export type Ended = 'ok' | 'neutral' | GatewayError

/** What a call got at the gate: its pass, or its place in line. */
export type Admission = number | Waiting

export interface GateOptions {
  readonly backend: string
  readonly limits: GateLimits
  readonly clock: Clock
  /** The backend leaves itself alone after it died, so that this is no matter of the breaker. */
  readonly restarts?: boolean
}

export class Gate {
  readonly backend: string
  readonly #restarts: boolean
  #limits: GateLimits
  #breaker: Breaker | undefined
  #inFlight = 0
  readonly #line: Line
  #lastFailure: GatewayError | undefined
  readonly #rejected: Record<Rejection, number> = { queue_full: 0, queue_time: 0, breaker: 0 }

  constructor({ backend, limits, clock, restarts = false }: GateOptions) {
    this.backend = backend
    this.#limits = limits
    this.#line = new Line(clock, () => this.late())
    this.#restarts = restarts
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get waiting(): number {
    return this.#line.length
  }

  /** The last that counted as a failure of the backend. */
  get lastFailure(): GatewayError | undefined {
    return this.#lastFailure
  }

  /** Calls turned away since the start. */
  get rejected(): Readonly<Record<Rejection, number>> {
    return this.#rejected
  }

  /** Throws a GatewayError: `overloaded`, or `backend_unavailable` with `data.retryAfter` (s). What it gives is for `leave`, once. */
  enter(): Admission {
    if (this.#inFlight < this.#limits.calls) {
      // Those in line are let in by whoever leaves: with a place free there are none.
      const pass = this.#breaker === undefined ? 0 : this.#breaker.enter()
      if (pass === undefined) throw this.#spared()
      this.#inFlight++
      return pass
    }
    if (this.#breaker !== undefined && this.#breaker.state !== 'closed') throw this.#spared()
    const { queue, queueTime, calls } = this.#limits
    if (this.#line.length >= queue) throw this.#overloaded('queue_full', `${calls} are in flight and ${queue} wait`)
    return this.#line.join(queueTime)
  }

  /** The call is over, wherever it stands. */
  leave(admission: Admission, how: Ended): void {
    const pass = typeof admission === 'number' ? admission : admission.pass
    if (pass === undefined) {
      this.#line.leave(admission as Waiting)
      return
    }
    this.#inFlight--
    this.#breaker?.leave(pass, typeof how === 'string' ? how : this.#judge(how))
    this.#admit()
  }

  /** What a call gets that waited for its place as long as it could. */
  late(): GatewayError {
    return this.#overloaded('queue_time', `${this.#limits.calls} are in flight, and none ended in time`)
  }

  /** The whole of it around one piece of work, whose GatewayErrors count. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const admission = this.enter()
    if (typeof admission !== 'number') await admission.admitted
    let how: Ended = 'neutral'
    try {
      const result = await work()
      how = 'ok'
      return result
    } catch (error) {
      if (error instanceof GatewayError) how = error
      throw error
    } finally {
      this.leave(admission, how)
    }
  }

  /** The call waits for its client, not for the backend: its place is free meanwhile. */
  aside(): void {
    this.#inFlight--
    this.#admit()
  }

  /** It goes on, whether there is a place or not. */
  back(): void {
    this.#inFlight++
  }

  /** Nobody in line is let in any more: the breaker opened. */
  refuse(): void {
    this.#line.refuse(() => this.#spared())
  }

  /** Without a breaker the backend is called however it does. */
  tune(limits: GateLimits, breaker: Breaker | undefined): void {
    this.#limits = limits
    this.#breaker = breaker
    this.#admit()
  }

  #admit(): void {
    while (this.#line.length > 0 && this.#inFlight < this.#limits.calls) {
      this.#inFlight++
      // Closed: `refuse` leaves nobody in the line of a breaker that opens.
      this.#line.admit(this.#breaker?.enter() ?? 0)
    }
  }

  #judge(error: GatewayError): Outcome {
    if (!this.#failed(error)) return 'neutral'
    this.#lastFailure = error
    return 'failed'
  }

  #failed({ code, data }: GatewayError): boolean {
    switch (code) {
      case 'timeout':
        return true
      case 'backend_broke':
        return !this.#restarts
      case 'backend_unavailable':
        // It refused, or is left alone already: not a new failure.
        return !this.#restarts && data.retryAfter === undefined && data.code === undefined
      case 'backend_status':
        return typeof data.status === 'number' && data.status >= 500
      default:
        return false
    }
  }

  #spared(): GatewayError {
    this.#rejected.breaker++
    const retryAfter = Math.max(1, Math.ceil((this.#breaker?.remaining ?? 0) / 1_000))
    return new GatewayError(
      'backend_unavailable',
      `backend "${this.backend}" failed a moment ago; it is called again in ${retryAfter} s at the earliest`,
      { backend: this.backend, data: { retryAfter } }
    )
  }

  #overloaded(rejection: Rejection, text: string): GatewayError {
    this.#rejected[rejection]++
    return new GatewayError('overloaded', `too many calls of backend "${this.backend}": ${text}`, {
      backend: this.backend
    })
  }
}
