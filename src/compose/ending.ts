/** The end of everything, in its order. */
import type { Context } from '../gateway/context.ts'
import type { HandedOver } from '../gateway/handed-over.ts'
import { drain } from '../generations/shutdown.ts'
import type { HttpServer } from '../http/server.ts'
import type { Instance } from './instance.ts'
import type { Operators } from './operators.ts'
import type { UpstreamSide } from './upstream.ts'

export interface Everything {
  readonly instance: Instance
  readonly upstream: UpstreamSide
  readonly context: Context
  readonly server: HttpServer
  readonly operators: Operators
  readonly handedOver: HandedOver | undefined
}

/** `delayMs` before no new work is taken, `deadlineMs` for the work that there is. */
export async function end(all: Everything, times: { readonly delayMs: number; readonly deadlineMs: number }) {
  const { instance, server } = all
  const { inFlight, channels, listens, seats, desks, parked, taskKeeping, asked } = all.context
  const { generations, sessions, pressure, eventLoop, logger } = instance
  const { links, unions, probes, retiring, health } = all.upstream
  const { metrics, admin } = all.operators
  instance.state = 'leaving'
  generations.close()
  await drain({ inFlight, channels, listens, server }, times, () => {
    instance.state = 'draining'
  })
  all.handedOver?.close()
  all.context.handOver?.close()
  await server.close()
  pressure.close()
  sessions.stop()
  parked.close()
  desks.close()
  taskKeeping.close()
  seats.close()
  // What others can serve goes on there.
  if (instance.shared !== undefined) for (const live of [...sessions.locals()]) sessions.leave(live)
  await Promise.allSettled([...sessions.locals()].map(live => sessions.close(live, 'shutdown')))
  all.context.answers?.close()
  all.context.posts.stop()
  await all.context.peers?.close()
  unions.close()
  asked.close()
  await probes.close()
  await links.close()
  await Promise.all([...generations.current.backends.values()].map(backend => backend.close()))
  await retiring.close()
  await instance.closeStores()
  health.close()
  metrics.close()
  eventLoop.close()
  await admin?.close()
  logger.info('stopped')
  await logger.close()
}
