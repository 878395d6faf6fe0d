/** What a server answers to `server/discover` (2026-07-28 server/discover), and what it is to whoever knows `initialize` alone. */
import { serverKey } from './modern.ts'
import { isSpokenModern } from './version.ts'

export interface Discovered {
  /** The modern version that both speak. */
  readonly version: string
  readonly capabilities: Readonly<Record<string, unknown>>
  /** JSON text of the DiscoverResult. */
  readonly text: string
  /** Milliseconds for which it may be used again; 0 when it says nothing of that. */
  readonly ttlMs: number
  /** When it was read, milliseconds of `performance.now()`. */
  readonly at: number
}

/** Undefined for what is no DiscoverResult with a version that is spoken here. `at`: now. */
export function readDiscovered(text: string, at = performance.now()): Discovered | undefined {
  const value: unknown = JSON.parse(text)
  if (!isObject(value) || !Array.isArray(value.supportedVersions)) return undefined
  const version = newestSpoken(value.supportedVersions)
  if (version === undefined) return undefined
  const { ttlMs } = value
  return {
    version,
    capabilities: isObject(value.capabilities) ? value.capabilities : {},
    text,
    ttlMs: typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0,
    at
  }
}

/** The newest modern version in a list that is spoken here. */
export const newestSpoken = (versions: readonly unknown[]): string | undefined =>
  versions
    .filter((version): version is string => typeof version === 'string' && isSpokenModern(version))
    .sort()
    .at(-1)

/** JSON text in the shape of an InitializeResult, so that every reader of such a result works. */
export function asInitializeResult({ text, version, capabilities }: Discovered, backend: string): string {
  const { _meta, instructions } = JSON.parse(text) as { _meta?: unknown; instructions?: unknown }
  const meta = isObject(_meta) ? _meta : {}
  const { [serverKey]: server, ...rest } = meta
  return JSON.stringify({
    protocolVersion: version,
    capabilities,
    serverInfo: isObject(server) ? server : { name: backend, version: '0' },
    ...(typeof instructions === 'string' ? { instructions } : {}),
    ...(Object.keys(rest).length === 0 ? {} : { _meta: rest })
  })
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
