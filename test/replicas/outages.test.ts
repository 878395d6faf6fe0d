/** Redis is away, silent, slow, full, empty, not to be written to: what clients see at three instances (R1-R4, R7 of the faults). */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { GatewayProcess } from '../helpers/gateway-process.ts'
import { saying } from '../helpers/legacy.ts'
import type { RawResponse } from '../helpers/raw-client.ts'
import { withoutRedis } from '../helpers/redis.ts'
import { type SlowLink, slowLink } from '../helpers/slow-link.ts'
import { until } from '../helpers/until.ts'
import { startWorld, type World } from './world.ts'

const recoveryMs = 5_000
/** The deadline of a command, and what a busy machine may add. */
const promptMs = 250 + 500

type Session = Awaited<ReturnType<World['open']>>

t.setTimeout(300_000)

let link: SlowLink | undefined
let started: Promise<World> | undefined

/** One world for all of them: what a fault leaves behind is seen by the next. */
const start = (): Promise<World> => {
  started ??= startWorld(t, {
    async between({ port }) {
      link = await slowLink(t, port)
      return link.port
    }
  })
  return started
}

/** With a session that every instance serves. */
const test = (
  title: string,
  run: (t: Test, world: World, session: Session) => Promise<void>,
  skip: string | false = false
): unknown =>
  t.test(title, { skip: withoutRedis || skip }, async t => {
    const world = await start()
    const session = await world.open(world.all[0]!)
    await serves(t, world, session, 'before')
    await run(t, world, session)
  })

/** Not now, and when to ask again. */
function isLater(t: Test, { status, headers, json }: RawResponse, what: string): void {
  t.equal(status, 503, what)
  t.match(headers['retry-after'], /^\d+$/, `${what}: when`)
  t.match(json, { error: { code: -32603, data: { reason: 'store' } } }, `${what}: why`)
}

const timed = async <T>(t: Test, what: string, work: Promise<T>): Promise<T> => {
  const began = performance.now()
  const done = await work
  const took = performance.now() - began
  t.ok(took < promptMs, `${what} within ${took | 0} ms`)
  return done
}

/** New sessions and calls of old ones wait for nobody, and calls without a session notice nothing. */
async function isAway(t: Test, world: World, session: Session): Promise<void> {
  for (const [i, instance] of world.all.entries()) {
    isLater(t, await timed(t, `initialize at ${i}`, world.initialize(instance)), `initialize at ${i}`)
    isLater(t, await timed(t, `a call at ${i}`, world.at(session, instance).call('echo')), `a call at ${i}`)
    t.ok(await timed(t, `a modern call at ${i}`, world.modern(instance)), `a modern call at ${i}`)
    const ready = await fetch(new URL('/readyz', instance.adminUrl))
    t.equal(ready.status, 200, `${i} is ready`)
    await ready.arrayBuffer()
  }
}

/** Every instance opens sessions within the time that a recovery may take. */
async function isBack(t: Test, { all, initialize }: World): Promise<void> {
  const began = performance.now()
  await Promise.all(
    all.map(instance => until('new sessions', async () => (await initialize(instance)).status === 200, recoveryMs))
  )
  const took = performance.now() - began
  t.ok(took < recoveryMs, `back within ${took | 0} ms`)
}

const serves = async (t: Test, world: World, session: Session, what: string) => {
  for (const instance of world.all) {
    t.match((await world.at(session, instance).call('echo')).json, { result: {} }, what)
  }
}

test('R2: Redis is killed and started again empty: 503, modern traffic as ever, back within 5 s, and lost sessions are 404', async (t, world, session) => {
  await world.server.kill()
  await isAway(t, world, session)
  t.equal((await session.get()).status, 503, 'a channel')
  t.equal((await session.delete()).status, 503, 'an end')
  await world.server.start()
  await isBack(t, world)
  for (const instance of world.all) {
    const { status, json } = await world.at(session, instance).call('echo')
    t.equal(status, 404)
    t.match(json, { error: { data: { reason: 'session' } } })
  }
  await serves(t, world, await world.open(world.all[0]!), 'a new session')
})

test('R2: a call that runs when Redis is killed: its open stream gets all that comes', async (t, world, session) => {
  const call = session.call('held', {}, { progressToken: 1 })
  const turn = await world.held()
  turn.progress(1)
  const { events } = await call
  await events.message(({ params }) => params?.progress === 1)
  await world.server.kill()
  turn.progress(2)
  await events.message(({ params }) => params?.progress === 2)
  turn.answer(saying('done'))
  await events.whole()
  t.same(
    events.messages.map(({ params, result }) => params?.progress ?? result.content[0].text),
    [1, 2, 'done'],
    'once, in order'
  )
  await world.server.start()
  await isBack(t, world)
})

