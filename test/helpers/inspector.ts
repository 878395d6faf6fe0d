/** The command line of the MCP Inspector, as npm installed it here. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endOf, startChild } from './child.ts'

const launcher = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url)
)

const endsWithin = 30_000

export interface Inspected {
  readonly code: number | string
  /** What it printed, as JSON when it is. */
  readonly result: any
  readonly output: string
}

/** One method against a server over Streamable HTTP; resolves at the end of the process. It has a home of its own. */
export async function inspect(url: string, method: string, ...args: string[]): Promise<Inspected> {
  const home = await mkdtemp(join(tmpdir(), 'causeway-inspector-'))
  try {
    const target = ['--cli', '--quiet', '--transport', 'http', '--server-url', url]
    const child = startChild(process.execPath, [launcher, ...target, '--method', method, ...args], {
      env: { HOME: home, NO_COLOR: '1' }
    })
    child.endInput()
    const code = await endOf(child, endsWithin)
    const output = child.output()
    return { code, result: parsed(output), output }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
