import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { reasonOf } from '../../src/cli/run.ts'
import type { Config } from '../../src/config/config.ts'

const fixture = new URL('../fixtures/run-gateway.ts', import.meta.url).pathname

/** Starts the fixture; `said` resolves once a line is on stdout. */
const start = (t: Test, wrong = '') => {
  const child = spawn(process.execPath, [fixture, wrong], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const text = { out: '', error: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text.out += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text.error += chunk
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...text }))
  const said = async (line: string): Promise<void> => {
    while (!text.out.split('\n').includes(line)) await once(child.stdout, 'data')
  }
  return { child, ended, said }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal} closes the gateway and ends with 0, nothing printed`, async t => {
    const { child, ended, said } = start(t)
    await said('run 0')
    child.kill(signal)
    t.strictSame(await ended, { code: 0, signal: null, out: 'create\nlisten\nrun 0\nclose as configured\n', error: '' })
  })
}

t.test('SIGHUP reads the config again and ends nothing', async t => {
  const { child, ended, said } = start(t)
  await said('run 0')
  child.kill('SIGHUP')
  await said('reload')
  child.kill('SIGTERM')
  t.match(await ended, { code: 0, out: 'create\nlisten\nrun 0\nreload\nclose as configured\n', error: '' })
})

t.test('a second signal ends it at once with 1', async t => {
  const { child, ended, said } = start(t, 'stuck')
  await said('run 0')
  child.kill('SIGTERM')
  await said('close as configured')
  child.kill('SIGINT')
  t.match(await ended, { code: 1, error: 'causeway: SIGINT again: ending at once\n' })
})

t.test('a gateway that does not close is left when the deadline and 3 s are over', async t => {
  const { child, ended, said } = start(t, 'stuck')
  await said('run 0')
  child.kill('SIGTERM')
  t.match(await ended, { code: 1, error: 'causeway: not everything closed in time: ending at once\n' })
})

t.test('a gateway that fails to close ends with 1 and says why', async t => {
  const { child, ended, said } = start(t, 'close')
  await said('run 0')
  child.kill('SIGTERM')
  t.match(await ended, { code: 1, error: /^causeway: failed to close: Error: would not close/ })
})

t.test('a signal while it starts ends it', async t => {
  const { child, ended, said } = start(t, 'slow-create')
  await said('create')
  child.kill('SIGTERM')
  t.match(await ended, { code: 0, out: 'create\n' })
})

t.test('a gateway that cannot be made: one line, exit 1', async t => {
  const { ended } = start(t, 'create')
  t.match(await ended, { code: 1, out: 'create\nrun 1\n', error: 'causeway: cannot start: no such module\n' })
})

t.test('a port that is taken: one line that names the setting, what was opened is closed, exit 1', async t => {
  const { ended } = start(t, 'listen')
  t.strictSame(await ended, {
    code: 1,
    signal: null,
    out: 'create\nlisten\nclose 0\nrun 1\n',
    error: 'causeway: cannot start: 127.0.0.1:9090 is in use by another program: end that one, or change admin.port\n'
  })
})

for (const [wrong, message] of [
  ['crash', 'thrown in a timer'],
  ['reject', 'nobody catches this']
] as const) {
  t.test(`an error nobody caught is told, drains briefly, ends with 1: ${wrong} (P3)`, async t => {
    const { ended } = start(t, wrong)
    const { code, out, error } = await ended
    t.equal(code, 1)
    t.match(out, 'close 4000')
    t.match(error, new RegExp(`^causeway: an error nobody caught, ending: Error: ${message}\n +at `))
  })
}

t.test('the reason of a failed start is one line', async t => {
  const config = { admin: { port: 9090 } } as Config
  const system = (code: string, port: number) =>
    new Error('outer', {
      cause: Object.assign(new Error('inner'), { code, syscall: 'listen', address: '192.0.2.1', port })
    })
  t.equal(
    reasonOf(system('EADDRINUSE', 8080), config),
    '192.0.2.1:8080 is in use by another program: end that one, or change server.port'
  )
  t.match(reasonOf(system('EACCES', 80), config), /^no permission to listen on 192\.0\.2\.1:80: .* server\.port$/)
  t.equal(reasonOf(system('EADDRNOTAVAIL', 9090), config), '192.0.2.1 is no address of this machine: change admin.host')
  t.equal(reasonOf(system('EMFILE', 9090), config), 'outer')
  t.equal(reasonOf(new Error('first\nsecond'), config), 'first')
  t.equal(reasonOf('thrown text', config), 'thrown text')
})
