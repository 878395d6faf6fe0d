import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readText, root } from '../helpers/docs.ts'

const page = await readText('docs/architecture.md')
const there = (path: string): boolean => existsSync(fileURLToPath(new URL(path, root)))

t.test('docs/architecture.md names nothing of the tree that is not there', async t => {
  const named = [...page.matchAll(/`([a-z-]+\/[a-z/-]*(?:\.ts)?)`/g)]
    .map(([, path]) => path!)
    .filter(path => path !== 'causeway/testing')
  t.ok(named.length > 30)
  const lost = named.filter(
    path => !['src/', 'src/gateway/', ''].some(base => there(base + path) || there(`${base}${path}.ts`))
  )
  t.same(lost, [])
})

t.test('docs/architecture.md tells of everything that src/ has', async t => {
  const table = /^\| folder .*?\n\n/ms.exec(page)?.[0] ?? ''
  const untold = readdirSync(fileURLToPath(new URL('src', root)), { withFileTypes: true })
    .map(entry => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter(name => !table.includes(`\`${name}\``))
  t.same(untold, [])
})
