import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import readline from 'node:readline'
import { broadcastMethod, startGateway } from '../gateway.ts'
import { median, medianRatio } from '../median.ts'
import type { Options } from '../options.ts'
import { freePort, Program } from '../program.ts'
import type { Section } from '../report.ts'
import { startBackend } from './calls.ts'

const bench = path.join(import.meta.dirname, '..')
const broadcasts = 5

interface Target {
  readonly program: Program
  readonly url: string
  readonly broadcast: { readonly url: string; readonly body: string }
  readonly kind: 'plain' | 'mcp'
}

interface Measured {
  /** RSS per idle stream. */
  readonly bytes: number
  /** From the request to broadcast until the last stream has it, the median. */
  readonly milliseconds: number
}

/** A crowd of idle streams, as a process of its own that speaks lines. */
class Crowd {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  constructor({ url, broadcast, kind }: Target, count: number) {
    const args = [path.join(bench, 'load/streams.ts'), url, `${count}`, broadcast.url, broadcast.body, kind]
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = readline.createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]()
  }

  async opened(): Promise<void> {
    await this.#line()
  }

  async broadcast(): Promise<number> {
    this.#child.stdin!.write('broadcast\n')
    return (await this.#line()).milliseconds
  }

  async leave(): Promise<void> {
    const exit = once(this.#child, 'exit')
    this.#child.stdin!.end()
    if (this.#child.exitCode === null) await exit
  }

  async #line(): Promise<{ milliseconds: number }> {
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('the streams ended early')
    return JSON.parse(value)
  }
}

const measure = async (target: Target, count: number): Promise<Measured> => {
  const few = new Crowd(target, Math.ceil(count / 50))
  await few.opened()
  await few.broadcast()
  await few.leave()
  const before = await target.program.memory()
  const crowd = new Crowd(target, count)
  try {
    await crowd.opened()
    const after = await target.program.memory()
    const times: number[] = []
    for (let n = 0; n < broadcasts; n++) times.push(await crowd.broadcast())
    return { bytes: (after.rss - before.rss) / count, milliseconds: median(times) }
  } finally {
    await crowd.leave()
  }
}

const startFloor = async (): Promise<Target> => {
  const port = await freePort()
  const program = await Program.start({ args: [path.join(bench, 'floor/sse.mjs'), `${port}`], port })
  const url = `http://127.0.0.1:${port}/sse`
  return {
    program,
    url,
    broadcast: { url, body: JSON.stringify({ jsonrpc: '2.0', method: broadcastMethod }) },
    kind: 'plain'
  }
}

const startTarget = async (folder: string, backendUrl: string): Promise<Target> => {
  const { program, url, adminUrl } = await startGateway({ folder, backend: { kind: 'http', url: backendUrl } })
  const body = JSON.stringify({ route: '/mcp', notification: { method: broadcastMethod } })
  return { program, url, broadcast: { url: `${adminUrl}/broadcast`, body }, kind: 'mcp' }
}

/** Idle GET streams, each with its session, and a broadcast to all of them; fresh servers each round. */
export const measureStreams = async (options: Options, folder: string): Promise<Section> => {
  const backend = await startBackend()
  const floor: Measured[] = []
  const gateway: Measured[] = []
  const round = async (target: Target, results: Measured[]): Promise<void> => {
    try {
      results.push(await measure(target, options.streams))
    } finally {
      await target.program.stop()
    }
  }
  try {
    for (let n = 0; n < options.rounds; n++) {
      await round(await startFloor(), floor)
      await round(await startTarget(folder, backend.url), gateway)
    }
  } finally {
    await backend.program.stop()
  }
  const of = (results: Measured[], name: keyof Measured): number[] => results.map(result => result[name])
  const row = (name: string, results: Measured[]) => ({
    name,
    figures: {
      'KB RSS/stream': median(of(results, 'bytes')) / 1000,
      'broadcast ms': median(of(results, 'milliseconds'))
    }
  })
  return {
    title: `${options.streams} idle GET streams, ${options.rounds} rounds`,
    rows: [row('bare Node SSE server', floor), row('Causeway, sessions included', gateway)],
    bars: [
      { name: 'memory per stream', value: medianRatio(of(gateway, 'bytes'), of(floor, 'bytes')), atMost: 1.6 },
      { name: 'broadcast', value: medianRatio(of(gateway, 'milliseconds'), of(floor, 'milliseconds')), atMost: 2 }
    ]
  }
}
