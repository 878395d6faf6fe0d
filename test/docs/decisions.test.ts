import { access } from 'node:fs/promises'
import t from 'tap'
import { readText, root, tablesOf } from '../helpers/docs.ts'

const tables = tablesOf(await readText('docs/decisions.md')).filter(({ head }) => head[0] === 'question')
const filesIn = (cell = ''): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, file]) => file!)

t.test('every decision names the tests that pin it, and they exist', async t => {
  t.ok(tables.length > 5)
  for (const [question = '', answer = '', tests] of tables.flatMap(({ rows }) => rows)) {
    t.ok(answer.length > 0, question)
    t.ok(filesIn(tests).length > 0, `${question} is pinned`)
    for (const file of filesIn(tests)) {
      t.match(file, /^test\/.*\.test\.ts$/, question)
      await t.resolves(access(new URL(file, root)), file)
    }
  }
})
