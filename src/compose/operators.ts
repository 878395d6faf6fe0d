/** What operators see: metrics, and the listener that tells them with the health of all. */
import { backendStates } from '../gateway/backend-states.ts'
import { version } from '../gateway/self.ts'
import { type Admin, type AdminTarget, createAdmin } from '../http/admin.ts'
import type { HttpServer } from '../http/server.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import type { Instance } from './instance.ts'
import type { UpstreamSide } from './upstream.ts'

export interface Operators {
  readonly metrics: Metrics
  /** Undefined: the config has none. */
  readonly admin: Admin | undefined
}

export async function wireOperators(
  instance: Instance,
  { health }: UpstreamSide,
  server: Pick<HttpServer, 'streams'>,
  broadcast: AdminTarget['broadcast']
): Promise<Operators> {
  const {
    config,
    generations,
    outcomes,
    log,
    sessions,
    inFlight,
    gates,
    lists,
    pressure,
    eventLoop,
    configOf,
    storeUp
  } = instance
  const states = () => backendStates(generations.current.backends.values(), { health, gates, inFlight, lists })
  // What several instances keep together is no state of this one: the metric is left out.
  const kept = () => log.stats?.() ?? fail()
  const metrics = createMetrics(
    {
      version,
      sessions: () => sessions.count(),
      streams: () => kept().streams,
      bufferedBytes: () => kept().bytes,
      events: () => kept().entries,
      eventsDropped: () => kept().dropped,
      storeUp,
      draining: () => instance.state === 'leaving' || instance.state === 'draining',
      pressure: () => pressure.level,
      reloads: () => outcomes,
      backends: () => states().map(backend => ({ ...backend, up: backend.state !== 'down' }))
    },
    eventLoop
  )
  if (config.admin === undefined) return { metrics, admin: undefined }
  const target: AdminTarget = {
    ready: () => instance.state === 'ready',
    status: async () => ({
      state: instance.state,
      pressure: pressure.level,
      version,
      ...(storeUp && { store: storeUp() ? 'up' : 'down' }),
      sessions: await sessions.count().catch(() => null),
      streams: server.streams,
      config: outcomes.status,
      backends: states().map(({ rejected: _, ...backend }) => ({ ...backend, kind: configOf(backend)?.kind }))
    }),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
    broadcast
  }
  return { metrics, admin: await createAdmin(target, { allowedHosts: config.server.allowedHosts }) }
}

const fail = (): never => {
  throw new Error('the log does not count what it keeps')
}
