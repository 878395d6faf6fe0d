/** docs/conformance.md has what the runs are and what they excuse, and `.ci/run` has all of them. */
import t from 'tap'
import { excuses } from '../conformance/excused.ts'
import { starts } from '../conformance/served.ts'
import { readText, tablesOf } from '../helpers/docs.ts'

const page = await readText('docs/conformance.md')
const tables = tablesOf(page)
const rowsOf = (head: string) => tables.find(table => table.head[0] === head)?.rows ?? []
const codes = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)

/** Of the gateway: what a fixture can do by itself is another question. */
const behind = Object.keys(starts).filter(name => !name.startsWith('direct'))

t.test('every run has its line, on the page and in .ci/run, in both revisions', async t => {
  t.same(
    rowsOf('`--backend`')
      .flatMap(([cell]) => codes(cell))
      .toSorted(),
    behind.toSorted()
  )
  const ci = await readText('.ci/run')
  const [, revisions = ''] = /for revision in (.*); do/.exec(ci) ?? []
  const [, backends = ''] = /for backend in (.*); do/.exec(ci) ?? []
  t.same(revisions.split(' '), ['2025-11-25', '2026-07-28'])
  t.same(backends.split(' ').toSorted(), behind.toSorted())
})

t.test('the page has every excuse, for the backends that have it, and no other', async t => {
  t.same(Object.keys(excuses), ['2026-07-28'])
  const made = new Map<string, string[]>()
  for (const [backend, of] of Object.entries(excuses['2026-07-28']!)) {
    if (!behind.includes(backend)) continue
    for (const [scenario, { reason }] of Object.entries(of)) {
      const key = `${scenario} | ${reason}`
      made.set(key, [...(made.get(key) ?? []), backend])
    }
  }
  const told = rowsOf('scenario').map(([scenario, backends, why]) => [
    `${codes(scenario)[0]?.replace('*', '')} | ${why}`,
    codes(backends).toSorted()
  ])
  t.same(told.toSorted(), [...made].map(([key, backends]) => [key, backends.toSorted()]).toSorted())
})
