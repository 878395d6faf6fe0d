/** How the backends do, for operators. */
import type { Backend } from '../backends/backend.ts'
import type { GateState, Gates } from '../backends/gates.ts'
import type { InFlight } from '../exchanges/in-flight.ts'
import type { BackendHealth, Health } from './health.ts'
import type { Lists } from './lists.ts'

export interface BackendState extends BackendHealth, GateState {
  /** Calls on the way, those that wait for their turn among them. */
  readonly inflight: number
  /** Lists of it that merged ones lack, and why. */
  readonly leftOut: readonly string[]
}

interface Sources {
  readonly health: Pick<Health, 'of'>
  readonly gates: Pick<Gates, 'state'>
  readonly inFlight: Pick<InFlight, 'at'>
  readonly lists: Pick<Lists, 'leftOut'>
}

export const backendStates = (
  backends: Iterable<Backend>,
  { health, gates, inFlight, lists }: Sources
): readonly BackendState[] =>
  Array.from(backends, backend => ({
    ...gates.state(backend),
    ...health.of(backend.name),
    inflight: inFlight.at(backend.name),
    leftOut: lists.leftOut(backend)
  }))
