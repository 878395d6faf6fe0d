import { glob } from 'node:fs/promises'
import t from 'tap'
import { amountOf, codeIn, readText, root, tablesOf } from '../helpers/docs.ts'
import { schemaKeys } from '../helpers/schema-keys.ts'

const tables = tablesOf(await readText('docs/limits.md'))
const rowsOf = (column: string) => tables.filter(({ head }) => head[2] === column).flatMap(({ rows }) => rows)
const fixed = rowsOf('where').map(([what = '', bound = '', where = '']) => {
  const [, name = '', file = ''] = /^`([\w.]+)` in `([\w/.-]+)`$/.exec(where) ?? []
  return { what, bound, name, file }
})

/** `4MiB`, `1s`, 64, `off` and the like as an amount; NaN for what is none. */
const amountOfFallback = (fallback: unknown): number =>
  typeof fallback === 'number' ? fallback : amountOf(String(fallback).replace(/m$/, 'min'))

/** What a constant is set to in a text: `const name = 4_096`, `name: 4_096`, `{ ..., last: 4_096 }`. NaN when it is not there. */
const constantIn = (source: string, name: string): number => {
  const [outer = '', inner] = name.split('.')
  const product = '([\\d_]+(?: \\* [\\d_]+| \\*\\* [\\d_]+)*)'
  const pattern =
    inner === undefined ? `\\b${outer}(?: =|:) ${product}\\b` : `\\b${outer} = \\{[^}]*\\b${inner}: ${product}\\b`
  const fallback = `\\b${outer} \\?\\? ${product}\\b`
  const [, text] = new RegExp(pattern).exec(source) ?? new RegExp(fallback).exec(source) ?? []
  if (text === undefined) return Number.NaN
  return text
    .split(' * ')
    .map(factor => factor.split(' ** ').map(part => Number(part.replaceAll('_', ''))))
    .reduce((result, [base = 0, power = 1]) => result * base ** power, 1)
}

t.test('every bound that can be set is in docs/limits.md, with the default of the schema', async t => {
  const bounds = schemaKeys().filter(({ path, type }) => /duration|size|whole/.test(type) && !path.endsWith('.port'))
  const written = rowsOf('option').map(([, fallback = '', option]) => ({ path: codeIn(option), fallback }))
  t.same(written.map(({ path }) => path).toSorted(), bounds.map(({ path }) => path).toSorted())
  for (const { path, fallback } of bounds) {
    const cell = written.find(row => row.path === path)?.fallback ?? ''
    if (fallback === 'off') t.equal(cell, 'off', path)
    else t.equal(amountOf(cell), amountOfFallback(fallback), `${path}: ${cell}`)
  }
})

t.test('every fixed bound in docs/limits.md is the named constant in the named file', async t => {
  t.ok(fixed.length > 50)
  for (const { what, bound, name, file } of fixed) {
    if (!t.ok(name !== '' && file !== '', `${what}: \`constant\` in \`file\``)) continue
    t.equal(amountOf(bound), constantIn(await readText(file), name), `${what}: ${name} in ${file}`)
  }
})

t.test('every constant in src/ whose name says that it is a bound is in docs/limits.md', async t => {
  const listed = new Set(fixed.map(({ name, file }) => `${file} ${name}`))
  for await (const file of glob('src/**/*.ts', { cwd: root })) {
    const source = await readText(file)
    for (const [, name] of source.matchAll(/^(?:export )?const ((?:max|most|silent)\w*|\w*[lL]imit) = [\d_]/gm)) {
      t.ok(listed.has(`${file} ${name}`), `docs/limits.md has a row for ${name} in ${file}`)
    }
  }
})

t.test('the amounts of the page are read as they are meant', async t => {
  t.equal(amountOf('2.5 s'), 2500)
  t.equal(amountOf('10,000'), 10_000)
  t.equal(amountOf('16 KiB'), 16_384)
  t.ok(Number.isNaN(amountOf('some')))
  t.equal(constantIn('const a = 8 * 1024 * 1024', 'a'), 8 * 1024 ** 2)
  t.equal(constantIn('const a = { first: 1, most: 60_000 }', 'a.most'), 60_000)
  t.equal(constantIn('f({ size: 16_384, other })', 'size'), 16_384)
  t.equal(constantIn('g(options.patienceMs ?? 250)', 'patienceMs'), 250)
  t.ok(Number.isNaN(constantIn('const other = 1', 'a')))
})
