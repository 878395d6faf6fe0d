/** Following a config file through everything that programs do to files (C2, C3). */
import { appendFile, mkdir, mkdtemp, open, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { load } from '../../src/config/load.ts'
import { ConfigWatch, type WatchOptions } from '../../src/config/watch.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const config = (url: string): string =>
  `backends:\n  docs: { kind: http, url: "http://${url}/mcp" }\n  more: { kind: http, url: "http://more/mcp" }\n`

const folderOf = async (t: Test): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-watch-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Follows the file; what was taken of it is written as the host of its first backend, or as the error. */
async function follow(t: Test, file: string, options: Partial<WatchOptions> = {}) {
  const { origin } = await load(file, {})
  const taken: string[] = []
  const watch = new ConfigWatch(file, {
    from: origin,
    env: {},
    settleMs: 50,
    missingMs: 250,
    pollMs: 60_000,
    ...options,
    changed: async loading => {
      taken.push(
        await loading.then(
          ({ backends: [first], logging }) =>
            `${new URL((first as { url: string }).url).host}${logging.level === 'info' ? '' : ` ${logging.level}`}`,
          (error: Error) => error.message
        )
      )
    }
  })
  t.teardown(() => watch.close())
  // Its first look is over.
  await sleep(150)
  return { watch, taken, seen: (what: string) => until(what, () => taken.at(-1) === what) }
}

const start = async (t: Test, options?: Partial<WatchOptions>) => {
  const folder = await folderOf(t)
  const file = join(folder, 'causeway.yaml')
  await writeFile(file, config('first'))
  return { folder, file, ...(await follow(t, file, options)) }
}

t.test('a file that is written anew is taken once', async t => {
  const { file, taken, seen } = await start(t)
  await writeFile(file, config('second'))
  await seen('second')
  await sleep(150)
  t.same(taken, ['second'])
})

t.test('what does not change what stands there changes nothing: touch, the same text again', async t => {
  const { file, taken, seen } = await start(t)
  await utimes(file, new Date(), new Date())
  await writeFile(file, config('first'))
  await sleep(250)
  t.same(taken, [])
  await writeFile(file, config('second'))
  await seen('second')
})

t.test('a file that grows byte by byte is taken when it is whole (C3)', async t => {
  const { file, taken, seen } = await start(t, { settleMs: 200 })
  const handle = await open(file, 'w')
  for (const byte of Buffer.from(config('second'))) {
    await handle.write(Buffer.of(byte))
    await sleep(2)
  }
  await handle.close()
  await seen('second')
  t.same(taken, ['second'])
})

t.test('another file renamed into the place, as editors do (C3)', async t => {
  const { folder, file, taken, seen } = await start(t)
  for (const url of ['second', 'third']) {
    await writeFile(join(folder, '.causeway.yaml.swp'), config(url))
    await rename(join(folder, '.causeway.yaml.swp'), file)
    await seen(url)
  }
  // With a copy of the old one beside it.
  await rename(file, `${file}~`)
  await writeFile(file, config('fourth'))
  await seen('fourth')
  t.same(taken, ['second', 'third', 'fourth'])
})

t.test('deleted and made again: the moment without it is no change (C3)', async t => {
  const { file, taken, seen } = await start(t)
  await unlink(file)
  await sleep(100)
  await writeFile(file, config('second'))
  await seen('second')
  t.same(taken, ['second'])
})

t.test('deleted for good: that is told once, and what comes later is taken', async t => {
  const { file, taken } = await start(t)
  await unlink(file)
  await until('it is told', () => taken.some(text => /cannot be read: there is no such file/.test(text)))
  await sleep(100)
  t.equal(taken.length, 1)
  await writeFile(file, config('second'))
  await until('it is taken', () => taken.at(-1) === 'second')
})

t.test("Kubernetes' way: a symbolic link beside it is swapped (C3)", async t => {
  const folder = await folderOf(t)
  const file = join(folder, 'causeway.yaml')
  const version = async (name: string, url: string): Promise<void> => {
    await mkdir(join(folder, name))
    await writeFile(join(folder, name, 'causeway.yaml'), config(url))
    await symlink(name, join(folder, '..data_tmp'))
    await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  await version('..2026_1', 'first')
  await symlink(join('..data', 'causeway.yaml'), file)
  const { taken, seen } = await follow(t, file)
  await version('..2026_2', 'second')
  await rm(join(folder, '..2026_1'), { recursive: true })
  await seen('second')
  await version('..2026_3', 'third')
  await seen('third')
  t.same(taken, ['second', 'third'])
})

t.test('a bad text is told once with its place, and the next good one is taken (C2)', async t => {
  const { file, taken, seen } = await start(t)
  await writeFile(file, 'backends: [na')
  await until('it is told', () => taken.length === 1)
  t.match(taken[0], /causeway\.yaml:1:\d+/)
  await sleep(150)
  await writeFile(file, 'backends: { docs: { kind: htp } }')
  await until('the next one is told', () => taken.length === 2)
  t.match(taken[1], /backends\.docs\.kind/)
  await writeFile(file, config('second'))
  await seen('second')
  t.equal(taken.length, 3)
})

t.test('a file that it names counts too, from the moment that it names it', async t => {
  const { folder, file, taken, seen } = await start(t, { pollMs: 50 })
  const secret = join(folder, 'secrets', 'level')
  await mkdir(join(folder, 'secrets'))
  await appendFile(file, `logging: { level: "\${file:${secret}}" }\n`)
  await until('it is missed', () => /expected a readable file/.test(taken.at(-1) ?? ''))
  await writeFile(secret, 'warn\n')
  await seen('first warn')
  await writeFile(secret, 'error\n')
  await seen('first error')
  t.equal(taken.length, 3)
})

t.test(
  'where nothing is heard, the looks now and then find it: a link to another folder, a folder that is another one',
  async t => {
    const [folder, other] = [await folderOf(t), await folderOf(t)]
    await writeFile(join(other, 'real.yaml'), config('first'))
    const file = join(folder, 'inner', 'causeway.yaml')
    await mkdir(join(folder, 'inner'))
    await symlink(join(other, 'real.yaml'), file)
    const { taken, seen } = await follow(t, file, { pollMs: 50 })
    await writeFile(join(other, 'real.yaml'), config('second'))
    await seen('second')
    await mkdir(join(folder, 'next'))
    await writeFile(join(folder, 'next', 'causeway.yaml'), config('third'))
    await rename(join(folder, 'inner'), join(folder, 'gone'))
    await rename(join(folder, 'next'), join(folder, 'inner'))
    await seen('third')
    await sleep(120)
    // The new folder is heard.
    await writeFile(file, config('fourth'))
    await seen('fourth')
    t.same(taken, ['second', 'third', 'fourth'])
  }
)

t.test('forced: read again although nothing changed', async t => {
  const { watch, taken, seen } = await start(t)
  watch.force()
  await seen('first')
  watch.force()
  await until('once more', () => taken.length === 2)
  t.same(taken, ['first', 'first'])
})

t.test('what changed between reading and following is taken', async t => {
  const folder = await folderOf(t)
  const file = join(folder, 'causeway.yaml')
  await writeFile(file, config('first'))
  const { origin } = await load(file)
  await writeFile(file, config('second'))
  const taken: Promise<unknown>[] = []
  const watch = new ConfigWatch(file, { from: origin, settleMs: 20, changed: loading => void taken.push(loading) })
  t.teardown(() => watch.close())
  await until('it is taken', () => taken.length === 1)
  t.match(await taken[0], { backends: [{ url: 'http://second/mcp' }, {}] })
})

t.test('closed: nothing is taken any more, and nothing keeps the process', async t => {
  const { watch, file, taken } = await start(t)
  await writeFile(file, config('second'))
  watch.close()
  watch.close()
  watch.force()
  await sleep(150)
  t.same(taken, [])
  t.notOk(process.getActiveResourcesInfo().includes('FSEventWrap'), 'no watcher is left')
})
