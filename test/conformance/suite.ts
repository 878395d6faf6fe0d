import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { endOf, startChild } from '../helpers/child.ts'

export interface Scenario {
  readonly name: string
  readonly passed: boolean
  /** Ids of the checks that did not pass. */
  readonly failed: readonly string[]
  /** `3 checks`, or what went wrong. */
  readonly detail: string
}

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
}

const wholeSuiteWithin = 180_000
const oneScenarioWithin = 60_000

const program = () => {
  const manifest = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')
  return join(dirname(manifest), 'dist', 'index.js')
}

/** In place of an id: no check said that it passed, and none that it failed. */
export const nothing = 'nothing'

/** Stricter than the suite: a warning counts as a failure, and a scenario that checked nothing did not pass. */
const judge = (name: string, checks: readonly Check[]): Scenario => {
  const bad = checks.filter(check => check.status === 'FAILURE' || check.status === 'WARNING')
  const good = checks.filter(check => check.status === 'SUCCESS')
  if (bad.length > 0) {
    const detail = bad.map(check => `${check.status} ${check.id}: ${check.errorMessage ?? ''}`).join('; ')
    return { name, passed: false, failed: bad.map(({ id }) => id), detail }
  }
  return good.length > 0
    ? { name, passed: true, failed: [], detail: `${good.length} checks` }
    : { name, passed: false, failed: [nothing], detail: 'no check succeeded' }
}

/**
 * Runs every server scenario that the official suite has for a revision, the unscored ones too, against a server that
 * listens, and gives the results by name. The suite writes a folder `server-<scenario>-<time>` for each.
 */
export const runSuite = async (url: string, revision: string): Promise<Scenario[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-conformance-'))
  try {
    const suite = startChild(process.execPath, [
      program(),
      'server',
      '--url',
      url,
      '--requirements',
      revision,
      '-o',
      folder
    ])
    suite.endInput()
    await endOf(suite, wholeSuiteWithin)
    const scenarios: Scenario[] = []
    for (const entry of await readdir(folder, { recursive: true })) {
      if (!entry.endsWith('checks.json')) continue
      const name = dirname(entry)
        .replace(/^server-/, '')
        .replace(/-\d{4}-\d\d-\d\dT.*$/, '')
      scenarios.push(judge(name, JSON.parse(await readFile(join(folder, entry), 'utf8'))))
    }
    if (scenarios.length === 0) throw new Error(`The suite wrote no results:\n${suite.output()}`)
    return scenarios.sort((a, b) => a.name.localeCompare(b.name))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What `client.ts` prints when nothing surprised it. */
export const driven = 'driven'

/** Runs one client scenario of a revision: the suite starts its server and runs the command with its URL. */
export const runClientScenario = async (command: string, name: string, revision: string): Promise<Scenario> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-conformance-'))
  try {
    const suite = startChild(process.execPath, [
      program(),
      'client',
      '--command',
      command,
      '--scenario',
      name,
      '--spec-version',
      revision,
      '-o',
      folder
    ])
    suite.endInput()
    await endOf(suite, oneScenarioWithin)
    const [results] = await readdir(folder)
    if (results === undefined) throw new Error(`The suite wrote no results:\n${suite.output()}`)
    const read = (file: string): Promise<string> => readFile(join(folder, results, file), 'utf8')
    const scenario = judge(name, JSON.parse(await read('checks.json')))
    // The suite forgives clients that fail where one may; ours may not.
    if (!scenario.passed || (await read('stdout.txt')).trim().endsWith(driven)) return scenario
    return { name, passed: false, failed: ['client'], detail: `the client failed: ${await read('stderr.txt')}` }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
