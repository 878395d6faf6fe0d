/**
 * Proves what the image does, without a container engine: packs the package, lays it out by the script that the
 * Dockerfile uses, makes it read-only, and runs the Dockerfile's own commands there as another user: start, health check,
 * a call, SIGTERM. Then installs the tarball as a user of npm would. Exits with 0 when all steps went well.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePorts } from '../helpers/ports.ts'
import { callOnce } from './call.ts'
import { commandsOf } from './dockerfile.ts'

const run = promisify(execFile)
const root = path.join(import.meta.dirname, '../..')
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'causeway-package-'))
const layout = path.join(folder, 'opt')
const config = path.join(folder, 'causeway.yaml')
const node = path.join(folder, 'node')
/** `nobody`, when this user can become somebody else. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const [port, adminPort] = (await freePorts(2)) as [number, number]
const image = commandsOf(path.join(root, 'Dockerfile'))

let passed = 0
const step = async <T>(name: string, act: () => Promise<T>): Promise<T> => {
  try {
    const value = await act()
    passed++
    console.log(`ok     ${name}`)
    return value
  } catch (error) {
    console.log(`not ok ${name}`)
    throw error
  }
}

/** What stands in the image's files, at the places and ports of this run. */
const here = (text: string): string =>
  text
    .replaceAll('/opt/causeway', layout)
    .replaceAll('/etc/causeway/causeway.yaml', config)
    .replaceAll('8080', String(port))
    .replaceAll('9090', String(adminPort))

/** Runs a command of the image as the other user, with nothing of this environment and no home to write to. */
const start = (command: readonly string[]): ChildProcess => {
  const [program = '', ...args] = command.map(here)
  assert.equal(program, 'node', 'the image has no other program')
  const env = { NODE_ENV: 'production', HOME: '/nonexistent', PATH: '/usr/local/bin:/usr/bin:/bin' }
  return spawn(node, args, { cwd: folder, env, stdio: ['ignore', 'inherit', 'inherit'], ...user })
}

const healthy = async (): Promise<boolean> => {
  const [code] = await once(start(image.healthCheck), 'exit')
  return code === 0
}

const within = async (seconds: number, what: string, holds: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + seconds * 1000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${seconds} s`)
    await wait(100)
  }
}

const serve = async (): Promise<void> => {
  const gateway = start(image.start)
  const exit = once(gateway, 'exit')
  try {
    await step('it starts read-only as another user, and the health check passes', () =>
      within(15, 'the health check', async () => {
        assert.equal(gateway.exitCode, null, 'the gateway ended')
        return healthy()
      })
    )
    await step('a client calls a tool of the default config', () =>
      callOnce(`http://127.0.0.1:${port}/mcp`, 'echo', { text: 'hello' })
    )
    await step('SIGTERM ends it with 0', async () => {
      gateway.kill('SIGTERM')
      const end = await Promise.race([exit, wait(10_000, ['still running'], { ref: false })])
      assert.equal(end[0], 0)
    })
    await step('the health check fails once it is gone', async () => assert.equal(await healthy(), false))
  } finally {
    gateway.kill('SIGKILL')
  }
}

try {
  // This Node may lie in a folder that the other user cannot enter.
  fs.copyFileSync(process.execPath, node)
  fs.chmodSync(folder, 0o755)

  const tarball = await step('npm pack', async () => {
    await run('npm', ['pack', '--pack-destination', folder], { cwd: root })
    const name = fs.readdirSync(folder).find(file => file.endsWith('.tgz'))
    assert.ok(name, 'a tarball was written')
    return path.join(folder, name)
  })
  await step('production install at the versions of the lock file', async () => {
    await run('bash', [path.join(root, 'deploy/assemble.sh'), tarball, path.join(root, 'package-lock.json'), layout])
    fs.writeFileSync(config, here(fs.readFileSync(path.join(root, 'deploy/causeway.yaml'), 'utf8')))
    await run('chmod', ['-R', 'a-w,a+rX', layout, config])
  })
  await step('nothing of the development tree is in it', async () => {
    for (const name of ['typescript', 'tap', '@modelcontextprotocol']) {
      assert.equal(fs.existsSync(path.join(layout, 'node_modules', name)), false, name)
    }
    for (const name of ['src', 'test', 'bench']) assert.equal(fs.existsSync(path.join(layout, name)), false, name)
  })
  await serve()
  await step('npm install of the tarball brings a command that works', async () => {
    const project = path.join(folder, 'project')
    fs.mkdirSync(project)
    fs.writeFileSync(path.join(project, 'package.json'), '{"private":true}')
    await run('npm', ['install', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', tarball], {
      cwd: project
    })
    const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
    const { stdout } = await run(path.join(project, 'node_modules/.bin/causeway'), ['--version'])
    assert.ok(stdout.includes(version), `--version said ${stdout}`)
  })
  await step('its starter is right: the config, the types, the test, the handler', async () => {
    const project = path.join(folder, 'project')
    const starter = path.join(project, 'starter')
    const causeway = path.join(project, 'node_modules/.bin/causeway')
    await run(causeway, ['init', 'starter'], { cwd: project })
    await run(causeway, ['check'], { cwd: starter })
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: starter })
    await run(path.join(root, 'node_modules/.bin/tsc'), ['-p', starter])
    const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap'], { cwd: starter })
    assert.match(stdout, /# pass 1\n/)
  })
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await run('chmod', ['-R', 'u+w', folder])
  fs.rmSync(folder, { recursive: true, force: true })
}
console.log(`${passed} passed, ${process.exitCode === 1 ? 1 : 0} failed`)
