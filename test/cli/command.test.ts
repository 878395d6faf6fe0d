/** biome-ignore-all lint/suspicious/noTemplateCurlyInString: configs have them */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = new URL('../../', import.meta.url)
const main = new URL('src/cli/main.ts', root).pathname

interface Ended {
  readonly code: number
  readonly out: string
  readonly error: string
}

const causeway = (args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  new Promise(resolve => {
    execFile(process.execPath, [main, ...args], { cwd, env: { ...process.env, ...env } }, (failed, out, error) => {
      resolve({ code: failed === null ? 0 : Number(failed.code), out, error })
    })
  })

const good = 'backends: { a: { kind: http, url: "http://a/mcp", headers: { A: "Bearer ${TOKEN}" } } }\n'

t.test('--help has the commands, examples and exit codes', async t => {
  const { code, out, error } = await causeway(['--help'], '/')
  t.strictSame({ code, error }, { code: 0, error: '' })
  for (const text of [
    'causeway check [-c FILE]',
    'Examples:',
    'Exit codes: 0 fine, 1',
    '/etc/causeway/causeway.yaml'
  ]) {
    t.ok(out.includes(text), text)
  }
})

t.test('--version is that of the package', async t => {
  const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
  t.strictSame(await causeway(['--version'], '/'), { code: 0, out: `${version}\n`, error: '' })
})

t.test('schema prints the JSON Schema that is committed', async t => {
  const out = readFileSync(new URL('config/causeway.schema.json', root), 'utf8')
  t.strictSame(await causeway(['schema'], '/'), { code: 0, out, error: '' })
})

t.test('a wrong command line: usage on stderr, exit 2', async t => {
  const { code, out, error } = await causeway(['--prot', '1'], '/')
  t.strictSame({ code, out }, { code: 2, out: '' })
  t.match(error, /^causeway: Unknown option '--prot'\n\nUsage: causeway \[run\]/)
})

t.test('check prints what a config comes to, secrets hidden (C6)', async t => {
  const folder = t.testdir({ 'x.yaml': good })
  const { code, out, error } = await causeway(['check', '-c', 'x.yaml'], folder, { TOKEN: 'hush' })
  t.strictSame({ code, error }, { code: 0, error: '' })
  t.match(out, /^# x\.yaml is valid/)
  t.match(out, /\n {6}A: "\*\*\*"\n/)
  t.notMatch(out, 'hush')
})

t.test('check finds a config in the usual places, and prints notes', async t => {
  const folder = t.testdir({
    config: {
      'causeway.yaml': 'mcpServers: { a: { command: x }, b: { command: y } }\nroutes: { /a: { backends: [a] } }'
    }
  })
  const { code, out } = await causeway(['check'], folder)
  t.equal(code, 0)
  t.match(out, /^# \.\/config\/causeway\.yaml is valid/)
  t.match(out, '\n# Note: backend b is behind no route')
})

for (const command of ['check', 'run']) {
  t.test(`${command} of a bad config: every error on stderr, exit 78 (C1)`, async t => {
    const folder = t.testdir({ 'x.yaml': `server: { prot: 1 }\n${good}` })
    t.strictSame(await causeway([command, '-c', 'x.yaml'], folder), {
      code: 78,
      out: '',
      error: `x.yaml:1:11 server.prot: unknown key. Did you mean port?
x.yaml:2:65 backends.a.headers.A: expected the environment variable TOKEN to be set, or a default: \${TOKEN:-...}
`
    })
  })
}

t.test('no config at all: where it was looked for, the smallest one, exit 78', async t => {
  const folder = t.testdir({})
  const { code, error } = await causeway(['check'], folder)
  t.equal(code, 78)
  t.match(error, './causeway.yaml, ./config/causeway.yaml, /etc/causeway/causeway.yaml: no config here')
  const example = error.slice(error.indexOf('\n\n') + 2)
  const other = t.testdir({ 'x.yaml': example })
  t.equal((await causeway(['check', '-c', join(other, 'x.yaml')], '/')).code, 0)
})
