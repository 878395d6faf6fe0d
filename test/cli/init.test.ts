/** The starter is run as its reader would: the package beside it is this checkout, as a link. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { perform } from '../../src/cli/command.ts'
import { dependencyOf } from '../../src/cli/init.ts'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

async function init(folder: string): Promise<{ code: number; out: string; error: string }> {
  const said = { out: '', error: '' }
  const code = await perform(['init', folder], {
    out: text => {
      said.out += text
    },
    error: text => {
      said.error += text
    }
  })
  return { code, ...said }
}

/** Beside the handlers, as npm would put it; its exports are those of package.json, in src. */
function installHere(folder: string): void {
  const place = join(folder, 'node_modules/causeway')
  mkdirSync(place, { recursive: true })
  symlinkSync(join(root, 'src'), join(place, 'src'))
  const exports = { '.': './src/index.ts', './testing': './src/testing.ts' }
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name: 'causeway', type: 'module', exports }))
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)))
    .sort()

const starterFiles = ['causeway.yaml', 'handlers/greet.ts', 'package.json', 'test/greet.test.ts', 'tsconfig.json']

t.test('init writes a config that check accepts, a handler and a test that passes', async t => {
  const folder = join(t.testdir(), 'new')
  const { code, out } = await init(folder)
  t.equal(code, 0)
  t.same(filesIn(folder), starterFiles)
  for (const text of ['cd ', 'npm install\n', 'node --test', 'npx causeway']) t.ok(out.includes(text), text)
  const checked = await perform(['check', '-c', join(folder, 'causeway.yaml')], { out() {}, error() {} })
  t.equal(checked, 0)
  installHere(folder)
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap'], {
    cwd: folder,
    env: { PATH: process.env.PATH }
  })
  t.match(stdout, /# pass 1\n/)
})

t.test('its handler is served where the package is not installed beside it', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-init-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await init(folder)
  const { url } = await startGateway(t, { backends: { local: { kind: 'module', path: './handlers' } } }, folder)
  const client = await RawClient.open(url)
  const { json } = await client.call('greet', { name: 'Ada' })
  t.match(json, { result: { content: [{ text: 'Hello, Ada!' }] } })
})

t.test('init overwrites nothing: one of its files there, and none is written', async t => {
  const folder = t.testdir({ handlers: { 'greet.ts': 'mine' } })
  const { code, error } = await init(folder)
  t.equal(code, 1)
  t.equal(error, `causeway: nothing was written, for there is already ${join(folder, 'handlers/greet.ts')}\n`)
  t.same(filesIn(folder), ['handlers/greet.ts'])
})

t.test('init goes into a package that is there: its package.json stays as it is', async t => {
  const folder = t.testdir({ 'package.json': '{}' })
  const { code, out } = await init(folder)
  t.equal(code, 0)
  t.equal(readFileSync(join(folder, 'package.json'), 'utf8'), '{}')
  t.match(out, /kept +.*package\.json\n/)
  t.match(out, /npm install causeway@file:/)
  const having = t.testdir({ 'package.json': '{"dependencies":{"causeway":"1"}}' })
  t.notMatch((await init(having)).out, /npm install/)
})

t.test('the dependency is what npm installed, or the checkout', async t => {
  const layout = (spec?: string) => ({
    ...(spec === undefined ? {} : { 'package.json': `{"dependencies":{"causeway":"${spec}"}}` }),
    node_modules: { causeway: { 'package.json': '{"version":"1.2.3"}' } }
  })
  const folder = t.testdir({ a: layout('~1.2.0'), b: layout('file:causeway-1.2.3.tgz'), c: layout() })
  const from = (project: string) => dependencyOf(join(folder, project, 'node_modules/causeway'), join(folder, 'x'))
  t.equal(from('a'), '~1.2.0')
  t.equal(from('b'), 'file:../b/causeway-1.2.3.tgz')
  t.equal(from('c'), '^1.2.3')
  t.equal(dependencyOf(root, join(root, 'x/y')), 'file:../..')
})
