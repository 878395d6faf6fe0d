import path from 'node:path'
import { startGateway } from '../gateway.ts'
import type { Options } from '../options.ts'
import type { Section } from '../report.ts'
import { contender, ratio, rowOf, startBackend, takeTurns } from './calls.ts'

const handlers = path.join(import.meta.dirname, '../upstream/handlers.mjs')

/** The same small calls, answered by a handler inside of the gateway, by one in a thread, and by an http backend behind it. */
export const measureModule = async (options: Options, folder: string): Promise<Section> => {
  const backend = await startBackend()
  const start = async (name: string, settings: Record<string, unknown>) => {
    const { url, program } = await startGateway({ folder, backend: settings })
    return contender(name, url, program)
  }
  const proxied = await start('http backend', { kind: 'http', url: backend.url })
  const inside = await start('handler', { kind: 'module', path: handlers })
  const apart = await start('handler in a thread', { kind: 'module', path: handlers, worker: true })
  const contenders = [proxied, inside, apart]
  try {
    await takeTurns(contenders, options)
    return {
      title: `Small tools/call, where it is answered, ${options.rounds} rounds of ${options.seconds} s`,
      rows: contenders.map(rowOf),
      bars: [{ name: 'CPU per call, handler', value: ratio('cpu', inside, proxied), atMost: 0.8 }]
    }
  } finally {
    await Promise.all([...contenders, backend].map(({ program }) => program.stop()))
  }
}
