/** A gateway in front of one scripted backend, for tests of the edge: what reached the backend is known. */
import type { Test } from 'tap'
import { type RunningGateway, startGateway } from './gateway.ts'
import { HttpUpstream, type HttpUpstreamOptions } from './http-upstream.ts'
import { contractTools, Scripted } from './scripted.ts'

export interface Edge extends RunningGateway {
  readonly upstream: HttpUpstream
  readonly server: Scripted
  /** Open event streams, as the admin listener tells. */
  streams(): Promise<number>
}

export async function startEdge(
  t: Test,
  file: Record<string, unknown> = {},
  options: HttpUpstreamOptions = {}
): Promise<Edge> {
  const server = contractTools(new Scripted())
  const upstream = await HttpUpstream.start(server, options)
  t.teardown(() => upstream.close())
  const running = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } }, ...file })
  return {
    ...running,
    upstream,
    server,
    async streams() {
      const response = await fetch(new URL('/readyz?verbose', running.adminUrl))
      return ((await response.json()) as { streams: number }).streams
    }
  }
}

/** What an initialize request says, as text. */
export const initialize = (version = '2025-11-25', id: string | number = 1): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'initialize',
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  })

/** A refusal is a JSON-RPC error without an id, or with the one that could be read, never `id: null`. */
export function isRefusal(
  t: Test,
  response: { readonly status: number; readonly headers: Record<string, unknown>; readonly json: any },
  status: number,
  code: number,
  id?: string | number
): void {
  t.equal(response.status, status)
  t.equal(response.headers['content-type'], 'application/json')
  t.match(response.json, { jsonrpc: '2.0', error: { code, message: String, data: { reason: String } } })
  t.equal(response.json?.id, id)
  t.equal('id' in (response.json ?? {}), id !== undefined, 'no id: null')
}
