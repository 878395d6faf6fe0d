/** Tries the properties of a target in turn, for some time or some rounds, each round with a seed that follows from the first. */
import fc from 'fast-check'
import type { Target } from './target.ts'

export interface Limits {
  readonly seed: number
  /** Until this much time has passed. */
  readonly seconds?: number | undefined
  /** Inputs for each property in a round, and how many rounds at most. */
  readonly runs?: number
  readonly rounds?: number
  /** One property alone, and where in its inputs to begin: to see a failure again. */
  readonly property?: string | undefined
  readonly path?: string | undefined
}

export interface Outcome {
  readonly inputs: number
  /** What went wrong, with what it takes to see it again. */
  readonly failure?: string
}

/** Few, so that sizes grow from small to large many times. */
const usualRuns = 300

export async function run(name: string, target: Target, limits: Limits): Promise<Outcome> {
  const { seed, seconds = Number.POSITIVE_INFINITY, runs = usualRuns, rounds = Number.POSITIVE_INFINITY, path } = limits
  const end = performance.now() + seconds * 1_000
  const close = await target.open?.()
  let inputs = 0
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [title, property] of Object.entries(target.properties)) {
        if (limits.property !== undefined && limits.property !== title) continue
        const own = (seed + round) | 0
        const details = await fc.check(property, { seed: own, numRuns: runs, ...(path === undefined ? {} : { path }) })
        inputs += details.numRuns
        if (details.failed) {
          const again = `--target ${name} --property "${title}" --seed ${own} --path "${details.counterexamplePath}"`
          const error = details.errorInstance instanceof Error ? `\n${details.errorInstance.stack}` : ''
          return {
            inputs,
            failure: `${title}\nagain: npm run fuzz -- ${again}\n${fc.defaultReportMessage(details)}${error}`
          }
        }
        if (performance.now() >= end) return { inputs }
      }
      if (path !== undefined) break
    }
    return { inputs }
  } finally {
    await close?.()
  }
}
