/**
 * Random good and bad edits of the config file under load (C2): no call is lost, nothing is left behind. 500 edits with
 * `CAUSEWAY_LONG=1`; else 100. `CAUSEWAY_SEED` brings a run back.
 */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { load } from '../../src/config/load.ts'
import { ConfigWatch } from '../../src/config/watch.ts'
import { createGateway } from '../../src/index.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { usedBytes } from '../helpers/memory.ts'
import { children } from '../helpers/processes.ts'
import { Random } from '../helpers/random.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { Scripted } from '../helpers/scripted.ts'
import { fixture } from '../helpers/stdio.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)
t.setTimeout(600_000)

const long = process.env.CAUSEWAY_LONG !== undefined
const edits = long ? 500 : 100
const seed = Number(process.env.CAUSEWAY_SEED ?? Math.floor(Math.random() * 2 ** 31))
const random = new Random(seed)

/** A server with one tool, which answers after a while what it was asked. */
async function upstream(tool: string) {
  const server = new Scripted()
  server.on('tools/list', turn => turn.answer(`{"tools":[{"name":"${tool}","inputSchema":{}}]}`))
  server.on(`tools/call:${tool}`, async turn => {
    await sleep(random.below(20))
    turn.answer(JSON.stringify({ content: [{ type: 'text', text: turn.arguments }] }))
  })
  const upstream = await HttpUpstream.start(server)
  const forgetting = setInterval(() => server.forget(), 500)
  return {
    upstream,
    async close() {
      clearInterval(forgetting)
      await upstream.close()
    }
  }
}

const program = (...flags: string[]) => ({
  kind: 'stdio',
  command: process.execPath,
  args: [fixture('server.mjs'), ...flags]
})

