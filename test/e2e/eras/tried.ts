import type { Test } from 'tap'
import type { Column } from './matrix.ts'

/** A test of a column: each cell is one assertion. */
export async function tried(t: Test, title: string, run: () => Promise<Column>): Promise<Column> {
  let column: Column = new Map()
  await t.test(title, async t => {
    column = await run()
    for (const [{ name }, outcome] of column) {
      if (!('wrong' in outcome)) t.pass(name)
      else t.fail(name, { found: outcome.wrong instanceof Error ? outcome.wrong.stack : outcome.wrong })
    }
  })
  return column
}
