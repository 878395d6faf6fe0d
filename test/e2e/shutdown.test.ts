/** The end of the process, with everything that can hold it up (R26, LIF-01). */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Child, endOf, startChild } from '../helpers/child.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { saying } from '../helpers/legacy.ts'
import { freePorts } from '../helpers/ports.ts'
import { runs } from '../helpers/processes.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { Scripted, type Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

interface Started {
  readonly child: Child
  readonly upstream: HttpUpstream
  /** Calls of the tool `held` that reached the HTTP backend. */
  readonly turns: Turn[]
  open(route: string): Promise<RawClient>
  ready(): Promise<boolean>
}

/** The program with an HTTP backend of this process and a stdio backend of its own. */
async function start(t: Test, shutdown: object): Promise<Started> {
  const turns: Turn[] = []
  const upstream = await HttpUpstream.start(new Scripted().on('tools/call:held', turn => void turns.push(turn)))
  const folder = await mkdtemp(join(tmpdir(), 'causeway-'))
  t.teardown(async () => {
    await upstream.close()
    await rm(folder, { recursive: true, force: true })
  })
  const [port, adminPort] = (await freePorts(2)) as [number, number]
  const file = join(folder, 'causeway.yaml')
  const config = {
    server: { port, shutdown },
    admin: { port: adminPort },
    backends: {
      docs: { kind: 'http', url: upstream.url },
      files: { kind: 'stdio', command: process.execPath, args: [path('../fixtures/stdio/server.mjs')] }
    }
  }
  await writeFile(file, JSON.stringify(config))
  const child = startChild(process.execPath, [path('../../src/cli/main.ts'), 'run', '-c', file])
  t.teardown(() => child.kill('SIGKILL'))
  const ready = async (): Promise<boolean> => {
    const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => undefined)
    await response?.arrayBuffer()
    return response?.ok === true
  }
  await until('it is ready', ready, 15_000)
  return { child, upstream, turns, ready, open: route => RawClient.open(`http://127.0.0.1:${port}${route}`) }
}

async function channel(client: RawClient): Promise<RawResponse> {
  const response = await client.get()
  await response.events.until(({ all }) => all.length > 0)
  return response
}

t.test(
  'SIGTERM: streams end with retry, a short call finishes, a long one gets its error, children are reaped, exit 0 (LIF-01, P1)',
  async t => {
    const { child, upstream, turns, open, ready } = await start(t, { delay: '200ms', deadline: '1s' })
    const [docs, files] = [await open('/mcp/docs'), await open('/mcp/files')]
    const channels = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => channel(await open(i % 2 === 0 ? '/mcp/docs' : '/mcp/files')))
    )
    const pid = Number((await files.call('pid')).json.result.content[0].text)
    t.ok(runs(pid))
    const short = docs.call('held')
    const long = files.call('silent')
    await until('both run', () => turns.length === 1)
    child.kill('SIGTERM')
    await until('it is not ready', async () => !(await ready()))
    for (const { events } of channels) {
      await events.whole()
      const { retry } = events.all.at(-1)!
      t.ok(retry! >= 5_000 && retry! <= 7_000)
    }
    const refused = await docs.post({ id: 'late', method: 'tools/call', params: { name: 'held' } })
    t.equal(refused.status, 503)
    turns[0]!.answer(saying('in time'))
    t.equal((await short).json.result.content[0].text, 'in time')
    const given = await long
    const [error] = given.json === undefined ? (await given.events.whole()).messages : [given.json]
    t.match(error, { error: { code: -32603, data: { reason: 'shutdown', backend: 'files' } } })
    t.equal(await endOf(child, 5_000), 0)
    t.notOk(runs(pid), 'no orphan')
    t.equal(upstream.sessions.size, 0, 'upstream sessions are given back')
    await t.rejects(docs.call('held'), { code: 'ECONNREFUSED' })
  }
)

t.test('a second signal ends it at once with 1, its children with it', async t => {
  const { child, open } = await start(t, { deadline: '60s' })
  const files = await open('/mcp/files')
  const pid = Number((await files.call('pid')).json.result.content[0].text)
  files.call('silent').catch(() => {})
  await (await channel(files)).events.until(({ all }) => all.length > 0)
  child.kill('SIGTERM')
  await until('it drains', async () => (await files.request('tools/list')).status === 503)
  t.equal(child.exited(), false)
  const began = performance.now()
  child.kill('SIGTERM')
  t.equal(await endOf(child, 5_000), 1)
  t.ok(performance.now() - began < 2_000)
  await until('the child has ended', () => !runs(pid))
})
