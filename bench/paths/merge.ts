import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '../gateway.ts'
import { openClient } from '../load/client.ts'
import { median } from '../median.ts'
import type { Options } from '../options.ts'
import type { Row, Section } from '../report.ts'
import { backendNames, startBackends } from './several.ts'

const tools = 10_000
/** Lists are old at once, and no two of the backends' are the same. */
const route = { listTtl: '1ms', page: tools }
/** Lists that are read, one after the other, from one gateway. */
const lists = 8

interface Merge {
  readonly milliseconds: number
  /** CPU time of the gateway, all threads, in milliseconds. */
  readonly cpu: number
  readonly longestTask: number
}

/** 10,000 tools of five backends, read and merged: by a gateway that did it never before, and by one that did. */
export const measureMerge = async (options: Options, folder: string): Promise<Section> => {
  const backends = await startBackends(tools / backendNames.length)
  const first: Merge[] = []
  const later: Merge[] = []
  try {
    for (let round = 0; round < options.rounds; round++) {
      const { url, program } = await startGateway({ folder, backends: backends.config, route })
      try {
        const client = await openClient(url)
        await program.longestTask()
        for (let list = 0; list < lists; list++) {
          await sleep(50)
          await program.longestTask()
          const cpuBefore = program.cpu()
          const began = performance.now()
          const text = await client.text(`{"jsonrpc":"2.0","id":${list},"method":"tools/list"}`)
          const milliseconds = performance.now() - began
          const longestTask = await program.longestTask()
          const cpu = (program.cpu() - cpuBefore) / 1_000
          const found = text.split('"inputSchema"').length - 1
          if (found !== tools) throw new Error(`${found} tools were listed`)
          ;(list === 0 ? first : later).push({ milliseconds, cpu, longestTask })
        }
      } finally {
        await program.stop()
      }
    }
  } finally {
    await backends.stop()
  }
  const row = (name: string, merges: readonly Merge[]): Row => ({
    name,
    figures: {
      ms: median(merges.map(({ milliseconds }) => milliseconds)),
      'CPU ms': median(merges.map(({ cpu }) => cpu)),
      'longest task ms': median(merges.map(({ longestTask }) => longestTask))
    }
  })
  const [cold, warm] = [row('the first list of a process', first), row('later ones, read anew', later)]
  return {
    title: `tools/list of 10,000 tools from five backends, read and merged, ${options.rounds} rounds`,
    rows: [cold, warm],
    bars: [
      { name: 'ms, the first list of a process', value: cold.figures.ms!, atMost: 100 },
      { name: 'longest task ms, the first list of a process', value: cold.figures['longest task ms']!, atMost: 50 },
      { name: 'ms, read anew', value: warm.figures.ms!, atMost: 100 },
      { name: 'longest task ms, read anew', value: warm.figures['longest task ms']!, atMost: 50 }
    ]
  }
}
