import { Gauge, type Registry } from '@prometheus-io/client'
import { readCounters, readGauge, readGauges } from './read.ts'

export interface BackendState {
  readonly name: string
  readonly up: boolean
  /** Requests on the way. */
  readonly inflight: number
  /** Those of them that wait for their turn. */
  readonly waiting: number
  readonly breaker: 'off' | 'closed' | 'half-open' | 'open'
  /** Lists of it that merged ones lack. */
  readonly leftOut: readonly string[]
  /** Calls turned away, by reason. */
  readonly rejected: Readonly<Record<string, number>>
}

/** States of the gateway. One that throws is left out of that scrape. */
export interface Sources {
  /** Of this release. */
  readonly version: string
  sessions(): number | Promise<number>
  /** Streams in the log, channels of sessions among them. */
  streams(): number | Promise<number>
  /** Bytes in the log. */
  bufferedBytes(): number | Promise<number>
  /** Messages in the log. */
  events(): number | Promise<number>
  /** Messages that left the log before their time, since the start, by reason. */
  eventsDropped(): Readonly<Record<string, number>>
  /** Whether the store answers; undefined for one that cannot fail. */
  readonly storeUp?: (() => boolean) | undefined
  draining(): boolean
  /** Of memory or time. */
  pressure(): keyof typeof pressures
  /** Of the config. `loadedAt`: of the one that runs, milliseconds. */
  reloads(): {
    readonly counts: Readonly<Record<string, number>>
    readonly loadedAt: number
    readonly last: { readonly outcome: string } | undefined
  }
  backends(): Iterable<BackendState>
}

const pressures = { none: 0, high: 1, full: 2 } as const

const levels = { off: 0, closed: 0, 'half-open': 1, open: 2 } as const

export const registerStates = (registry: Registry, sources: Sources): void => {
  const { version } = sources
  const labels = { version, node: process.versions.node }
  new Gauge({
    name: 'causeway_build_info',
    help: 'Always 1.',
    labelNames: ['version', 'node'],
    registers: [registry]
  }).set(labels, 1)
  readGauge(registry, 'causeway_sessions', 'Sessions open.', () => sources.sessions())
  readGauge(registry, 'causeway_streams', 'Streams kept.', () => sources.streams())
  readGauge(registry, 'causeway_stream_buffer_bytes', 'Bytes kept of all streams.', () => sources.bufferedBytes())
  readGauge(registry, 'causeway_events_stored', 'Messages kept of all streams.', () => sources.events())
  readCounters(
    registry,
    'causeway_events_dropped_total',
    'Messages that left their streams early because of a bound.',
    ['reason'],
    () => Object.entries(sources.eventsDropped()).map(([reason, count]) => [{ reason }, count])
  )
  const { storeUp } = sources
  if (storeUp !== undefined) {
    readGauge(registry, 'causeway_store_up', '1 while Redis answers in time.', () => Number(storeUp()))
  }
  const ofBackends = (name: string, help: string, read: (backend: BackendState) => number): void =>
    readGauges(registry, name, help, 'backend', () =>
      [...sources.backends()].map(backend => [backend.name, read(backend)])
    )
  ofBackends('causeway_backend_up', '1 while the backend can be reached.', ({ up }) => Number(up))
  ofBackends('causeway_backend_inflight', 'Requests on the way to the backend.', ({ inflight }) => inflight)
  ofBackends('causeway_backend_queue', 'Requests that wait for a place at the backend.', ({ waiting }) => waiting)
  ofBackends(
    'causeway_backend_breaker',
    'Circuit breaker of the backend: 0 closed, 1 half-open, 2 open.',
    ({ breaker }) => levels[breaker]
  )
  ofBackends(
    'causeway_backend_lists_left_out',
    'Lists of the backend that merged lists lack, as it fails to give them.',
    ({ leftOut }) => leftOut.length
  )
  readCounters(
    registry,
    'causeway_backend_rejected_total',
    'Requests that were not sent to the backend, by reason.',
    ['backend', 'reason'],
    () =>
      [...sources.backends()].flatMap(({ name, rejected }) =>
        Object.entries(rejected).map(([reason, count]) => [{ backend: name, reason }, count] as const)
      )
  )
  readGauge(registry, 'causeway_draining', '1 while the gateway shuts down.', () => Number(sources.draining()))
  readGauge(
    registry,
    'causeway_pressure',
    'Shortage of memory or time: 0 none, 1 no new sessions, 2 no new requests.',
    () => pressures[sources.pressure()]
  )
  readGauge(
    registry,
    'causeway_config_last_reload_successful',
    '0 while the file has a config that was refused, and the one before runs.',
    () => Number(sources.reloads().last?.outcome !== 'refused')
  )
  readGauge(
    registry,
    'causeway_config_last_reload_success_timestamp_seconds',
    'When the config that runs was taken.',
    () => sources.reloads().loadedAt / 1_000
  )
  readCounters(registry, 'causeway_config_reloads_total', 'Reloads of the config since the start.', ['outcome'], () =>
    Object.entries(sources.reloads().counts).map(([outcome, count]) => [{ outcome }, count] as const)
  )
}
