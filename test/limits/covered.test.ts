/** Every bound of docs/limits.md that can be set has a test in this folder whose title begins with it. */
import { glob } from 'node:fs/promises'
import t from 'tap'
import { codeIn, readText, root, tablesOf } from '../helpers/docs.ts'

t.test('every bound that can be set is driven to its edge and one past', async t => {
  const tables = tablesOf(await readText('docs/limits.md'))
  const keys = tables.filter(({ head }) => head[2] === 'option').flatMap(({ rows }) => rows.map(row => codeIn(row[2])))
  t.ok(keys.length > 20)
  const titles: string[] = []
  for await (const file of glob('test/limits/*.test.ts', { cwd: root })) {
    for (const [, title = ''] of (await readText(file)).matchAll(/\bt\.test\(\s*['`]([^'`]+)['`]/g)) titles.push(title)
  }
  for (const key of keys)
    t.ok(
      titles.some(title => title.startsWith(`${key}: `)),
      `${key} has a test`
    )
})
