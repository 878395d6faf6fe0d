/** What a child runs: no shell, and no more of our environment than it needs. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { GatewayError } from '../../errors.ts'
import { type EraOption, said } from '../era.ts'

export interface Program {
  /** Name of the backend, for errors. */
  readonly backend: string
  readonly command: string
  readonly args: readonly string[]
  /** Added to the minimal environment. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string | undefined
}

const inherited = ['PATH', 'HOME', 'LANG', 'USER', 'SHELL', 'TERM', 'TMPDIR']

/** Most failures are told by an event later; those that are thrown, and what is left without pipes, are rejected here. */
export function start(program: Program): ChildProcessWithoutNullStreams {
  const { backend, command, args, env, cwd } = program
  try {
    const child = spawn(command, args, {
      shell: false,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: environment(env),
      ...(cwd === undefined ? {} : { cwd })
    })
    if (child.stdin as unknown) return child
    child.on('error', () => {})
    throw new Error('too many open files')
  } catch (cause) {
    const text = `backend "${backend}": ${startFailure(command, cause as Error)}`
    throw new GatewayError('backend_unavailable', text, { backend, cause })
  }
}

function environment(configured: Readonly<Record<string, string>>): Record<string, string> {
  const env: Record<string, string> = {}
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  return { ...env, ...configured }
}

/** What kept it from starting, for people, clients among them: where it lies is nobody's business. */
export function startFailure(path: string, error: NodeJS.ErrnoException): string {
  const command = basename(path)
  if (error.code === 'ENOENT') return `cannot start "${command}": no such program, or no such working directory`
  if (error.code === 'EACCES') return `cannot start "${command}": it may not be executed`
  return `cannot start "${command}": ${error.code ?? error.message}`
}

/** Everything that makes the child another one; the environment too, as it carries what the child may see. */
export function identityOf({ command, args, env, cwd }: Program, scope: string, era: EraOption | undefined): string {
  const facets = ['stdio', command, args, Object.entries(env).sort(), cwd ?? null, scope, ...said(era)]
  return createHash('sha256').update(JSON.stringify(facets)).digest('hex')
}
