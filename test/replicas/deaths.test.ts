/** Instances that die, stop and are restarted under load, three at a time (REP-03; R5 of the faults, P2). */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { stringParam } from '../../src/protocol/message.ts'
import type { GatewayProcess } from '../helpers/gateway-process.ts'
import { saying } from '../helpers/legacy.ts'
import { Random } from '../helpers/random.ts'
import type { Events, RawClient } from '../helpers/raw-client.ts'
import { withoutRedis } from '../helpers/redis.ts'
import { until } from '../helpers/until.ts'
import { startWorld, type World, type WorldOptions } from './world.ts'

const long = process.env.CAUSEWAY_LONG !== undefined

t.setTimeout(600_000)

const test = (title: string, options: WorldOptions, run: (t: Test, world: World) => Promise<void>): unknown =>
  t.test(title, { skip: withoutRedis }, async t => run(t, await startWorld(t, options)))

const numbers = ({ messages }: Events): unknown[] =>
  messages.map(({ params, result, error }) => params?.progress ?? result?.content[0].text ?? error.data.reason)

/** A call that told progress 1, at an instance, and its client. */
async function underWay(world: World, instance: GatewayProcess) {
  const session = await world.open(instance)
  const call = session.call('held', {}, { progressToken: 1 })
  const turn = await world.held()
  turn.progress(1)
  const { events, destroy } = await call
  await events.message(({ params }) => params?.progress === 1)
  return { session, turn, events, destroy }
}

test(
  'REP-03: kill -9 of the instance of a call: others serve the session at once, and tell whoever comes of one error within 5 s',
  {},
  async (t, world) => {
    const [one, two, three] = world.all as [GatewayProcess, GatewayProcess, GatewayProcess]
    const { session, events } = await underWay(world, one)
    const channel = await session.get()
    one.kill('SIGKILL')
    await Promise.all([events.whole(), channel.events.whole()])
    const began = performance.now()
    for (const instance of [two, three]) t.equal((await world.at(session, instance).request('tools/list')).status, 200)
    t.ok(performance.now() - began < 1_000, `${(performance.now() - began) | 0} ms for lists`)
    // Of those that read a stream at once the last has it.
    const again = await Promise.all([two, three].map(instance => world.at(session, instance).get(events.lastId)))
    await Promise.all(again.map(({ events }) => events.whole(7_000)))
    t.ok(performance.now() - began < 6_000, `${(performance.now() - began) | 0} ms until the error`)
    t.same(
      again.flatMap(({ events }) => numbers(events)),
      ['instance_gone'],
      'one of them has it, once'
    )
    for (const instance of [two, three]) {
      const replay = await world.at(session, instance).get(events.lastId)
      t.same(numbers(await replay.events.whole()), ['instance_gone'])
    }
    t.equal(world.scripted.heardOf('tools/call').length, 1, 'sent once')
    t.equal(world.upstream.opened.size, 1, 'in the one session upstream')
    const listening = await world.at(session, three).get()
    t.equal(listening.status, 200)
    listening.destroy()
  }
)

test(
  'REP-03, REP-06: an instance that was stopped, and taken for dead, goes on: nothing comes after the error that its call got',
  {},
  async (t, world) => {
    const [one, two, three] = world.all as [GatewayProcess, GatewayProcess, GatewayProcess]
    const { session, turn, events, destroy } = await underWay(world, one)
    const cursor = events.lastId
    one.kill('SIGSTOP')
    destroy()
    const resumed = await world.at(session, two).get(cursor)
    await resumed.events.message(({ error }) => error !== undefined, 7_000)
    await resumed.events.whole()
    one.kill('SIGCONT')
    turn.progress(2)
    turn.answer(saying('late'))
    t.match((await world.at(session, one).call('echo')).json, { result: {} }, 'it serves the session again')
    await until('its heartbeat', async () => (await world.status(one)).store === 'up')
    await sleep(500)
    for (const instance of [two, three, one]) {
      const replay = await world.at(session, instance).get(cursor)
      await replay.events.whole()
      t.same(numbers(replay.events), ['instance_gone'])
    }
    const held = world.scripted.heardOf('tools/call').filter(message => stringParam(message, 'name') === 'held')
    t.equal(held.length, 1, 'sent once')
  }
)

/** What an honest client does for ever: opens, calls, ends. What fails because an instance died it does elsewhere. */
async function wander(any: () => GatewayProcess, world: World, odd: string[], over: () => boolean): Promise<void> {
  while (!over()) {
    let session: RawClient | undefined
    try {
      session = await world.open(any())
      for (let i = 0; i < 3; i++) {
        const { status, json } = await world.at(session, any()).call('echo', { i })
        if (status !== 200 || json?.result === undefined) odd.push(`${status} ${JSON.stringify(json)}`)
      }
      const { status } = await world.at(session, any()).delete()
      if (status !== 204) odd.push(`DELETE ${status}`)
    } catch {
      // The connection broke, or nobody listens there any more.
      await sleep(20)
    }
  }
}

