/** Keeps a check from stalling the event loop: schemas of authors meet values of strangers. */
import { createContext, Script } from 'node:vm'
import type { JsonSchema } from './schema.ts'

/** Milliseconds that one check may take. */
const limit = 100

const room = createContext({ run: undefined as (() => unknown) | undefined })
const script = new Script('run()')

/** Runs it under a time limit; undefined when that was not enough. Costs 0.15 ms: for schemas where time can get out of hand. */
export function guarded<T>(run: () => T): T | undefined {
  room.run = run
  try {
    return script.runInContext(room, { timeout: limit }) as T
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined
    throw error
  } finally {
    room.run = undefined
  }
}

const risky = new Set(['patternProperties', '$ref', '$dynamicRef', '$recursiveRef'])

/** Whether the time of a check can grow faster than the value: patterns, pairwise comparison, references. */
export const isRisky = (schema: JsonSchema): boolean => mentions(schema)

const mentions = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(
    ([key, member]) =>
      risky.has(key) ||
      (key === 'uniqueItems' && member === true) ||
      (key === 'pattern' && typeof member === 'string' && !isLinear(member)) ||
      mentions(member)
  )

/** A pattern without repetition, or anchored with one and no alternatives: `^[a-z0-9-]+$`. */
function isLinear(pattern: string): boolean {
  const repetitions = pattern.match(/[*+]|\{\d+,\d*\}/g)?.length ?? 0
  return repetitions === 0 || (repetitions === 1 && pattern.startsWith('^') && !/[|()]/.test(pattern))
}
