/** biome-ignore-all lint/suspicious/noTemplateCurlyInString: configs have them */
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { find, load } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problem.ts'

const backend = 'backends: { a: { kind: http, url: "http://a/" } }\n'

t.test('a config is read, its module paths relative to its own folder', async t => {
  const folder = t.testdir({ 'x.yaml': '\uFEFFbackends: { a: { kind: module, path: ../handlers } }' })
  const { config } = await load(join(folder, 'x.yaml'))
  t.match(config.backends, [{ path: join(folder, '../handlers') }])
})

t.test(
  'variables come from the environment, secrets from files relative to the config, without their last newline',
  async t => {
    const folder = t.testdir({
      'x.yaml':
        'backends: { a: { kind: http, url: "http://a/", headers: { A: "${A}", B: "${file:b}", C: "${file:c}" } } }',
      b: 'two\r\n',
      c: 'three\n'
    })
    const { config } = await load(join(folder, 'x.yaml'), { A: 'one' })
    t.match(config.backends, [{ headers: { A: 'one', B: 'two', C: 'three' } }])
  }
)

t.test('a secret that is no text, or too large, is an error at its place', async t => {
  const folder = t.testdir({
    'x.yaml':
      'backends: { a: { kind: http, url: "http://a/", headers: { A: "${file:a}", B: "${file:b}", C: "${file:.}" } } }'
  })
  await writeFile(join(folder, 'a'), new Uint8Array([0xff, 0xfe]))
  await writeFile(join(folder, 'b'), 'x'.repeat(65_537))
  const error = await load(join(folder, 'x.yaml')).catch((error: unknown) => error)
  t.match((error as ConfigError).problems, [
    { line: 1, column: 62, message: /not UTF-8/ },
    { line: 1, column: 78, message: /64 KiB/ },
    { line: 1, column: 94, message: /a folder/ }
  ])
})

t.test('the message has one line for each problem, with the file', async t => {
  const folder = t.testdir({ 'x.yaml': 'server: { port: 0.5 }\nadmin: 1\n' })
  const file = join(folder, 'x.yaml')
  const error = await load(file).catch((error: unknown) => error)
  t.ok(error instanceof ConfigError)
  t.strictSame(
    (error as Error).message.split('\n').map(line => line.split(' ').slice(0, 2).join(' ')),
    [`${file}:1:1 backends:`, `${file}:1:17 server.port:`, `${file}:2:8 admin:`]
  )
})

t.test('files that cannot be a config are refused before they are parsed (C5)', async t => {
  const folder = t.testdir({ folder: {}, 'large.yaml': `# ${'x'.repeat(1024 * 1024)}\n${backend}` })
  await writeFile(join(folder, 'latin.yaml'), Buffer.from(`# caf\xe9\n${backend}`, 'latin1'))
  const cases = {
    nowhere: 'cannot be read: there is no such file',
    folder: 'cannot be read: this is a folder',
    'large.yaml': 'expected a file of 1 MiB at most',
    'latin.yaml': 'expected UTF-8'
  }
  for (const [name, message] of Object.entries(cases)) {
    const file = join(folder, name)
    await t.rejects(load(file), { name: 'ConfigError', message: `${file}: ${message}` }, name)
  }
})

t.test('a file of exactly 1 MiB is not too large', async t => {
  const folder = t.testdir({ 'x.yaml': `${backend}#${'x'.repeat(1024 * 1024 - backend.length - 1)}` })
  t.equal((await load(join(folder, 'x.yaml'))).config.backends.length, 1)
})

t.test('the usual places are tried in their order', async t => {
  const folder = t.testdir({})
  t.equal(await find(folder, ['./causeway.yaml', './config/causeway.yaml']), undefined)
  await mkdir(join(folder, 'config'))
  await writeFile(join(folder, 'config/causeway.yaml'), backend)
  t.equal(await find(folder), './config/causeway.yaml')
  await symlink('config/causeway.yaml', join(folder, 'causeway.yaml'))
  t.equal(await find(folder), './causeway.yaml')
})
