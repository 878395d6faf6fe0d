import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { endOf, startChild } from './child.ts'
import { freePorts } from './ports.ts'

/** The servers that the protocol's maintainers publish, as npm installed them here. */
const program = (name: string) =>
  fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url))

/** What starts a server that talks over stdio. */
export interface Command {
  readonly command: string
  readonly args: string[]
  readonly env: Record<string, string>
}

const node = (args: string[], env: Record<string, string> = {}): Command => ({ command: process.execPath, args, env })

export const everythingOverStdio = () => node([program('server-everything'), 'stdio'])

export const filesystem = (...folders: string[]) => node([program('server-filesystem'), ...folders])

export const memory = (file: string) => node([program('server-memory')], { MEMORY_FILE_PATH: file })

export const sequentialThinking = () => node([program('server-sequential-thinking')])

export interface RunningServer {
  readonly url: string
  output(): string
  stop(): Promise<void>
}

const answers = async (url: string): Promise<boolean> => {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) })
    await response.arrayBuffer()
    return true
  } catch {
    return false
  }
}

/** server-everything over Streamable HTTP on a free port; resolves once it answers. */
export const startEverythingOverHttp = async (): Promise<RunningServer> => {
  const [port] = (await freePorts(1)) as [number]
  const url = `http://127.0.0.1:${port}/mcp`
  const child = startChild(process.execPath, [program('server-everything'), 'streamableHttp'], {
    env: { PORT: String(port) }
  })
  const deadline = Date.now() + 15_000
  while (!(await answers(url))) {
    if (child.exited() || Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`server-everything did not start:\n${child.output()}`)
    }
    await wait(20)
  }
  return {
    url,
    output: child.output,
    async stop() {
      child.kill('SIGINT')
      await endOf(child, 5000)
    }
  }
}
