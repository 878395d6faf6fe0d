import { glob } from 'node:fs/promises'
import t from 'tap'
import { help } from '../../src/cli/arguments.ts'
import { exit } from '../../src/cli/exit.ts'
import { usualPlaces } from '../../src/config/load.ts'
import { codeIn, readText, root, tablesOf } from '../helpers/docs.ts'
import { type Key, kinds, schemaKeys } from '../helpers/schema-keys.ts'

const page = await readText('docs/configuration.md')

const fallbackCell = ({ fallback, required }: Key): string => {
  if (required) return 'required'
  if (fallback === undefined) return 'none'
  if (Array.isArray(fallback) && fallback.length > 0) return fallback.map(item => `\`${item}\``).join(', ')
  return `\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``
}

const kindsCell = ({ kinds: some }: Key): readonly string[] => {
  if (some === undefined) return []
  return [some.length === kinds.length ? 'all' : some.join(', ')]
}

/** The words of each kind's own constant, in the order of the schema. */
const typeCell = (key: Key): string =>
  key.path === 'backends.<name>.kind' ? '`http`, `sse`, `stdio` or `module`' : key.type

t.test(
  'docs/configuration.md has a row for every key of the schema, with its type and its default, and no other',
  async t => {
    const rows = tablesOf(page)
      .filter(({ head }) => head[0] === 'key')
      .flatMap(({ rows }) => rows)
    for (const row of rows) t.ok((row.at(-1) ?? '').length > 0, `${row[0]} has a meaning`)
    const written = rows.map(row => row.slice(0, -1)).toSorted()
    const expected = schemaKeys()
      .map(key => [`\`${key.path}\``, ...kindsCell(key), typeCell(key), fallbackCell(key)])
      .toSorted()
    t.same(written, expected)
  }
)

t.test('the walk of the schema finds keys of every depth', async t => {
  const paths = schemaKeys().map(({ path }) => path)
  for (const path of ['server.limits.body', 'admin', 'admin.port', '$schema', 'backends.<name>.kind']) {
    t.ok(paths.includes(path), path)
  }
  t.ok(paths.includes('routes.<path>.protocol.versions'))
  t.ok(paths.includes('mcpServers.<name>.type'))
})

t.test('docs/configuration.md has the exit codes, the commands and the usual places', async t => {
  const tables = tablesOf(page)
  const codes = tables.find(({ head }) => head[0] === 'exit code')?.rows.map(([code]) => Number(code))
  t.same(codes, Object.values(exit))
  for (const code of Object.values(exit)) t.match(help, new RegExp(`\\b${code} `), `--help tells ${code}`)
  for (const place of usualPlaces) t.ok(page.includes(`\`${place}\``), place)
  const commands = tables.find(({ head }) => head[0] === 'command')?.rows.map(([command]) => codeIn(command))
  t.same(commands, [
    'causeway [run] [-c FILE]',
    'causeway check [-c FILE]',
    'causeway init [DIR]',
    'causeway schema',
    'causeway --help',
    'causeway --version'
  ])
})

t.test('docs/configuration.md names the environment that programs inherit', async t => {
  const sources: string[] = []
  for await (const file of glob('src/backends/stdio/*.ts', { cwd: root })) sources.push(await readText(file))
  const [, list = ''] = /const inherited = \[(.*?)\]/s.exec(sources.join('\n')) ?? []
  const names = [...list.matchAll(/'(\w+)'/g)].map(([, name]) => `\`${name}\``)
  t.ok(names.length > 3)
  t.ok(page.includes(names.join(', ')), names.join(', '))
})
