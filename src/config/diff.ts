/** What changed between two configs, and what a change of each thing means. Pure. */
import { isDeepStrictEqual } from 'node:util'
import type { BackendConfig, Config } from './config.ts'

/** Names, or paths of routes. `changed`: another one in its place. */
export interface Changes {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
  readonly unchanged: readonly string[]
}

/** `tuned`: the same backend, with its connections, processes and sessions, treated differently. */
export interface BackendChanges extends Changes {
  readonly tuned: readonly string[]
}

export interface ConfigDiff {
  readonly backends: BackendChanges
  /** A route changes with what it serves: when one of its backends is another one, or shows other things there. */
  readonly routes: Changes
  /** Other settings that are followed at once, by their paths in the file. */
  readonly settings: readonly string[]
  /** Settings that are read at the start only. */
  readonly restart: readonly string[]
}

/**
 * Settings that are read at the start: what is bound, and what is built into what is bound. A key stands for everything
 * under it. All others are followed while the gateway runs (docs/configuration.md, "Changing it while it runs").
 */
export const needsRestart = [
  'server.host',
  'server.port',
  'server.publicUrl',
  'server.allowedOrigins',
  'server.allowedHosts',
  'server.trustProxy',
  'server.limits.body',
  'server.limits.upstream',
  'server.limits.depth',
  'server.limits.maxConnections',
  'server.limits.headersTimeout',
  'server.limits.requestTimeout',
  'server.shutdown',
  'admin',
  'store',
  'secrets',
  'streams.keepAlive',
  'streams.highWater',
  'streams.stall'
] as const

/** What makes a backend another one when it changes; every other key of it tunes it. */
const identifying: readonly string[] = [
  'kind',
  'url',
  'command',
  'args',
  'env',
  'cwd',
  'scope',
  'era',
  'path',
  'strict',
  'worker',
  'memory',
  'watch'
]

/** Of a backend that is tuned: what changes nothing that clients see. */
const invisible: readonly string[] = [
  'headers',
  'timeout',
  'maxTime',
  'pool',
  'hints',
  'maxProcesses',
  'calls',
  'queue',
  'queueTime',
  'breaker'
]

export function diff(before: Config, after: Config): ConfigDiff {
  const backends = ofBackends(before, after)
  const { added, removed, changed, tuned } = backends
  const shown = tuned.filter(name => keysChanged(named(before, name), named(after, name)).some(isVisible))
  const touched = new Set([...added, ...removed, ...changed, ...shown])
  const old = new Map(before.routes.map(route => [route.path, route]))
  const routes = compare(old, new Map(after.routes.map(route => [route.path, route])), (one, other) =>
    isDeepStrictEqual(one, other) && !other.backends.some(name => touched.has(name)) ? 'unchanged' : 'changed'
  )
  const others = settingsChanged(before, after)
  return {
    backends,
    routes: { added: routes.added, removed: routes.removed, changed: routes.changed, unchanged: routes.unchanged },
    settings: others.filter(path => !isFixed(path)),
    restart: others.filter(isFixed)
  }
}

/** Whether nothing is to be done. */
export const isEmpty = ({ backends, routes, settings }: ConfigDiff): boolean =>
  [backends.added, backends.removed, backends.changed, backends.tuned].every(names => names.length === 0) &&
  [routes.added, routes.removed, routes.changed, settings].every(paths => paths.length === 0)

/** `after`, with what needs a restart as it is in `before`. */
export function withoutRestart(before: Config, after: Config): Config {
  return needsRestart.reduce<Config>((config, path) => replaced(config, before, path.split('.')), after)
}

function ofBackends(before: Config, after: Config): BackendChanges {
  const byName = ({ backends }: Config) => new Map(backends.map(backend => [backend.name, backend]))
  return compare(byName(before), byName(after), (one, other) => {
    if (isAnother(one, other)) return 'changed'
    return keysChanged(one, other).length === 0 ? 'unchanged' : 'tuned'
  })
}

/** Whether it is another backend than before. */
export const isAnother = (before: BackendConfig, after: BackendConfig): boolean =>
  keysChanged(before, after).some(key => identifying.includes(key))

type Verdict = 'changed' | 'tuned' | 'unchanged'

function compare<T>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  judge: (one: T, other: T) => Verdict
): BackendChanges {
  const found = { added: [] as string[], removed: [] as string[], changed: [], tuned: [], unchanged: [] } as Record<
    keyof BackendChanges,
    string[]
  >
  for (const name of before.keys()) if (!after.has(name)) found.removed.push(name)
  for (const [name, other] of after) {
    const one = before.get(name)
    found[one === undefined ? 'added' : judge(one, other)].push(name)
  }
  return found
}

const named = ({ backends }: Config, name: string): BackendConfig => backends.find(backend => backend.name === name)!

const isVisible = (key: string): boolean => !invisible.includes(key)

/** The order of members means nothing. */
const keysChanged = (one: object, other: object): string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    key => !isDeepStrictEqual(Reflect.get(one, key), Reflect.get(other, key))
  )

const isFixed = (path: string): boolean => needsRestart.some(fixed => path === fixed || path.startsWith(`${fixed}.`))

/** Paths of the leaves that differ, of everything that is neither backend nor route. */
function settingsChanged(before: Config, after: Config): string[] {
  const { backends: _, routes: __, ...one } = before
  const { backends: ___, routes: ____, ...other } = after
  return leavesChanged(one, other, '')
}

function leavesChanged(one: unknown, other: unknown, path: string): string[] {
  if (isDeepStrictEqual(one, other)) return []
  if (!isMapping(one) || !isMapping(other)) return [path]
  const inner = (key: string): string => (path === '' ? key : `${path}.${key}`)
  return keysChanged(one, other).flatMap(key =>
    leavesChanged(Reflect.get(one, key), Reflect.get(other, key), inner(key))
  )
}

const isMapping = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function replaced<T extends object>(into: T, from: object, [key, ...rest]: readonly string[]): T {
  const inner: unknown = Reflect.get(from, key!)
  const value = rest.length === 0 ? inner : replaced(Reflect.get(into, key!) as object, inner as object, rest)
  return { ...into, [key!]: value }
}
