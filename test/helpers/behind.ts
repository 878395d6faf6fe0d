/** A gateway in front of a scripted server, over any of the transports that proxy. */
import type { Test } from 'tap'
import type { Parts } from '../../src/index.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { HttpUpstream, type HttpUpstreamOptions } from './http-upstream.ts'
import { Scripted } from './scripted.ts'
import { SseUpstream } from './sse-upstream.ts'
import { stdioUpstream } from './stdio-upstream.ts'

export const proxied = ['http', 'sse', 'stdio', 'stdio shared'] as const
export type Kind = (typeof proxied)[number]

interface Upstream {
  /** The entry under `backends`. */
  readonly config: Record<string, unknown>
  close(): Promise<void>
}

export interface BehindOptions {
  readonly server?: Scripted
  readonly upstream?: HttpUpstreamOptions
  /** Further members of the backend's entry, and of the file. */
  readonly backend?: Record<string, unknown>
  readonly file?: Record<string, unknown>
  readonly parts?: Parts
}

export interface Behind extends RunningGateway {
  readonly server: Scripted
  /** Of kind `http`. */
  readonly http: HttpUpstream
}

/** Listens as `kind`; the test closes it. */
export async function upstreamOf(
  t: Test,
  kind: Kind,
  server: Scripted,
  options?: HttpUpstreamOptions
): Promise<Upstream> {
  let upstream: Upstream
  if (kind === 'http') {
    const http = await HttpUpstream.start(server, options)
    upstream = Object.assign(http, { config: { kind, url: http.url } })
  } else if (kind === 'sse') {
    const sse = await SseUpstream.start(server)
    upstream = { config: { kind, url: sse.url }, close: () => sse.close() }
  } else {
    const { command, args, close } = await stdioUpstream(server)
    const scope = kind === 'stdio' ? 'session' : 'shared'
    upstream = { config: { kind: 'stdio', scope, command, args, maxProcesses: 100 }, close }
  }
  t.teardown(() => upstream.close())
  return upstream
}

export async function behind(t: Test, kind: Kind, options: BehindOptions = {}): Promise<Behind> {
  const server = options.server ?? new Scripted()
  const upstream = await upstreamOf(t, kind, server, options.upstream)
  const file = { ...options.file, backends: { docs: { ...upstream.config, ...options.backend } } }
  const gateway = await startGateway(t, file, import.meta.dirname, options.parts)
  return { ...gateway, server, http: upstream as unknown as HttpUpstream }
}
