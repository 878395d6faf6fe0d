import { startGateway } from '../gateway.ts'
import type { Options } from '../options.ts'
import type { Section } from '../report.ts'
import { contender, figure, ratio, rowOf, startBackend, startFloor, takeTurns } from './calls.ts'

/** Calls whose result is a text of 1 MB. */
export const measureLarge = async (options: Options, folder: string): Promise<Section> => {
  const backend = await startBackend({ bytes: 1_000_000 })
  const floor = await startFloor(backend)
  const { url, program } = await startGateway({ folder, backend: { kind: 'http', url: backend.url } })
  const gateway = contender('Causeway', url, program)
  const contenders = [floor, gateway]
  try {
    await takeTurns(contenders, options)
    const short = contenders.find(one => figure(one, 'bytes').some(bytes => bytes < 1_000_000))
    if (short !== undefined) throw new Error(`${short.name} did not deliver whole results`)
    return {
      title: `tools/call with a 1 MB result, 32 connections, ${options.rounds} rounds of ${options.seconds} s`,
      rows: contenders.map(rowOf),
      bars: [{ name: 'rate', value: ratio('perSecond', gateway, floor), atLeast: 0.8 }]
    }
  } finally {
    await Promise.all([...contenders, backend].map(one => one.program.stop()))
  }
}
