import path from 'node:path'
import { startGateway } from '../gateway.ts'
import type { CallsReport } from '../load/calls.ts'
import type { Era } from '../load/mcp.ts'
import { runLoad } from '../load/run.ts'
import { median, medianRatio } from '../median.ts'
import type { Options } from '../options.ts'
import { freePort, Program } from '../program.ts'
import type { Row, Section } from '../report.ts'

const bench = path.join(import.meta.dirname, '..')

/** Something that calls go through, measured once a round. */
export interface Contender {
  readonly name: string
  readonly url: string
  readonly program: Program
  /** Method and params of what is sent; see load/calls.ts. */
  readonly request: string | undefined
  /** Of the client that calls. */
  readonly era: Era
  readonly reports: CallsReport[]
}

export const contender = (
  name: string,
  url: string,
  program: Program,
  { request, era = 'legacy' }: { request?: string; era?: Era } = {}
): Contender => ({
  name,
  url,
  program,
  request,
  era,
  reports: []
})

/**
 * Each round measures all of them in turn, starting with another one each time. Before that each has a turn that does not
 * count: code is compiled while it runs, and that is done only after some ten thousand calls.
 */
export const takeTurns = async (contenders: readonly Contender[], options: Options): Promise<void> => {
  const load = ({ url, program, request, era }: Contender, seconds: number): Promise<CallsReport> =>
    runLoad('calls', url, seconds, program.pid, era, ...(request === undefined ? [] : [request]))
  for (const contender of contenders) await load(contender, options.seconds * 2)
  for (let round = 0; round < options.rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const contender = contenders[(round + turn) % contenders.length]!
      contender.reports.push(await load(contender, options.seconds))
    }
  }
}

export const figure = (contender: Contender, name: keyof CallsReport): number[] =>
  contender.reports.map(report => report[name])

export const rowOf = (contender: Contender): Row => ({
  name: contender.name,
  figures: {
    'calls/s': median(figure(contender, 'perSecond')),
    'CPU µs/call': median(figure(contender, 'cpu')),
    'p50 ms': median(figure(contender, 'p50')),
    'p99 ms': median(figure(contender, 'p99')),
    'peak MB': contender.program.peak() / 1e6
  }
})

export const startBackend = async ({ bytes = 2, era = 'legacy' as Era } = {}): Promise<Contender> => {
  const port = await freePort()
  const args = [path.join(bench, 'upstream/http.ts'), `${port}`, `${bytes}`, era]
  return contender('the backend itself', `http://127.0.0.1:${port}/mcp`, await Program.start({ args, port }), { era })
}

export const startFloor = async (backend: Contender): Promise<Contender> => {
  const port = await freePort()
  const { origin } = new URL(backend.url)
  const program = await Program.start({ args: [path.join(bench, 'floor/proxy.mjs'), `${port}`, origin], port })
  return contender('bare Node proxy', `http://127.0.0.1:${port}/mcp`, program, { era: backend.era })
}

/** The median over the rounds of the ratio within a round. */
export const ratio = (name: keyof CallsReport, over: Contender, under: Contender): number =>
  medianRatio(figure(over, name), figure(under, name))

/** Small calls: the bare proxy, the gateway without and with its line per request. */
export const measureCalls = async (options: Options, folder: string): Promise<Section> => {
  const backend = await startBackend()
  const floor = await startFloor(backend)
  const settings = { folder, backend: { kind: 'http', url: backend.url } }
  const quiet = await startGateway({ ...settings, level: 'warn' })
  const logging = await startGateway({ ...settings, level: 'info' })
  const gateway = contender('Causeway', quiet.url, quiet.program)
  const gatewayLogging = contender('Causeway, request log', logging.url, logging.program)
  const contenders = [floor, gateway, gatewayLogging]
  try {
    await takeTurns(contenders, options)
    const rows = contenders.map(rowOf)
    for (const [index, { program }] of contenders.entries()) {
      const { scavenge } = await program.memory()
      rows[index] = { name: rows[index]!.name, figures: { ...rows[index]!.figures, 'scavenge ms': scavenge } }
    }
    return {
      title: `Small tools/call, http backend, JSON, 32 connections, ${options.rounds} rounds of ${options.seconds} s`,
      rows,
      bars: [
        { name: 'CPU per call', value: ratio('cpu', gateway, floor), atMost: 1.3 },
        { name: 'CPU per call, request log', value: ratio('cpu', gatewayLogging, floor), atMost: 1.4 },
        { name: 'rate', value: ratio('perSecond', gateway, floor), atLeast: 0.75 }
      ]
    }
  } finally {
    await Promise.all([...contenders, backend].map(({ program }) => program.stop()))
  }
}