test(
  'R5: kill -9 at any moment: whatever is in Redis has its time to live, and sessions are whole or gone',
  { file: { sessions: { idle: '3s', perAddress: 10_000 } } },
  async (t, world) => {
    const seed = Number(process.env.REPLICAS_SEED ?? Math.floor(Math.random() * 2 ** 31))
    t.comment(`seed ${seed}`)
    const random = new Random(seed)
    let running = [...world.all]
    const odd: string[] = []
    const lives: string[] = []
    let isOver = false
    const clients = Array.from({ length: 6 }, () =>
      wander(
        () => random.pick(running),
        world,
        odd,
        () => isOver
      )
    )
    for (let i = 0; i < (long ? 20 : 3); i++) {
      await sleep(200 + random.below(300))
      const victim = random.pick(running)
      victim.kill('SIGKILL')
      running = running.filter(one => one !== victim)
      await victim.ended
      for (const name of await world.server.keys()) lives.push(await world.server.command('PTTL', name))
      running = [...running, await world.start()]
    }
    isOver = true
    await Promise.all(clients)
    t.same(odd, [], `seed ${seed}`)
    t.ok(lives.length > 10, `${lives.length} keys were looked at`)
    // A key that went meanwhile is -2.
    t.same(
      lives.filter(ms => ms.startsWith(':-1')),
      [],
      'no key is for ever'
    )
    const counted = async () => (await world.status(running[0]!)).sessions
    await until('sessions of which nobody knows to be over', async () => (await counted()) === 0, 10_000)
    await until(
      'their records to be gone',
      async () => !(await world.server.keys()).some(name => /\}$/.test(name) && !name.endsWith('{sessions}')),
      10_000
    )
  }
)

const restartMs = long ? 20_000 : 1_500

test(
  `P2: three instances are restarted in turn under load: no modern request fails, no session and no result is lost`,
  { file: { server: { shutdown: { delay: '300ms', deadline: '10s' } } } },
  async (t, world) => {
    const random = new Random(2)
    world.scripted.on('tools/call:slow', turn => {
      turn.progress(1)
      setTimeout(() => turn.answer(saying('done')), 150)
    })
    let ready = [...world.all]
    /** As a load balancer that asks for readiness. */
    const looking = setInterval(async () => {
      const states = await Promise.all(
        world.all.map(({ adminUrl }) =>
          fetch(new URL('/readyz', adminUrl)).then(
            async response => {
              await response.arrayBuffer()
              return response.ok
            },
            () => false
          )
        )
      )
      ready = world.all.filter((_, i) => states[i])
    }, 50)
    t.teardown(() => clearInterval(looking))
    const any = (): GatewayProcess => random.pick(ready)
    const problems: string[] = []
    const counts = { modern: 0, calls: 0, streams: 0 }
    let isOver = false
    const attempt = async (what: keyof typeof counts, work: () => Promise<unknown>): Promise<void> => {
      while (!isOver) {
        counts[what]++
        const problem = await work().catch((error: unknown) => error)
        if (problem !== undefined) problems.push(`${what}: ${problem}`)
        await sleep(10)
      }
    }
    const sessions = await Promise.all(Array.from({ length: 6 }, () => world.open(any())))
    const load = [
      ...[1, 2].map(() => attempt('modern', async () => ((await world.modern(any())) ? undefined : 'no result'))),
      ...sessions.slice(0, 3).map(session =>
        attempt('calls', async () => {
          const { status, json } = await world.at(session, any()).call('echo')
          return status === 200 && json?.result !== undefined ? undefined : `${status} ${JSON.stringify(json)}`
        })
      ),
      ...sessions.slice(3).map(session =>
        attempt('streams', async () => {
          const { status, events } = await world.at(session, any()).call('slow', {}, { progressToken: 1 })
          await events.whole(10_000)
          return numbers(events).join() === '1,done' ? undefined : `${status} ${JSON.stringify(events.messages)}`
        })
      )
    ]
    for (const instance of [...world.all]) {
      await sleep(restartMs)
      await instance.stop()
      await world.start()
    }
    await sleep(restartMs)
    isOver = true
    await Promise.all(load)
    t.comment(JSON.stringify(counts))
    t.same(problems, [])
    t.ok(Math.min(...Object.values(counts)) > 20, 'there was load')
    for (const session of sessions) t.match((await world.at(session, any()).call('echo')).json, { result: {} })
    t.equal(world.upstream.opened.size, sessions.length, 'and their sessions upstream')
  }
)
