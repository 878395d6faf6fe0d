/**
 * What of the suite a backend cannot do by the specification. Only these checks of the scenario may fail, and one that passes
 * all the same is an error too: no reason outlives what it excuses.
 */
import { nothing, type Scenario } from './suite.ts'

export interface Excuse {
  /** Those that may fail; undefined: all of the scenario. */
  readonly checks?: readonly string[]
  readonly reason: string
}

/** By the beginning of the scenario's name. */
type Excuses = Readonly<Record<string, Excuse>>

const noTasks: Excuses = {
  'tasks-': {
    reason:
      'the fixture does not have io.modelcontextprotocol/tasks, and need not: extensions are optional (2026-07-28 ' +
      'basic/versioning, "Extension Negotiation")'
  }
}

/** Of servers that have tasks. */
const unseen: Excuses = {
  'tasks-status-notifications': {
    checks: [nothing],
    reason: 'its only check is skipped: the suite does not listen yet; test/spec/modern-task-status.test.ts does'
  }
}

/** Of servers that were written before 2026-07-28. */
const older: Excuses = {
  'input-required-result-basic-elicitation': {
    checks: ['sep-2322-elicitation-incomplete'],
    reason:
      'it wants the key "user_name", which the server chooses (2026-07-28 basic/patterns/mrtr, "InputRequests"); in ' +
      'elicitation/create an older server has no member for it (2025-11-25 client/elicitation, "Creating Elicitation ' +
      'Requests"), so that the key is the gateway\'s: input-1'
  },
  'input-required-result-ignore-extra-params': {
    checks: ['sep-2322-ignore-unexpected-params'],
    reason:
      'it answers by that key before it was asked; an older server asks while it runs, and takes an answer only to a ' +
      'request that it sent (2025-11-25 basic, "Requests", "Responses")'
  }
}

/** By revision and backend. */
export const excuses: Readonly<Record<string, Readonly<Record<string, Excuses>>>> = {
  '2026-07-28': {
    modern: unseen,
    'modern-stdio': unseen,
    'direct-modern': unseen,
    mixed: unseen,
    replicas: unseen,
    module: unseen,
    http: { ...noTasks, ...older },
    stdio: { ...noTasks, ...older },
    several: { ...noTasks, ...older }
  }
}

export interface Verdict {
  readonly word: 'ok' | 'excused' | 'not ok'
  readonly why: string
}

export function verdictOf(scenario: Scenario, revision: string, backend: string): Verdict {
  const { name, passed, failed, detail } = scenario
  const [, excuse] = Object.entries(excuses[revision]?.[backend] ?? {}).find(([start]) => name.startsWith(start)) ?? []
  if (excuse === undefined) return { word: passed ? 'ok' : 'not ok', why: detail }
  const { checks, reason } = excuse
  if (passed) return { word: 'not ok', why: `it passed (${detail}), but is excused: ${reason}` }
  if (checks !== undefined && !failed.every(id => checks.includes(id))) return { word: 'not ok', why: detail }
  return { word: 'excused', why: reason }
}
