/** Three built gateways over one Redis, in front of a scripted http backend of each era. */
import type { Test } from 'tap'
import type { GatewayProcess } from '../helpers/gateway-process.ts'
import { HttpUpstream, type HttpUpstreamOptions } from '../helpers/http-upstream.ts'
import { type Instances, type InstancesOptions, startInstances } from '../helpers/instances.ts'
import { saying } from '../helpers/legacy.ts'
import { ModernClient } from '../helpers/modern.ts'
import { modernScripted, serveModern } from '../helpers/modern-scripted.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { contractTools, Scripted, type Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

export interface World extends Instances {
  readonly scripted: Scripted
  readonly upstream: HttpUpstream
  open(instance: GatewayProcess, capabilities?: object): Promise<RawClient>
  /** The same session at another instance. */
  at(client: RawClient, instance: GatewayProcess): RawClient
  /** `initialize`, whatever comes of it. */
  initialize(instance: GatewayProcess): Promise<RawResponse>
  /** A call of a client of 2026-07-28: whether its result came. */
  modern(instance: GatewayProcess): Promise<boolean>
  /** The next call of the tool `held`, once it reached the backend. */
  held(): Promise<Turn>
  status(instance: GatewayProcess): Promise<Status>
}

export interface Status {
  readonly store: 'up' | 'down'
  readonly sessions: number | null
  readonly streams: number
}

export interface WorldOptions extends InstancesOptions {
  readonly file?: Record<string, unknown>
  readonly backend?: HttpUpstreamOptions
}

const initialize = {
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
}

/** Tools besides those of every scripted server: `ask` says who it was told to be, `held` does what the test says. */
export async function startWorld(t: Test, { file, backend, ...options }: WorldOptions = {}): Promise<World> {
  const scripted = contractTools(new Scripted())
  const turns: Turn[] = []
  scripted.on('tools/list', turn => turn.answer('{"tools":[]}'))
  scripted.on('tools/call:held', turn => void turns.push(turn))
  scripted.on('tools/call:ask', async turn => {
    const question = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }
    const { result } = await turn.ask('elicitation/create', question)
    turn.answer(saying((result as { content: { name: string } }).content.name))
  })
  const upstream = await HttpUpstream.start(scripted, backend)
  t.teardown(() => upstream.close())
  const newer = modernScripted()
  newer.on('tools/call', turn => turn.answer('{"resultType":"complete","content":[]}'))
  const { config } = await serveModern(t, newer)
  const instances = await startInstances(
    t,
    {
      sessions: { perAddress: 10_000 },
      ...file,
      backends: { docs: { kind: 'http', url: upstream.url, era: 'legacy' }, newer: { ...config, era: 'modern' } },
      routes: {
        '/mcp': { backends: ['docs'], protocol: { versions: ['2025-03-26', '2025-06-18', '2025-11-25'] } },
        '/modern': { backends: ['newer'] }
      }
    },
    options
  )
  return {
    ...instances,
    scripted,
    upstream,
    open: (instance, capabilities = {}) => RawClient.open(instance.url(), { capabilities }),
    at(client, instance) {
      const same = new RawClient(instance.url(), client.version)
      same.session = client.session
      return same
    },
    initialize: instance => new RawClient(instance.url()).post(initialize),
    async modern(instance) {
      const { json } = await new ModernClient(instance.url('/modern')).call('any')
      return json?.result !== undefined
    },
    async held() {
      await until('a call of the tool held', () => turns.length > 0)
      return turns.shift()!
    },
    async status({ adminUrl }) {
      return (await (await fetch(new URL('/readyz?verbose', adminUrl))).json()) as Status
    }
  }
}
