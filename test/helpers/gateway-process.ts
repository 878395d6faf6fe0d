import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { endOf, startChild } from './child.ts'
import { freePorts } from './ports.ts'

export interface GatewayProcess {
  /** Where a route is served: `/mcp` unless another path is named. */
  url(path?: string): string
  readonly adminUrl: string
  readonly pid: number
  /** What it logged so far. */
  output(): string
  /** SIGTERM; resolves when it ended with 0 in time, rejects (and kills it) when it did not. */
  stop(): Promise<void>
  /** A signal, and no more than that. */
  kill(signal: NodeJS.Signals): void
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
}

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

const readyWithin = 15_000
const endsWithin = 15_000

const ready = async (url: string): Promise<boolean> => {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

/** Somebody else took a port between its being found free and its being used. */
const portTaken = /is in use by another program/
const tries = 3

/**
 * Starts the built gateway as a process of its own on free loopback ports, with a config made of `config` and those
 * ports, and waits until it says that it is ready. `env` is added to its environment.
 */
export const startGateway = async (
  config: Record<string, unknown>,
  env: Record<string, string> = {}
): Promise<GatewayProcess> => {
  for (let i = 1; ; i++) {
    try {
      return await startOnce(config, env)
    } catch (error) {
      if (i === tries || !portTaken.test(String(error))) throw error
    }
  }
}

const startOnce = async (config: Record<string, unknown>, env: Record<string, string>): Promise<GatewayProcess> => {
  if (!existsSync(main)) throw new Error('The gateway is not built: run `npm run build` first')
  const [port, adminPort] = (await freePorts(2)) as [number, number]
  const folder = await mkdtemp(join(tmpdir(), 'causeway-'))
  const file = join(folder, 'causeway.yaml')
  // JSON is YAML.
  const whole = {
    ...config,
    server: { ...(config.server as object | undefined), host: '127.0.0.1', port },
    admin: { host: '127.0.0.1', port: adminPort }
  }
  await writeFile(file, JSON.stringify(whole, null, 2))
  const child = startChild(process.execPath, [main, 'run', '-c', file], { env })
  const adminUrl = `http://127.0.0.1:${adminPort}`
  try {
    const deadline = Date.now() + readyWithin
    while (!(await ready(`${adminUrl}/readyz`))) {
      if (child.exited()) throw new Error(`The gateway ended (${await child.ended}):\n${child.output()}`)
      if (Date.now() > deadline) throw new Error(`Not ready within ${readyWithin} ms:\n${child.output()}`)
      await wait(20)
    }
  } catch (error) {
    child.kill('SIGKILL')
    await child.ended
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  return {
    url: (path = '/mcp') => `http://127.0.0.1:${port}${path}`,
    adminUrl,
    pid: child.pid,
    output: child.output,
    kill: child.kill,
    ended: child.ended,
    async stop() {
      try {
        child.kill('SIGTERM')
        const end = await endOf(child, endsWithin)
        if (end !== 0) throw new Error(`The gateway ended with ${end}:\n${child.output()}`)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    }
  }
}
