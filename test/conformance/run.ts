import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { endOf, startChild } from '../helpers/child.ts'
import { startGateway } from '../helpers/gateway-process.ts'
import { startNeighbours } from './neighbours.ts'
import { runSuite } from './suite.ts'

/**
 * `run.ts [--backend http|stdio|module|modern|modern-stdio|several|direct]`: the official conformance suite against the built gateway with our
 * fixture behind it (http unless told otherwise; modern: as a server of 2026-07-28; several: on one route with backends that are dead, hang, flood, or have
 * the same names), or against the fixture itself (direct), in the revision of `--revision` (2025-11-25 unless told otherwise).
 * One line per scenario; exits with 0 when all of them passed, with 1 when one did not or is missing.
 */

/** How many scenarios there are, scored and unscored, and those that need what is not there yet: they may fail. */
const revisions: Readonly<Record<string, { readonly expected: number; readonly open: RegExp }>> = {
  '2025-11-25': { expected: 33, open: /^$/ },
  '2026-07-28': { expected: 50, open: /^(input-required-|tasks-|server-stateless$|http-custom-header-)/ }
}

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/conformance/${name}.ts`, import.meta.url))

interface Running {
  readonly url: string
  stop(): Promise<void>
}

const startFixture = async (name = 'http'): Promise<Running> => {
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
const streams = { sseAfter: '100ms', closeAfter: '500ms' }

const startBehindGateway = async (backend: Record<string, unknown>): Promise<Running> => {
  const gateway = await startGateway({ streams, backends: { fixture: backend } })
  return { url: gateway.url(), stop: gateway.stop }
}

const startOverHttp = async (name: string): Promise<Running> => {
  const upstream = await startFixture(name)
  try {
    const gateway = await startBehindGateway({ kind: 'http', url: upstream.url })
    return {
      url: gateway.url,
      async stop() {
        await gateway.stop().finally(upstream.stop)
      }
    }
  } catch (error) {
    await upstream.stop()
    throw error
  }
}

const start: Record<string, () => Promise<Running>> = {
  direct: () => startFixture(),
  http: () => startOverHttp('http'),
  modern: () => startOverHttp('modern'),
  'modern-stdio': () =>
    startBehindGateway({ kind: 'stdio', command: process.execPath, args: [fixture('modern'), 'stdio'] }),
  stdio: () => startBehindGateway({ kind: 'stdio', command: process.execPath, args: [fixture('stdio')] }),
  module: () => startBehindGateway({ kind: 'module', path: fixture('module') }),
  async several() {
    const neighbours = await startNeighbours()
    const upstream = await startFixture()
    const closed = () => upstream.stop().finally(neighbours.close)
    try {
      // The suite asks for the fixture's own names: of two with one name the first of the route has it.
      const gateway = await startGateway({
        streams,
        backends: { fixture: { kind: 'http', url: upstream.url }, ...neighbours.config },
        routes: { '/mcp': { backends: ['fixture', ...Object.keys(neighbours.config)], prefix: 'never' } }
      })
      return {
        url: gateway.url(),
        async stop() {
          await gateway.stop().finally(closed)
          if (neighbours.flooded() === 0) throw new Error('the flooding backend had nobody to flood')
        }
      }
    } catch (error) {
      await closed()
      throw error
    }
  }
}

const { values } = parseArgs({
  options: { backend: { type: 'string', default: 'http' }, revision: { type: 'string', default: '2025-11-25' } }
})
const { revision } = values
const { expected, open } = revisions[revision] ?? { expected: 0, open: /^$/ }
/** A server of the revision has all of it. */
const isOpen = (name: string): boolean => open.test(name) && !values.backend.startsWith('modern')
const starter = start[values.backend]
if (!starter) {
  console.error(`Unknown backend "${values.backend}": one of ${Object.keys(start).join(', ')}`)
  process.exit(2)
}

const server = await starter()
try {
  const scenarios = await runSuite(server.url, revision)
  for (const { name, passed, detail } of scenarios) console.log(`${passed ? 'ok    ' : 'not ok'} ${name} (${detail})`)
  const passed = scenarios.filter(scenario => scenario.passed).length
  const excused = scenarios.filter(({ name, passed }) => !passed && isOpen(name)).length
  if (excused > 0) console.log(`${excused} more fail for what is not there yet`)
  console.log(`${passed} passed, ${scenarios.length - passed - excused} failed`)
  if (scenarios.length !== expected) console.log(`${expected} scenarios expected, ${scenarios.length} ran`)
  process.exitCode = passed + excused === expected && scenarios.length === expected ? 0 : 1
} finally {
  await server.stop()
}
