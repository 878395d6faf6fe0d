import { fileURLToPath } from 'node:url'
import { runClientScenario } from './suite.ts'

/**
 * `run-clients.ts [SCENARIO...]`: the scenarios that the official suite has for clients (authorization aside), with the
 * built gateway as the client: see client.ts. All of them unless some are named. One line for each; exits with 0 when all
 * of them passed.
 */

const command = `"${process.execPath}" "${fileURLToPath(new URL('client.ts', import.meta.url))}"`

/** With the revision that the scenario's server speaks. */
const scenarios: readonly (readonly [name: string, revision: string])[] = [
  ['initialize', '2025-11-25'],
  ['tools_call', '2025-11-25'],
  ['elicitation-sep1034-client-defaults', '2025-11-25'],
  ['json-schema-2020-12-preservation', '2025-11-25'],
  ['sse-retry', '2025-11-25'],
  ['tools_call', '2026-07-28'],
  ['request-metadata', '2026-07-28'],
  ['sep-2322-client-request-state', '2026-07-28'],
  ['http-standard-headers', '2026-07-28'],
  ['http-custom-headers', '2026-07-28'],
  ['http-invalid-tool-headers', '2026-07-28'],
  ['json-schema-ref-no-deref', '2026-07-28'],
  ['json-schema-2020-12-preservation', '2026-07-28']
]

const wanted = process.argv.slice(2)
let passed = 0
let failed = 0
for (const [name, revision] of scenarios) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const scenario = await runClientScenario(command, name, revision)
  console.log(`${scenario.passed ? 'ok    ' : 'not ok'} ${name}, ${revision} (${scenario.detail})`)
  if (scenario.passed) passed++
  else failed++
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