test('R3: Redis stalls: nobody waits longer than its deadline, and sessions are there afterwards', async (t, world, session) => {
  const call = session.call('held', {}, { progressToken: 1 })
  const turn = await world.held()
  turn.progress(1)
  const { events } = await call
  world.server.signal('SIGSTOP')
  await isAway(t, world, session)
  turn.answer(saying('done'))
  await events.message(({ result }) => result?.content[0].text === 'done')
  // Longer than connections live that nothing is heard of.
  await sleep(2_500)
  await isAway(t, world, session)
  world.server.signal('SIGCONT')
  await isBack(t, world)
  await serves(t, world, session, 'afterwards')
})

test('R3: CLIENT PAUSE, as an operator pauses clients for a failover', async (t, world, session) => {
  await world.server.command('CLIENT', 'PAUSE', '2500', 'ALL')
  await isAway(t, world, session)
  await isBack(t, world)
  await serves(t, world, session, 'afterwards')
})

test('R3: Redis is slower than its deadline', async (t, world, session) => {
  link!.delay = 200
  await isAway(t, world, session)
  link!.delay = 0
  await isBack(t, world)
  await serves(t, world, session, 'afterwards')
})

test('R4: flushed: sessions are 404 at once at every instance, and clients begin again', async (t, world, session) => {
  const { sessions } = world.upstream
  const [upstream] = [...sessions].slice(-1) as [string]
  await world.server.command('FLUSHALL')
  for (const instance of world.all) t.equal((await world.at(session, instance).call('echo')).status, 404)
  await serves(t, world, await world.open(world.all[1]!), 'a new session')
  await until('the lost one to be ended upstream', () => !sessions.has(upstream))
})

test('R4: READONLY, as after a failover to a replica that is none any more', async (t, world, session) => {
  await world.server.command('REPLICAOF', '127.0.0.1', '1')
  for (const instance of world.all) {
    isLater(t, await timed(t, 'initialize', world.initialize(instance)), 'initialize')
    t.ok(await world.modern(instance))
  }
  await world.server.command('REPLICAOF', 'NO', 'ONE')
  await isBack(t, world)
  await serves(t, world, session, 'afterwards')
})

test('R4: OOM: no new sessions; those that are there are ended, and make room', async (t, world, session) => {
  await world.server.command('CONFIG', 'SET', 'maxmemory', '1')
  for (const instance of world.all) {
    isLater(t, await world.initialize(instance), 'initialize')
    t.ok(await world.modern(instance))
    t.match((await world.at(session, instance).call('echo')).json, { result: {} }, 'a call that needs no memory')
  }
  t.equal((await world.at(session, world.all[1]!).delete()).status, 204)
  await world.server.command('CONFIG', 'SET', 'maxmemory', '0')
  await isBack(t, world)
})

test('R4: NOSCRIPT: scripts that were flushed are given again, and no client notices', async (t, world, session) => {
  for (const instance of world.all) {
    await world.server.command('SCRIPT', 'FLUSH')
    const { events } = await world.at(session, instance).call('progress', {}, { progressToken: 1 })
    t.equal((await events.whole()).messages.length, 4)
  }
})

/** KiB that a process has in memory. */
const resident = async (pid: number): Promise<number> =>
  Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1])

const outageMs = process.env.CAUSEWAY_LONG === undefined ? 3_000 : 60_000

test(
  `R7: an outage of ${outageMs / 1_000} s under requests: memory stays flat`,
  async (t, world, session) => {
    const [one] = world.all as [GatewayProcess]
    const ask = async (untilMs: number): Promise<number> => {
      let count = 0
      while (performance.now() < untilMs) {
        await Promise.all([...Array.from({ length: 10 }, () => session.call('echo')), world.modern(one)])
        count += 10
        await sleep(20)
      }
      return count
    }
    world.server.signal('SIGSTOP')
    await ask(performance.now() + 1_500)
    const before = await resident(one.pid)
    const count = await ask(performance.now() + outageMs)
    const grown = (await resident(one.pid)) - before
    t.ok(grown < 32 * 1_024, `${grown} KiB more after ${count} requests`)
    world.server.signal('SIGCONT')
    await isBack(t, world)
    await serves(t, world, session, 'afterwards')
  },
  process.platform !== 'linux' && 'memory of a process is read from /proc'
)

test('R1: without Redis instances start, serve what needs none, and the rest once it is there', async (t, world) => {
  await world.server.kill()
  const late = await world.start()
  t.match(await world.status(late), { store: 'down', sessions: null })
  isLater(t, await world.initialize(late), 'initialize')
  t.ok(await world.modern(late))
  await world.server.start()
  await isBack(t, world)
  t.match(await world.status(late), { store: 'up' })
})
