/**
 * The end of a gateway, in order: not ready, no new work, streams told to come back later, calls in flight until a deadline,
 * no more connections, one error for each call, then whatever is left (decisions: "How a call ends", "Priming event"; P1,
 * LIF-01).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'
import type { InFlight } from '../exchanges/in-flight.ts'
import type { Channels } from '../gateway/channel.ts'
import type { Listens } from '../gateway/listens.ts'

export interface ShutdownParts {
  readonly inFlight: InFlight
  readonly channels: Channels
  readonly listens: Pick<Listens, 'drain'>
  readonly server: {
    /** Takes no more connections. */
    stopAccepting(): void
    /** Resolves once every response is written. */
    finished(): Promise<void>
  }
}

export interface ShutdownTimes {
  /** Between not being ready and taking no new work, for load balancers to notice. */
  readonly delayMs: number
  /** For calls in flight, after that. */
  readonly deadlineMs: number
}

/** Clients of a draining instance are told to stay away this long, spread so that they do not come back at once. */
const retryMs = 5_000
const spreadMs = 2_000

/** For the last answers and errors to be written. */
const flushMs = 1_000

/** `/readyz` fails already; `refuseRequests` is called when no new work is to be taken. Never rejects. */
export async function drain(parts: ShutdownParts, times: ShutdownTimes, refuseRequests: () => void): Promise<void> {
  const { inFlight, channels, listens, server } = parts
  if (times.delayMs > 0) await sleep(times.delayMs)
  refuseRequests()
  channels.drain(() => Math.round(retryMs + Math.random() * spreadMs))
  listens.drain()
  // Still listening: a call may need an answer of the client, or the client the rest of its stream.
  await within(times.deadlineMs, inFlight.idle())
  server.stopAccepting()
  for (const running of inFlight.all()) {
    running.fail(new GatewayError('shutdown', 'the gateway is shutting down', { backend: running.backend.name }))
  }
  await within(flushMs, server.finished())
}

/** Keeps the process alive meanwhile, and leaves no timer behind. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work, promise])
  clearTimeout(timer)
}
