/** What the suite talks to: our fixtures, alone or behind the built gateway. */
import { fileURLToPath } from 'node:url'
import { endOf, startChild } from '../helpers/child.ts'
import { startGateway } from '../helpers/gateway-process.ts'
import { startInstances } from '../helpers/instances.ts'
import { lastOf, ModernClient } from '../helpers/modern.ts'
import { startRoundRobin } from '../helpers/round-robin.ts'
import { shared } from './mixed.ts'
import { startNeighbours } from './neighbours.ts'

export interface Served {
  readonly url: string
  stop(): Promise<void>
}

/** How it is served in a revision. */
type Start = (revision: string) => Promise<Served>

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/conformance/${name}.ts`, import.meta.url))

const startFixture = async (name: 'http' | 'modern'): Promise<Served> => {
  const child = startChild(process.execPath, [fixture(name), name === 'http' ? '0' : 'http'])
  const url = await child.line(line => (JSON.parse(line) as { url?: string }).url)
  return {
    url,
    async stop() {
      child.endInput()
      const end = await endOf(child, 5000)
      if (end !== 0) throw new Error(`The fixture ended with ${end}:\n${child.output()}`)
    }
  }
}

/** SSE early, and every POST connection let go of while the reconnecting tool still works: server-sse-polling. */
const streams = (revision: string) =>
  revision === '2025-11-25' ? { streams: { sseAfter: '100ms', closeAfter: '500ms' } } : {}

/** The suite waits half a second for some answers: programs stay, and those that it gives no time to start run before. */
const program = (name: string, ...args: string[]) => ({
  kind: 'stdio',
  command: process.execPath,
  args: [fixture(name), ...args],
  pool: 'principal'
})

async function started(served: Served, revision: string): Promise<Served> {
  if (revision === '2025-11-25') return served
  const client = new ModernClient(served.url, { capabilities: { elicitation: {} } })
  await lastOf(await client.call('test_simple_text'))
  return served
}

const module = { kind: 'module', path: fixture('module') }

/** Behind a gateway. `first` is what it needs, stopped after it. */
async function behind(
  config: Record<string, unknown>,
  revision: string,
  first: readonly Served[] = []
): Promise<Served> {
  const stopFirst = async (): Promise<void> => {
    await Promise.all(first.map(({ stop }) => stop()))
  }
  try {
    const gateway = await startGateway({ ...streams(revision), ...config })
    return { url: gateway.url(), stop: () => gateway.stop().finally(stopFirst) }
  } catch (error) {
    await stopFirst()
    throw error
  }
}

const alone =
  (backend: Record<string, unknown>): Start =>
  async revision =>
    started(await behind({ backends: { fixture: backend } }, revision), revision)

const overHttp =
  (name: 'http' | 'modern'): Start =>
  async revision => {
    const upstream = await startFixture(name)
    return behind({ backends: { fixture: { kind: 'http', url: upstream.url } } }, revision, [upstream])
  }

/** The fixture on one route with backends that are dead, hang, flood, or have the same names: of two the first has it. */
const amongNeighbours: Start = async revision => {
  const neighbours = await startNeighbours()
  const close = {
    url: '',
    async stop() {
      await neighbours.close()
      if (neighbours.flooded() === 0) throw new Error('the flooding backend had nobody to flood')
    }
  }
  const upstream = await startFixture('http')
  const names = ['fixture', ...Object.keys(neighbours.config)]
  const config = {
    backends: { fixture: { kind: 'http', url: upstream.url }, ...neighbours.config },
    routes: { '/mcp': { backends: names, prefix: 'never' } }
  }
  return behind(config, revision, [upstream, close])
}

/** Backends of both eras on one route, each with a part of what the suite asks for. */
const mixed: Start = async revision => {
  const [older, modern] = [await startFixture('http'), await startFixture('modern')]
  const backends = shared({
    older: { kind: 'http', url: older.url },
    olderProgram: program('stdio'),
    modern: { kind: 'http', url: modern.url },
    modernProgram: program('modern', 'stdio'),
    module
  })
  const routes = { '/mcp': { backends: Object.keys(backends), prefix: 'never' } }
  return started(await behind({ backends, routes }, revision, [older, modern]), revision)
}

/** Three instances over one Redis, each request at the next of them: what was opened at one goes on at another. */
const replicas: Start = async revision => {
  const closing: (() => unknown)[] = []
  const owner = { teardown: (close: () => unknown) => void closing.push(close) }
  const stop = async (): Promise<void> => {
    for (const close of closing.splice(0).reverse()) await close()
  }
  const modern = revision !== '2025-11-25'
  const versions = modern ? [revision] : ['2025-03-26', '2025-06-18', revision]
  try {
    const upstream = await startFixture(modern ? 'modern' : 'http')
    owner.teardown(upstream.stop)
    const { all } = await startInstances(owner, {
      ...streams(revision),
      backends: { fixture: { kind: 'http', url: upstream.url, era: modern ? 'modern' : 'legacy' } },
      routes: { '/mcp': { backends: ['fixture'], protocol: { versions } } }
    })
    const balancer = await startRoundRobin(all.map(({ url }) => url()))
    owner.teardown(async () => {
      await balancer.close()
      if (Math.min(...balancer.taken) === 0) throw new Error('an instance had no request')
    })
    return await started({ url: balancer.url, stop }, revision)
  } catch (error) {
    await stop()
    throw error
  }
}

/** By the name of `--backend`. */
export const starts: Readonly<Record<string, Start>> = {
  direct: () => startFixture('http'),
  'direct-modern': () => startFixture('modern'),
  http: overHttp('http'),
  modern: overHttp('modern'),
  stdio: alone(program('stdio')),
  'modern-stdio': alone(program('modern', 'stdio')),
  module: alone(module),
  several: amongNeighbours,
  mixed,
  replicas
}
