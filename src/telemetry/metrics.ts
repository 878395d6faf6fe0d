/** Metrics of one gateway, as Prometheus text. Counted from facts; what is a state is read when somebody looks. */
import { Counter, Registry } from '@prometheus-io/client'
import { Durations, type Series } from './durations.ts'
import type { EventLoop } from './event-loop.ts'
import { facts, type RequestFact } from './events.ts'
import { other, reasonLabel, versionLabel } from './labels.ts'
import { Operations } from './operations.ts'
import { registerProcess } from './process.ts'
import { registerStates, type Sources } from './states.ts'

export interface Metrics {
  readonly contentType: string
  text(): Promise<string>
  /** Counts nothing more. */
  close(): void
}

const http = { network_transport: 'tcp', network_protocol_name: 'http' } as const

export const createMetrics = (sources: Sources, loop: EventLoop): Metrics => {
  const registry = new Registry()
  const registers = [registry]
  registerStates(registry, sources)
  const rejected = new Counter({
    name: 'causeway_requests_rejected_total',
    help: 'HTTP requests refused, by error code.',
    labelNames: ['reason'],
    registers
  })
  const dropped = new Counter({
    name: 'causeway_drops_total',
    help: 'Messages of peers that were dropped, and handlers that are stuck, by name.',
    labelNames: ['reason', 'backend', 'name'],
    registers
  })
  const server = new Operations({
    durations: new Durations(
      registry,
      'mcp_server_operation_duration_seconds',
      'From the message of a client to the end of its response.'
    ),
    extra: 'mcp_protocol_version',
    fixed: http,
    forgiving: true
  })
  const client = new Operations({
    durations: new Durations(
      registry,
      'mcp_client_operation_duration_seconds',
      'From the request to a backend to its response.'
    ),
    extra: 'backend',
    fixed: {},
    forgiving: false
  })
  const sessions = new Durations(registry, 'mcp_server_session_duration_seconds', 'How long sessions were open.')
  const sessionSeries = new Map<string | undefined, Series>()
  registerProcess(registry, loop)

  const subscriptions = [
    facts.request.subscribe(fact => {
      if (fact.outcome === 'rejected') rejected.inc({ reason: reasonLabel(fact.error) })
      else if (fact.method !== undefined) {
        const { method, name, backend, version } = fact
        server.record({ method, name, backend, extra: versionLabel(version), error: errorOf(fact) }, fact.durationMs)
      }
    }),
    facts.operation.subscribe(({ method, name, backend, error, durationMs }) =>
      client.record({ method, name, backend, extra: backend, error }, durationMs)
    ),
    facts.session.subscribe(({ event, version, durationMs }) => {
      if (event !== 'closed' || durationMs === undefined) return
      const label = versionLabel(version)
      let series = sessionSeries.get(label)
      if (series === undefined) {
        series = sessions.series({ mcp_protocol_version: label, ...http })
        sessionSeries.set(label, series)
      }
      series.observe(durationMs)
    }),
    facts.drop.subscribe(({ count = 1, ...labels }) => dropped.inc(labels, count))
  ]

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    close() {
      for (const unsubscribe of subscriptions) unsubscribe()
    }
  }
}

/** As {@link Operation.error}. */
const errorOf = ({ outcome, error }: RequestFact): string | undefined => {
  if (outcome === 'ok' || outcome === 'accepted') return undefined
  return outcome === 'rpc_error' ? (error ?? other) : outcome
}
