import { parseArgs } from 'node:util'
import { verdictOf } from './excused.ts'
import { starts } from './served.ts'
import { runSuite } from './suite.ts'

/**
 * `run.ts [--backend NAME] [--revision DATE]`: the official conformance suite in a revision (2025-11-25 unless told
 * otherwise) against the built gateway with our fixture behind it (over http unless told otherwise), or against the fixture
 * itself (direct). The names are in served.ts. One line per scenario, with the reason where a backend is excused; exits with
 * 0 when all others passed, with 1 when one did not or is missing.
 */

/** How many scenarios there are, scored and unscored. */
const expected: Readonly<Record<string, number>> = { '2025-11-25': 33, '2026-07-28': 50 }

const { values } = parseArgs({
  options: { backend: { type: 'string', default: 'http' }, revision: { type: 'string', default: '2025-11-25' } }
})
const { revision, backend } = values
const start = starts[backend]
if (start === undefined || expected[revision] === undefined) {
  const names = Object.keys(start === undefined ? starts : expected)
  console.error(`Unknown ${start === undefined ? 'backend' : 'revision'}: one of ${names.join(', ')}`)
  process.exit(2)
}

const served = await start(revision)
try {
  const scenarios = await runSuite(served.url, revision)
  const verdicts = scenarios.map(scenario => ({ name: scenario.name, ...verdictOf(scenario, revision, backend) }))
  for (const { name, word, why } of verdicts) console.log(`${word.padEnd(8)}${name} (${why})`)
  const [passed, excused, failed] = (['ok', 'excused', 'not ok'] as const).map(
    word => verdicts.filter(verdict => verdict.word === word).length
  )
  if (scenarios.length !== expected[revision]) {
    console.log(`${expected[revision]} scenarios expected, ${scenarios.length} ran`)
  }
  if (excused !== 0) console.log(`${excused} more are excused`)
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 && scenarios.length === expected[revision] ? 0 : 1
} finally {
  await served.stop()
}
