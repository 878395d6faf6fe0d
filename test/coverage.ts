/**
 * `coverage.ts LEAST`: reads what the test run left behind and exits with 1 when less than LEAST percent of the lines of
 * src/ ran. A source file that no test loaded counts with all of its lines, unless there is nothing in it but types.
 */
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'

interface Lines {
  readonly total: number
  readonly covered: number
}

const root = path.join(import.meta.dirname, '..')
const least = Number(process.argv[2] ?? 95)
const summary: Record<string, { lines: Lines }> = JSON.parse(
  readFileSync(path.join(root, '.tap/report/coverage-summary.json'), 'utf8')
)

/** Lines that are left when types and comments are gone. */
const codeLines = (source: string): number =>
  stripTypeScriptTypes(source)
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*|export \{\s*\};?/g, '')
    .split('\n')
    .filter(line => /[\w})]/.test(line)).length

const linesOf = (file: string): Lines =>
  summary[file]?.lines ?? { total: codeLines(readFileSync(file, 'utf8')), covered: 0 }

const files = globSync('src/**/*.ts', { cwd: root }).map(file => ({ file, ...linesOf(path.join(root, file)) }))
const total = files.reduce((sum, file) => sum + file.total, 0)
const covered = files.reduce((sum, file) => sum + file.covered, 0)
const percent = total === 0 ? 0 : (100 * covered) / total
if (percent < least) {
  const worst = files.sort((a, b) => b.total - b.covered - (a.total - a.covered)).slice(0, 15)
  for (const { file, total, covered } of worst) console.log(`${file}: ${total - covered} of ${total} lines never ran`)
}
console.log(`${percent.toFixed(2)} % of ${total} lines of src/ ran, at least ${least} % should`)
process.exitCode = percent >= least ? 0 : 1
