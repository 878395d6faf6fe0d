/** A gateway in front of one scripted backend, for tests of sessions and streams; calls end when the test says so. */
import type { Test } from 'tap'
import type { Parts } from '../../src/index.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { HttpUpstream, type HttpUpstreamOptions } from './http-upstream.ts'
import { RawClient } from './raw-client.ts'
import { contractTools, Scripted, type Turn } from './scripted.ts'
import { until } from './until.ts'

export interface Legacy extends RunningGateway {
  readonly upstream: HttpUpstream
  readonly server: Scripted
  open(options?: Parameters<typeof RawClient.open>[1], path?: string): Promise<RawClient>
  /** The next call of the tool `held`, once it reached the backend: it goes on as the test says. */
  held(): Promise<Turn>
  /** What the admin listener tells. */
  status(): Promise<{ state: string; sessions: number; streams: number; backends: { inflight: number }[] }>
}

export interface LegacyOptions {
  readonly file?: Record<string, unknown>
  readonly upstream?: HttpUpstreamOptions
  readonly parts?: Parts
  /** Further members of the backend's entry. */
  readonly backend?: Record<string, unknown>
}

export async function startLegacy(
  t: Test,
  { file = {}, upstream: options = {}, parts = {}, backend = {} }: LegacyOptions = {}
): Promise<Legacy> {
  const server = contractTools(new Scripted())
  const turns: Turn[] = []
  server.on('tools/call:held', turn => void turns.push(turn))
  const upstream = await HttpUpstream.start(server, options)
  t.teardown(() => upstream.close())
  const running = await startGateway(
    t,
    { backends: { docs: { kind: 'http', url: upstream.url, ...backend } }, ...file },
    import.meta.dirname,
    parts
  )
  return {
    ...running,
    upstream,
    server,
    open: (options, path) =>
      RawClient.open(path === undefined ? running.url : new URL(path, running.url).href, options),
    async held() {
      await until('a call of the tool held', () => turns.length > 0)
      return turns.shift()!
    },
    async status() {
      const response = await fetch(new URL('/readyz?verbose', running.adminUrl))
      return (await response.json()) as Awaited<ReturnType<Legacy['status']>>
    }
  }
}

/** Text of a tool result that says it. */
export const saying = (text: string): string => JSON.stringify({ content: [{ type: 'text', text }] })
