import path from 'node:path'
import { startGateway } from '../gateway.ts'
import type { Options } from '../options.ts'
import { freePort, Program } from '../program.ts'
import type { Section } from '../report.ts'
import { contender, ratio, rowOf, takeTurns } from './calls.ts'

const upstream = path.join(import.meta.dirname, '../upstream/lists.ts')

export interface Backends {
  /** As they stand in the config. */
  readonly config: Readonly<Record<string, { readonly kind: 'http'; readonly url: string }>>
  stop(): Promise<void>
}

export const backendNames = ['one', 'two', 'three', 'four', 'five'] as const

/** Five backends with as many tools each, `<backend>-0` the first. */
export const startBackends = async (tools: number): Promise<Backends> => {
  const started = await Promise.all(
    backendNames.map(async name => {
      const port = await freePort()
      const program = await Program.start({ args: [upstream, `${port}`, name, `${tools}`], port })
      return { name, program, config: { kind: 'http' as const, url: `http://127.0.0.1:${port}/mcp` } }
    })
  )
  return {
    config: Object.fromEntries(started.map(({ name, config }) => [name, config])),
    async stop() {
      await Promise.all(started.map(({ program }) => program.stop()))
    }
  }
}

const call = (name: string): string =>
  `"method":"tools/call","params":{"name":"${name}","arguments":{"message":"hello"}}`

/** The same small calls of one backend, alone on its route, and beside four others. */
export const measureSeveral = async (options: Options, folder: string): Promise<Section> => {
  const backends = await startBackends(20)
  const start = async (name: string, of: Record<string, Record<string, unknown>>, tool: string, route = {}) => {
    const { url, program } = await startGateway({ folder, backends: of, route })
    return contender(name, url, program, { request: call(tool) })
  }
  const all = backends.config
  const alone = await start('one backend', { one: all.one! }, 'one-0')
  const beside = await start('five backends', all, 'one-0')
  const prefixed = await start('five backends, prefixed names', all, 'one_one-0', { prefix: 'always' })
  const contenders = [alone, beside, prefixed]
  try {
    await takeTurns(contenders, options)
    return {
      title: `Small tools/call, one backend or five on the route, ${options.rounds} rounds of ${options.seconds} s`,
      rows: contenders.map(rowOf),
      bars: [
        { name: 'CPU per call, five backends', value: ratio('cpu', beside, alone), atMost: 1.25 },
        { name: 'CPU per call, five backends, prefixed names', value: ratio('cpu', prefixed, alone), atMost: 1.25 }
      ]
    }
  } finally {
    await Promise.all([...contenders.map(({ program }) => program.stop()), backends.stop()])
  }
}
