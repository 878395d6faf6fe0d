/** Runs every cell of the matrix through one gateway, or without it. */
import { fileURLToPath } from 'node:url'
import { startModernFeatures } from '../../fixtures/eras/modern-http.ts'
import { startOldHttp } from '../../fixtures/eras/old-http.ts'
import { World, worldPort } from '../../fixtures/eras/world.ts'
import { startGateway } from '../../helpers/gateway.ts'
import type { Answers, Connect, Target } from '../clients/peer.ts'
import { connectV1 } from '../clients/v1.ts'
import { connectV2Legacy } from '../clients/v2.ts'
import { connectV2Modern } from '../clients/v2-modern.ts'
import { asking } from './asking.ts'
import type { Area, Feature } from './feature.ts'
import { type BackendName, backends, type ClientName } from './names.ts'
import { prefixed } from './prefixed.ts'
import type { Reason } from './reasons.ts'
import { serving } from './serving.ts'
import { telling } from './telling.ts'

export const areas: readonly Area[] = [...serving, ...telling, ...asking]

/** What came of a cell: it works, it cannot for a reason and did not, or it is not what it should be. */
export type Outcome = { readonly works: true } | { readonly why: Reason } | { readonly wrong: unknown }

/** What came of every feature, for one client at one backend. */
export type Column = ReadonlyMap<Feature, Outcome>

const connects: Readonly<Record<ClientName, Connect>> = {
  'SDK v1': connectV1,
  'SDK v2, legacy': connectV2Legacy,
  'SDK v2, modern': connectV2Modern
}

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/eras/${name}.ts`, import.meta.url))

interface Owner {
  teardown(end: () => Promise<void>): void
}

export interface Servers {
  readonly world: World
  /** Without the gateway; a module has no address. */
  readonly direct: Readonly<Record<Exclude<BackendName, 'module'>, Target>>
  /** Through the gateway. */
  readonly gateway: Readonly<Record<BackendName, Target>>
  /** All of them behind one route. */
  readonly together: Target
}

const paths: Readonly<Record<BackendName, string>> = {
  'SDK v1, http': 'old-http',
  'SDK v1, stdio': 'old-stdio',
  'SDK v2, http': 'modern-http',
  'SDK v2, stdio': 'modern-stdio',
  module: 'module'
}

/** All of them, and one gateway with a route for each. They end with the test. */
export async function startServers(t: Owner): Promise<Servers> {
  const world = await World.start()
  t.teardown(() => world.stop())
  const [old, modern] = await Promise.all([startOldHttp(), startModernFeatures()])
  t.teardown(() => old.stop())
  t.teardown(() => modern.stop())
  const program = (name: string) => ({ command: process.execPath, args: [fixture(name), process.env[worldPort]!] })
  // Callers of 2026-07-28 would get a process for each call.
  const stdio = (name: string) => ({ kind: 'stdio', ...program(name), pool: 'principal' })
  const { gateway } = await startGateway(t, {
    backends: {
      'old-http': { kind: 'http', url: old.url },
      'old-stdio': stdio('old-stdio'),
      'modern-http': { kind: 'http', url: modern.url },
      'modern-stdio': stdio('modern-stdio'),
      module: { kind: 'module', path: fixture('module') }
    },
    routes: {
      '/mcp': { backends: Object.values(paths), prefix: 'always' },
      ...Object.fromEntries(Object.values(paths).map(name => [`/mcp/${name}`, { backends: [name] }]))
    }
  })
  const routed = backends.map(name => [name, { url: gateway.url(`/mcp/${paths[name]}`) }])
  return {
    world,
    direct: {
      'SDK v1, http': { url: old.url },
      'SDK v1, stdio': program('old-stdio'),
      'SDK v2, http': { url: modern.url },
      'SDK v2, stdio': program('modern-stdio')
    },
    gateway: Object.fromEntries(routed) as Servers['gateway'],
    together: { url: gateway.url('/mcp') }
  }
}

const reasonOf = ({ unless = [] }: Feature, client: ClientName, backend: BackendName): Reason | undefined =>
  unless.find(({ clients, backends }) => clients?.includes(client) !== false && backends?.includes(backend) !== false)
    ?.why

/** What the names of a backend begin with behind the route of all. */
export const prefixes = Object.fromEntries(backends.map(name => [name, `${paths[name]}_`])) as typeof paths

/** Runs every feature over one connection of this client to this backend, one after the other. `prefix`: of its names. */
export async function runColumn(
  world: World,
  client: ClientName,
  backend: BackendName,
  target: Target,
  prefix = ''
): Promise<Column> {
  const answers: Answers = { roots: [], sample: '', elicitation: { action: 'cancel' } }
  const connected = await connects[client](target, answers, {
    roots: { listChanged: true },
    sampling: { tools: {} },
    elicitation: { form: {}, url: {} }
  })
  await connected.listenToLists()
  const peer = prefix === '' ? connected : prefixed(connected, prefix)
  const outcomes = new Map<Feature, Outcome>()
  for (const feature of areas.flatMap(({ features }) => features)) {
    const why = reasonOf(feature, client, backend)
    const patience = why === undefined ? 5000 : 100
    const wrong = await feature.run({ client, backend, peer, answers, world, patience }).then(
      () => undefined,
      (error: unknown) => error ?? 'rejected'
    )
    if (why === undefined) outcomes.set(feature, wrong === undefined ? { works: true } : { wrong })
    else outcomes.set(feature, wrong === undefined ? { wrong: `it works, although: ${why}` } : { why })
  }
  await peer.close()
  return outcomes
}
