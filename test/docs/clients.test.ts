import t from 'tap'
import { type ErrorCode, errorTable } from '../../src/errors.ts'
import { codeIn, readText, tablesOf } from '../helpers/docs.ts'

const page = await readText('docs/clients.md')

t.test(
  'the statuses in docs/clients.md are those of the error table, and none with a status of its own is left out',
  async t => {
    const rows = tablesOf(page).find(({ head }) => head[0] === 'request')?.rows ?? []
    const refusals = rows.filter(([, , reason]) => reason !== '')
    for (const [what = '', status, reason] of refusals) {
      t.equal(Number(status), errorTable[codeIn(reason) as ErrorCode]?.status, what)
    }
    // Faults of ours, and what clients of these revisions, or of one instance in memory, do not meet.
    const rare = ['internal', 'overloaded', 'store']
    const expected = Object.entries(errorTable).filter(([code, { status }]) => status !== 200 && !rare.includes(code))
    t.same(refusals.map(([, , reason]) => codeIn(reason)).toSorted(), expected.map(([code]) => code).toSorted())
  }
)

t.test('docs/clients.md names only options and codes that exist', async t => {
  const keys = JSON.parse(await readText('config/causeway.schema.json')) as { properties: object }
  for (const [, option = ''] of page.matchAll(
    /`((?:server|sessions|streams|input|protocolVersion)\.[\w.]+)(?::[^`]*)?`/g
  )) {
    let found: unknown = keys
    for (const key of option.split('.')) {
      found = (found as { properties?: Record<string, unknown> } | undefined)?.properties?.[key]
    }
    t.ok(found, option)
  }
})
