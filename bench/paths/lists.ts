import fs from 'node:fs'
import path from 'node:path'
import { startGateway } from '../gateway.ts'
import { openClient } from '../load/client.ts'
import { median } from '../median.ts'
import type { Options } from '../options.ts'
import { freePort, Program } from '../program.ts'
import type { Section } from '../report.ts'
import { contender, figure, ratio, rowOf, takeTurns } from './calls.ts'
import { backendNames, startBackends } from './several.ts'

const floorProgram = path.join(import.meta.dirname, '../floor/static.mjs')
const list = '"method":"tools/list"'

/** `tools/list` of 1,000 tools of five backends, read once, and the same bytes from a bare server. */
export const measureLists = async (options: Options, folder: string): Promise<Section> => {
  const backends = await startBackends(1_000 / backendNames.length)
  const { url, program } = await startGateway({ folder, backends: backends.config })
  const gateway = contender('Causeway', url, program, { request: list })
  const client = await openClient(url)
  const body = await client.text(`{"jsonrpc":"2.0","id":1000000,${list}}`)
  const found = (JSON.parse(body) as { result: { tools: unknown[] } }).result.tools.length
  if (found !== 1_000) throw new Error(`${found} tools were listed`)
  const file = path.join(folder, 'list.json')
  fs.writeFileSync(file, body)
  const port = await freePort()
  const server = await Program.start({ args: [floorProgram, `${port}`, file], port })
  const floor = contender('bare Node server', `http://127.0.0.1:${port}/mcp`, server, { request: list })
  const contenders = [floor, gateway]
  try {
    await takeTurns(contenders, options)
    const bytes = contenders.map(one => median(figure(one, 'bytes')))
    if (bytes[0] !== bytes[1]) throw new Error(`not the same bytes: ${bytes}`)
    return {
      title: `tools/list of 1,000 tools from five backends (${Math.round(body.length / 1000)} KB), from the cache, ${options.rounds} rounds of ${options.seconds} s`,
      rows: contenders.map(rowOf),
      bars: [{ name: 'rate', value: ratio('perSecond', gateway, floor), atLeast: 0.6 }]
    }
  } finally {
    await Promise.all([gateway.program.stop(), server.stop(), backends.stop()])
  }
}
