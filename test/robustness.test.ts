import t from 'tap'
import { readText } from './helpers/docs.ts'
import { areas, matrix, page, testsById } from './robustness/matrix.ts'

const cases = areas.flatMap(({ cases }) => cases)

t.test('every case has a test that names it, or a reason why it does not apply', t => {
  const tests = testsById()
  t.ok(cases.length > 100)
  t.equal(new Set(cases.map(({ id }) => id)).size, cases.length, 'each case stands once')
  for (const { id, what, notHere } of cases) t.equal(tests.has(id), notHere === undefined, `${id}: ${what}`)
  t.end()
})

t.test(`${page} is what the tests say; node test/robustness/generate.ts writes it anew`, async t => {
  t.equal(await readText(page), matrix())
})
