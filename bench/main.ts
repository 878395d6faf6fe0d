// What the gateway costs, as ratios to the least that Node can do; see docs/benchmarks.md. Run by `npm run bench`.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { gatewayIsBuilt } from './gateway.ts'
import { type Options, type Path, readOptions, usage } from './options.ts'
import { measureCalls } from './paths/calls.ts'
import { measureEras } from './paths/eras.ts'
import { measureLarge } from './paths/large.ts'
import { measureLists } from './paths/lists.ts'
import { measureMerge } from './paths/merge.ts'
import { measureModule } from './paths/module.ts'
import { measurePeers } from './paths/peers.ts'
import { measureSessions } from './paths/sessions.ts'
import { measureSeveral } from './paths/several.ts'
import { measureStreams } from './paths/streams.ts'
import { format, holds, machine, type Section } from './report.ts'

const measures: Record<Path, (options: Options, folder: string) => Promise<Section>> = {
  calls: measureCalls,
  eras: measureEras,
  module: measureModule,
  large: measureLarge,
  several: measureSeveral,
  lists: measureLists,
  merge: measureMerge,
  streams: measureStreams,
  sessions: measureSessions,
  peers: measurePeers
}

const run = async (options: Options): Promise<Section[]> => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'causeway-bench-'))
  try {
    const sections: Section[] = []
    for (const name of options.only) {
      const section = await measures[name](options, folder)
      console.log(`${format(section)}\n`)
      sections.push(section)
    }
    return sections
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

const main = async (): Promise<number> => {
  let options: Options | 'help'
  try {
    options = readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    return 2
  }
  if (options === 'help') {
    console.log(usage)
    return 0
  }
  if (!gatewayIsBuilt()) {
    console.error('The gateway is not built yet: run `npm run build` first.')
    return 2
  }
  console.log(`${machine()}\n`)
  const sections = await run(options)
  const missed = sections.flatMap(section => section.bars).filter(bar => !holds(bar))
  const json = JSON.stringify({ machine: machine(), options, sections })
  if (options.json !== undefined) fs.writeFileSync(options.json, `${json}\n`)
  console.log(json)
  for (const bar of missed) console.error(`missed: ${bar.name}, ${bar.value.toFixed(2)}`)
  return options.check && missed.length > 0 ? 1 : 0
}

process.exitCode = await main()
