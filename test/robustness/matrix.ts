/** Which case is proved by which test: read from the titles of the tests, written to docs/robustness.md. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
export const page = 'docs/robustness.md'

export interface Case {
  /** As the titles of tests name it. */
  readonly id: string
  readonly what: string
  /** What of it does not apply to this release. */
  readonly except?: string
  /** Why none of it applies to this release. */
  readonly notHere?: string
}

export interface Area {
  readonly title: string
  /** How the names of its tests begin, where ids mean something else in others. */
  readonly within?: readonly string[]
  readonly cases: readonly Case[]
}

export const areas: readonly Area[] = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8'))

/** The first argument of a call of `test`, when it is a text. */
const titled = /\btest\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/gs

/** The ids in a title: `B1` is not in `B11`, `B1.2` or `%B1`. */
const named = /(?<![\w%#-])(?:[A-Z][A-Z\d]{2}-\d\d|[A-Z]\d{1,2})(?![\w.-]\d|\w)/g

/** Whether a test of this file means the case when it names the id. */
const means = (id: string, file: string): boolean => {
  const within = areas.find(({ cases }) => cases.some(one => one.id === id))?.within
  return within === undefined || within.some(start => file.startsWith(start))
}

/** Files whose tests name an id in their titles, by id. */
export function testsById(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>()
  for (const file of globSync('test/**/*.ts', { cwd: root }).sort()) {
    for (const [, , title = ''] of readFileSync(root + file, 'utf8').matchAll(titled)) {
      for (const [id] of title.matchAll(named)) {
        if (!means(id, file)) continue
        if (!found.has(id)) found.set(id, new Set())
        found.get(id)!.add(file)
      }
    }
  }
  return new Map([...found].map(([id, files]) => [id, [...files]]))
}

function row({ id, what, except, notHere }: Case, files: readonly string[]): string {
  const tests = files.map(file => `[${file.slice('test/'.length)}](../${file})`).join('<br>')
  const status = notHere !== undefined ? `not in this release: ${notHere}` : files.length === 0 ? '**open**' : 'proved'
  return `| ${id} | ${what} | ${tests} | ${except === undefined ? status : `${status}; except: ${except}`} |`
}

/** The whole page. */
export function matrix(): string {
  const tests = testsById()
  const tables = areas.map(
    ({ title, cases }) =>
      `## ${title}\n\n| case | what | tests | status |\n|---|---|---|---|\n` +
      cases.map(one => `${row(one, tests.get(one.id) ?? [])}\n`).join('')
  )
  const all = areas.flatMap(({ cases }) => cases)
  const proved = all.filter(({ id }) => tests.has(id)).length
  return `<!-- Written by node test/robustness/generate.ts from test/robustness/cases.json and the titles of the tests. -->
# Robustness

What is known to break gateways of this kind, each with the tests that try it here. A case has one id, which the titles of its
tests name; a test fails when a case has none, or when this page is not what the tests say.

${proved} of ${all.length} cases are proved; the others are for what this release does not have. Cases of authorization
come with it.

${tables.join('\n')}`
}
