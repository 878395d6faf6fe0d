import { startGateway } from '../gateway.ts'
import type { Era } from '../load/mcp.ts'
import type { Options } from '../options.ts'
import type { Section } from '../report.ts'
import { type Contender, contender, ratio, rowOf, startBackend, startFloor, takeTurns } from './calls.ts'

/** Small calls of clients of both eras at backends of both: modern all the way beside the bare proxy, and what a bridge costs. */
export const measureEras = async (options: Options, folder: string): Promise<Section> => {
  const legacy = await startBackend()
  const modern = await startBackend({ era: 'modern' })
  const floor = await startFloor(modern)
  const start = async (client: Era, { url, era }: Contender): Promise<Contender> => {
    // Else an anonymous modern call opens, and ends, an upstream session of its own.
    const pool = client === 'modern' && era === 'legacy' ? { pool: 'principal' } : {}
    const gateway = await startGateway({ folder, backend: { kind: 'http', url, ...pool } })
    return contender(`${client} client, ${era} backend`, gateway.url, gateway.program, { era: client })
  }
  const plainModern = await start('modern', modern)
  const plainLegacy = await start('legacy', legacy)
  const toModern = await start('legacy', modern)
  const toLegacy = await start('modern', legacy)
  const contenders = [floor, plainModern, plainLegacy, toModern, toLegacy]
  try {
    await takeTurns(contenders, options)
    return {
      title: `Small tools/call across the eras, http backends, 32 connections, ${options.rounds} rounds of ${options.seconds} s`,
      rows: contenders.map(rowOf),
      bars: [
        { name: 'CPU per modern call, to the bare proxy', value: ratio('cpu', plainModern, floor), atMost: 1.4 },
        { name: 'CPU, legacy client bridged', value: ratio('cpu', toModern, plainLegacy), atMost: 1.3 },
        { name: 'CPU, modern client bridged', value: ratio('cpu', toLegacy, plainModern), atMost: 1.3 }
      ]
    }
  } finally {
    await Promise.all([...contenders, legacy, modern].map(({ program }) => program.stop()))
  }
}
