/** The gateway as a process of its own, run from the source, with what a machine may put upon it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type Child, startChild } from './child.ts'
import { freePorts } from './ports.ts'

export interface Program {
  readonly child: Child
  readonly adminUrl: string
  url(path?: string): string
  /** A metric without labels, by its name. */
  metric(name: string): Promise<number>
}

export interface ProgramOptions {
  readonly env?: Record<string, string>
  /** Most file descriptors. */
  readonly files?: number
}

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export async function startProgram(
  t: Test,
  config: Record<string, unknown>,
  { env = {}, files }: ProgramOptions = {}
): Promise<Program> {
  const [port, adminPort] = (await freePorts(2)) as [number, number]
  const folder = await mkdtemp(join(tmpdir(), 'causeway-'))
  const file = join(folder, 'causeway.yaml')
  const whole = { ...config, server: { ...(config.server as object), port }, admin: { port: adminPort } }
  await writeFile(file, JSON.stringify(whole))
  const command = [process.execPath, main, 'run', '-c', file]
  const child =
    files === undefined
      ? startChild(command[0]!, command.slice(1), { env })
      : startChild('sh', ['-c', `ulimit -n ${files}; exec "$@"`, 'sh', ...command], { env })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await child.ended
    await rm(folder, { recursive: true, force: true })
  })
  await child.line(line => (line.includes('health and metrics') ? line : undefined))
  const adminUrl = `http://127.0.0.1:${adminPort}`
  return {
    child,
    adminUrl,
    url: (path = '/mcp') => `http://127.0.0.1:${port}${path}`,
    async metric(name) {
      const text = await (await fetch(`${adminUrl}/metrics`)).text()
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    }
  }
}
