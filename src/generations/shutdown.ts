/**
 * The end of a gateway, in order: not ready, no more connections, streams told to come back later, calls in flight until a
 * deadline, then one error each, then whatever is left (decisions: "How a call ends", "Priming event"; P1, LIF-01).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'
import type { InFlight } from '../exchanges/in-flight.ts'
import type { Channels } from '../gateway/channel.ts'

export interface ShutdownParts {
  readonly inFlight: InFlight
  readonly channels: Channels
  /** Takes no more connections. */
  readonly stopAccepting: () => void
}

export interface ShutdownTimes {
  /** Between not being ready and taking no more connections, for load balancers to notice. */
  readonly delayMs: number
  /** For calls in flight, after that. */
  readonly deadlineMs: number
}

/** Clients of a draining instance are told to stay away this long, spread so that they do not come back at once. */
const retryMs = 5_000
const spreadMs = 2_000

/** `/readyz` fails already, new requests are refused from `drain` on. */
export async function drain(parts: ShutdownParts, times: ShutdownTimes, refuseRequests: () => void): Promise<void> {
  if (times.delayMs > 0) await sleep(times.delayMs)
  refuseRequests()
  parts.stopAccepting()
  parts.channels.drain(() => Math.round(retryMs + Math.random() * spreadMs))
  await Promise.race([parts.inFlight.idle(), sleep(times.deadlineMs, undefined, { ref: false })])
  for (const running of parts.inFlight.all()) {
    running.fail(new GatewayError('shutdown', 'the gateway is shutting down', { backend: running.backend.name }))
  }
  await Promise.race([parts.inFlight.idle(), sleep(flushMs, undefined, { ref: false })])
}

/** For the last errors to be written. */
const flushMs = 1_000
