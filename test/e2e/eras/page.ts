/** docs/eras.md: what ran, as tables. */
import { readFileSync } from 'node:fs'
import type { Feature } from './feature.ts'
import { areas, type Column, type Outcome } from './matrix.ts'
import { type BackendName, backends, type ClientName, clients } from './names.ts'
import { type Reason, reasons } from './reasons.ts'

export const page = 'docs/eras.md'

/** By client and backend. */
export type Columns = ReadonlyMap<ClientName, ReadonlyMap<BackendName, Column>>

const numberOf = (why: Reason): number => Object.keys(reasons).indexOf(why) + 1

const cell = (outcome: Outcome | undefined): string => {
  if (outcome !== undefined && 'works' in outcome) return 'yes'
  return outcome !== undefined && 'why' in outcome ? `[no (${numberOf(outcome.why)})](#why-not)` : 'FAILS'
}

const versionOf = (name: string): string => {
  const path = new URL(`../../../node_modules/@modelcontextprotocol/${name}/package.json`, import.meta.url)
  return JSON.parse(readFileSync(path, 'utf8')).version
}

const says: Readonly<Record<ClientName, string>> = {
  'SDK v1': 'the official TypeScript SDK v1, 2025-11-25',
  'SDK v2, legacy': 'the official TypeScript SDK v2 as it speaks 2025-11-25',
  'SDK v2, modern': 'the official TypeScript SDK v2, held to 2026-07-28'
}

function table(client: ClientName, columns: Columns): string {
  const of = columns.get(client)!
  const row = (feature: Feature): string =>
    `| ${feature.name} | ${backends.map(backend => cell(of.get(backend)!.get(feature))).join(' | ')} |`
  const rows = areas.flatMap(({ name, features }) => [
    `| **${name}** |${' |'.repeat(backends.length)}`,
    ...features.map(row)
  ])
  return [
    `## Clients: ${client}`,
    '',
    `A client of ${says[client]}.`,
    '',
    `| feature | ${backends.join(' | ')} |`,
    `|---|${'---|'.repeat(backends.length)}`,
    ...rows
  ].join('\n')
}

/** The whole page. */
export function written(columns: Columns): string {
  const outcomes = [...columns.values()].flatMap(of => [...of.values()].flatMap(column => [...column.values()]))
  const works = outcomes.filter(outcome => 'works' in outcome).length
  return `<!-- Written by node test/e2e/eras/generate.ts from what ran. -->
# Eras

Revision 2026-07-28 of the protocol has no sessions and no requests of servers; those before it have both. Clients and servers of
both eras meet at the gateway, and each is given what it knows. This page is the proof: every feature, by every kind of client,
at every kind of backend, run with the official SDKs (v1 ${versionOf('sdk')}, v2 ${versionOf('server')}) through one gateway by
[eras.test.ts](../test/e2e/eras.test.ts). The test fails when a cell does, and when this page is not what ran. What cannot work is
tried too, and the test fails when it does. [eras-together.test.ts](../test/e2e/eras-together.test.ts) does the same where all
five backends are one server, behind one route (CAUSEWAY_LONG=1: for every kind of client).
Without the gateway these clients and servers understand nothing of each other
across the eras.

${works} of ${outcomes.length} cells work; the others are not in the specification, with [the clause](#why-not).

- **SDK v1** servers speak 2025-11-25, **SDK v2** servers 2026-07-28 alone, over Streamable HTTP and as programs (stdio).
- **module**: in-process [handlers](handlers.md), written once for both eras.

${clients.map(client => table(client, columns)).join('\n\n')}

## Why not

${Object.values(reasons)
  .map((reason, index) => `${index + 1}. ${reason}`)
  .join('\n')}
`
}