t.test(`${edits} edits under load, seed ${seed} (C2, LIF-03)`, async t => {
  const [steady, ...movers] = [await upstream('steady'), await upstream('moving'), await upstream('moving')]
  const folder = await mkdtemp(join(tmpdir(), 'causeway-edits-'))
  const file = join(folder, 'causeway.yaml')
  const http1 = (url: string, more: object = {}) => ({ kind: 'http', url, ...more })
  const settings = { server: { port: 0, shutdown: { deadline: '20s' } }, admin: false, logging: { level: 'silent' } }
  const steadily = http1(steady.upstream.url)
  const good = (): object => {
    const moving = http1(
      random.pick(movers).upstream.url,
      random.pick([{}, { headers: { 'x-a': `${random.below(5)}` } }])
    )
    const isThere = random.below(3) > 0
    return {
      ...settings,
      sessions: { max: 1_000 + random.below(10) },
      backends: {
        steady: steadily,
        program: program(`${random.below(3)}`),
        ...(isThere ? { moving } : {}),
        ...(random.below(2) > 0 ? { other: http1(movers[0]!.upstream.url, { calls: 50 + random.below(10) }) } : {})
      },
      routes: {
        '/steady': { backends: ['steady'] },
        '/program': { backends: ['program'] },
        '/all': {
          backends: ['steady', ...(isThere ? ['moving'] : [])],
          prefix: isThere ? random.pick(['auto', 'always']) : 'always'
        },
        ...(isThere && random.below(2) > 0 ? { '/gone': { backends: ['moving'] } } : {})
      }
    }
  }
  const bad = (): string =>
    random.pick([
      'backends: [',
      JSON.stringify({ ...good(), bakends: {} }),
      JSON.stringify({ ...settings, backends: { steady: steadily }, routes: { '/all': { backends: ['nobody'] } } }),
      JSON.stringify({ ...good(), sessions: { max: 'many' } }),
      JSON.stringify({
        ...good(),
        backends: { steady: steadily, mod: { kind: 'module', path: './nothing.ts' } },
        routes: undefined
      })
    ])
  const base = {
    ...settings,
    backends: { steady: steadily, program: program('0') },
    routes: {
      '/steady': { backends: ['steady'] },
      '/program': { backends: ['program'] },
      '/all': { backends: ['steady'], prefix: 'always' }
    }
  }
  await writeFile(file, JSON.stringify(base))
  const { config, origin } = await load(file)
  const gateway = await createGateway(config)
  await gateway.listen()
  const outcomes: string[] = []
  const watch = new ConfigWatch(file, {
    from: origin,
    settleMs: 5,
    changed: config =>
      void gateway.reload(config).then(
        ({ outcome }) => outcomes.push(outcome),
        () => outcomes.push('refused')
      )
  })
  let written = 0
  const put = async (config: string): Promise<string> => {
    const before = outcomes.length
    // No two texts are the same.
    const text = `${config}\n# ${++written}\n`
    // In one step: what is written bit by bit has to stand for longer than it may here (test/config/watch.test.ts).
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
    await until('it is taken', () => outcomes.length > before, 20_000)
    return outcomes.at(-1)!
  }

  const agent = new http.Agent({ keepAlive: true })
  const wrong: string[] = []
  let [calls, running] = [0, true]
  t.teardown(async () => {
    running = false
    watch.close()
    agent.destroy()
    await gateway.close({ deadline: 0 })
    await Promise.all([steady, ...movers].map(each => each.close()))
    await rm(folder, { recursive: true, force: true })
  })
  const open = async (path: string): Promise<RawClient> => {
    const client = await RawClient.open(gateway.url(path))
    client.agent = agent
    return client
  }
  /** Calls until the end; `allowed`: what may be answered besides the tool's own answer. */
  const callOn = async (client: RawClient, tool: string, allowed: (status: number, code: unknown) => boolean) => {
    const text = JSON.stringify({ call: ++calls })
    const { status, json, events } = await client.call(tool, { call: calls })
    if (json === undefined && status === 200) await events.whole(20_000)
    const answer = json ?? events.messages.at(-1)
    if (answer?.result?.content?.[0]?.text === text) return true
    if (!allowed(status, answer?.error?.code))
      wrong.push(`${tool} at ${client.url}: ${status} ${JSON.stringify(answer)}`)
    return false
  }
  const never = (): boolean => false
  const unknown = (status: number, code: unknown): boolean => status === 200 && code === -32602
  const loop = async (act: () => Promise<unknown>): Promise<void> => {
    while (running) await act()
  }
  /** Sessions of a route that comes and goes. */
  const guest = async (): Promise<void> => {
    const client = await open('/gone').catch(() => undefined)
    if (client === undefined) await sleep(10)
    while (running && client !== undefined && (await callOn(client, 'moving', status => status === 404))) {}
  }
  const stays = await Promise.all(['/steady', '/steady', '/all', '/all', '/program'].map(open))
  const channels = await Promise.all(stays.slice(0, 2).map(client => client.get()))
  const [one, two, all, other, files] = stays as [RawClient, RawClient, RawClient, RawClient, RawClient]
  const load5 = [
    loop(() => callOn(one, 'steady', never)),
    loop(() => callOn(two, 'steady', never)),
    loop(() => callOn(all, 'steady_steady', never)),
    loop(() => callOn(other, 'moving_moving', unknown)),
    loop(() => callOn(files, 'echo', never)),
    loop(guest),
    loop(guest)
  ]

  const counts = { good: 0, bad: 0 }
  let [used, measured] = [0, 0]
  for (let edit = 0; edit < edits; edit++) {
    if (random.below(3) === 0) {
      const outcome = await put(bad())
      if (outcome !== 'refused') wrong.push(`edit ${edit}: a bad one was ${outcome}`)
      counts.bad++
    } else {
      const outcome = await put(JSON.stringify(good()))
      if (outcome === 'refused') wrong.push(`edit ${edit}: a good one was refused`)
      counts.good++
    }
    // What is made once, and the first of what is kept for a while, is there by now.
    if (edit === Math.floor(edits / 3)) [used, measured] = [await usedBytes(), edit]
    await sleep(random.below(10))
  }
  running = false
  await Promise.all(load5)
  await put(JSON.stringify(base))
  await callOn(files, 'echo', never)
  t.same(wrong.slice(0, 10), [])
  t.comment(`${calls} calls, ${counts.good} good edits, ${counts.bad} bad ones`)
  t.ok(calls > edits)
  for (const { events } of channels) t.same([events.ended, events.messages], [false, []], 'they noticed nothing')

  await until(
    'of every other backend nothing is open',
    () => movers.every(({ upstream }) => upstream.sessions.size === 0),
    20_000
  )
  t.equal(steady.upstream.sessions.size, 4, 'the sessions of those who stayed')
  await until('one child runs, for the one session that has it', () => children().length === 1, 20_000)
  const grown = ((await usedBytes()) - used) / (edits - measured)
  t.ok(grown < 50_000, `${Math.round(grown)} bytes more for each edit`)

  watch.close()
  agent.destroy()
  for (const { destroy } of channels) destroy()
  await gateway.close({ deadline: 0 })
  for (const { upstream } of [steady, ...movers]) upstream.cut()
  t.same(children(), [])
  const left = (): string[] =>
    process.getActiveResourcesInfo().filter(name => /TCPSocket|FSEvent|Process|Worker/.test(name))
  await until(`no handle is left: ${left()}`, () => left().length === 0)
})
