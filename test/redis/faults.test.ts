/** What the adapters do while Redis is not what it should be, and after it (R2-R7 of the threats). */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { RedisBus, RedisPresence } from '../../src/instances/redis.ts'
import type { Redis } from '../../src/redis/store.ts'
import { RedisSessionStore } from '../../src/sessions/redis.ts'
import type { SessionRecord } from '../../src/sessions/session.ts'
import { RedisStreamLog } from '../../src/streams/redis.ts'
import { Lost, type Writer } from '../../src/streams/stream-log.ts'
import { connectRedis, type RedisServer, startRedis, withoutRedis } from '../helpers/redis.ts'
import { type SlowLink, slowLink } from '../helpers/slow-link.ts'
import { until } from '../helpers/until.ts'

/** A command is answered, one way or the other, within its deadline; the rest is for a machine that is busy. */
const deadlineMs = 250
const slackMs = 750
/** Refused without being asked: sooner than any deadline. */
const atOnceMs = deadlineMs - 10
const recoveryMs = 5_000

const bounds = { events: 1_000, bytes: 1 << 20, total: 1 << 26, retainMs: 60_000 }
const caps = { total: 1_000, perGroup: 1_000 }
const key = { session: 'session', stream: 'stream' }
const data = Buffer.from('data')

const record = (id: string): SessionRecord => ({
  id,
  revision: 0,
  route: '/mcp',
  principal: 'anonymous',
  group: '127.0.0.1',
  client: { version: '2025-11-25', capabilities: '{}', info: '{"name":"c","version":"1"}' },
  operating: false,
  subscriptions: [],
  links: {}
})

interface Adapters {
  readonly server: RedisServer
  readonly link: SlowLink
  readonly redis: Redis
  readonly store: RedisSessionStore
  readonly log: RedisStreamLog
  readonly presence: RedisPresence
  readonly bus: RedisBus
  readonly writer: Writer
}

/** One session and one stream with one entry, through a link that can be slow. */
async function start(t: Test): Promise<Adapters> {
  const server = await startRedis(t)
  const link = await slowLink(t, server.port)
  const redis = await connectRedis({ url: `redis://127.0.0.1:${link.port}` }, { deadlineMs })
  const store = new RedisSessionStore(redis)
  const presence = await RedisPresence.start(redis)
  const log = new RedisStreamLog(redis, bounds, presence.id)
  const bus = new RedisBus(redis)
  t.teardown(async () => {
    await presence.close()
    await redis.close()
  })
  await store.create(record('session'), 60_000, caps)
  const writer = await log.open(key, '')
  await writer.append(data)
  return { server, link, redis, store, log, presence, bus, writer }
}

const reads = {
  'sessions.has': ({ store }: Adapters) => store.has('session'),
  'sessions.list': ({ store }: Adapters) => store.list('/mcp')[Symbol.asyncIterator]().next(),
  'log.read': ({ log }: Adapters) => log.read(key, 0, 10),
  'log.owner': ({ log }: Adapters) => log.owner(key),
  'presence.alive': ({ presence }: Adapters) => presence.alive('another')
}

const writes = {
  'sessions.create': ({ store }: Adapters) => store.create(record(crypto.randomUUID()), 60_000, caps),
  'sessions.replace': async ({ store }: Adapters) => {
    const now = (await store.get('session', 60_000)) ?? record('session')
    return store.replace(now, { ...now, revision: now.revision + 1 })
  },
  'log.open': ({ log }: Adapters) => log.open({ ...key, stream: crypto.randomUUID() }, ''),
  'log.post': ({ log }: Adapters) => log.post({ ...key, stream: 'posts' }, data),
  'writer.append': ({ writer }: Adapters) => writer.append(data)
}

const signals = {
  'log.watch': ({ log }: Adapters) => log.watch(key, () => {}),
  'bus.publish': ({ bus }: Adapters) => bus.publish('topic', 'payload'),
  'bus.subscribe': ({ bus }: Adapters) => bus.subscribe(crypto.randomUUID(), () => {})
}

type Operations = Readonly<Record<string, (adapters: Adapters) => Promise<unknown>>>

/** Every one rejects, none takes longer than its deadline. */
async function allFail(t: Test, adapters: Adapters, operations: Operations, withinMs = deadlineMs + slackMs) {
  const began = performance.now()
  const outcomes = await Promise.all(
    Object.entries(operations).map(async ([name, run]) => {
      const failed = await run(adapters).then(
        () => false,
        () => true
      )
      return { name, failed, ms: performance.now() - began }
    })
  )
  for (const { name, failed, ms } of outcomes) t.ok(failed && ms < withinMs, `${name} is refused after ${ms | 0} ms`)
}

async function allWork(t: Test, adapters: Adapters, operations: Operations) {
  for (const [name, run] of Object.entries(operations)) await t.resolves(run(adapters), name)
}

/** `first` works within the time that a recovery may take, then everything. */
async function recovers(t: Test, adapters: Adapters, operations: Operations) {
  const began = performance.now()
  const { store } = adapters
  const works = () => store.create(record(crypto.randomUUID()), 60_000, caps).then(Boolean, () => false)
  await until('Redis to be used again', async () => adapters.redis.up && (await works()), recoveryMs)
  t.ok(performance.now() - began < recoveryMs)
  await allWork(t, adapters, operations)
}

const all: Operations = { ...reads, ...writes, ...signals }

const fault = (title: string, run: (t: Test, adapters: Adapters) => Promise<void>) =>
  t.test(title, { skip: withoutRedis }, async t => run(t, await start(t)))

fault(
  'R2: Redis is killed: every call fails at once; an empty one in its place is used within 5 s',
  async (t, each) => {
    await each.server.kill()
    await until('the loss to be noticed', () => !each.redis.up)
    await allFail(t, each, all, atOnceMs)
    await each.server.start()
    const { 'writer.append': _append, 'sessions.replace': _replace, ...rest } = all
    await recovers(t, each, rest)
    t.equal(await each.store.get('session', 60_000), undefined, 'a session that is truly gone is not there')
    t.type(await each.writer.append(data).catch((error: unknown) => error), Lost)
  }
)

fault(
  'R3: Redis stalls: calls fail at their deadline, later ones at once, and what was stored is there afterwards',
  async (t, each) => {
    each.server.signal('SIGSTOP')
    await allFail(t, each, all)
    await allFail(t, each, all, atOnceMs)
    each.server.signal('SIGCONT')
    await recovers(t, each, all)
    t.ok(await each.store.get('session', 60_000))
  }
)

fault('R3: a stall that outlasts the connection', async (t, each) => {
  each.server.signal('SIGSTOP')
  await allFail(t, each, all)
  await sleep(2_500)
  await allFail(t, each, all, atOnceMs)
  each.server.signal('SIGCONT')
  await recovers(t, each, all)
  t.ok(await each.store.get('session', 60_000))
})

fault('R3: Redis is slow: nobody waits longer than the deadline', async (t, each) => {
  each.link.delay = 400
  await allFail(t, each, all)
  each.link.delay = 0
  await recovers(t, each, all)
})

fault(
  'R3: the network carries nothing any more: noticed without traffic, and another connection is made',
  async (t, each) => {
    each.link.delay = Number.POSITIVE_INFINITY
    await until('the silence to be noticed', () => !each.redis.up)
    await allFail(t, each, all)
    each.link.delay = 0
    await recovers(t, each, all)
  }
)

fault('R4: READONLY, as after a failover: writes fail, and work as soon as it may be written to', async (t, each) => {
  await each.server.command('REPLICAOF', '127.0.0.1', '1')
  await allFail(t, each, { 'sessions.create': writes['sessions.create'], 'log.post': writes['log.post'] })
  await until('the connection to be another', () => each.redis.up)
  await allFail(t, each, { 'writer.append': writes['writer.append'] })
  await each.server.command('REPLICAOF', 'NO', 'ONE')
  await recovers(t, each, all)
})

fault('R4: NOSCRIPT: a server that has lost the scripts is given them again', async (t, each) => {
  await each.server.command('SCRIPT', 'FLUSH')
  await allWork(t, each, all)
})

fault(
  'R4: OOM: what needs memory is refused and changes nothing; reading, ending and deleting go on',
  async (t, each) => {
    const { server, log, store, writer } = each
    const before = await log.read(key, 0, 10)
    await server.command('CONFIG', 'SET', 'maxmemory', '1')
    await allFail(t, each, writes)
    await allWork(t, each, reads)
    t.same(await log.read(key, 0, 10), before)
    await t.resolves(writer.end())
    t.equal((await log.read(key, 0, 10)).state, 'over')
    t.ok(await store.delete('session'))
    await log.purge(key.session)
    t.equal((await log.read(key, 0, 10)).state, 'unknown')
    await server.command('CONFIG', 'SET', 'maxmemory', '0')
    t.equal(await store.create(record('session'), 60_000, caps), 'created')
  }
)

fault('R4: LOADING: not used before everything is there', async (t, each) => {
  const { server, store } = each
  for (let i = 0; i < 200; i++) await server.command('SET', `filler ${i}`, 'x'.repeat(1_000))
  await server.command('SAVE')
  await server.kill()
  await server.start(['--key-load-delay', '10000', '--loading-process-events-interval-bytes', '1024'])
  t.match(await server.command('GET', 'filler 1'), /^-LOADING/)
  await allFail(t, each, all)
  await recovers(t, each, all)
  t.ok(await store.get('session', 60_000))
})

fault(
  'R4: flushed: sessions are gone, writers are lost, and nobody is taken for dead who has no time to say otherwise',
  async (t, each) => {
    const { server, store, writer, presence, redis } = each
    const other = await RedisPresence.start(redis)
    t.teardown(() => other.close())
    await server.command('FLUSHALL')
    t.equal(await store.get('session', 60_000), undefined)
    t.type(await writer.append(data).catch((error: unknown) => error), Lost)
    await until(
      'the next heartbeat of both',
      async () => (await presence.alive(other.id)) && (await other.alive(presence.id))
    )
    t.ok(await presence.alive('one that may run'))
    await until('that doubt to end', async () => !(await presence.alive('one that may run')), 2 * recoveryMs)
    t.ok(await presence.alive(other.id))
  }
)

fault('R7: what is asked during an outage is not kept', async (t, each) => {
  each.server.signal('SIGSTOP')
  const asked = Array.from({ length: 20_000 }, () => each.store.has('session'))
  const outcomes = await Promise.allSettled(asked)
  t.ok(outcomes.every(({ status }) => status === 'rejected'))
  t.match(String((outcomes[15_000] as PromiseRejectedResult).reason), /too much is asked/)
  each.server.signal('SIGCONT')
  await recovers(t, each, all)
})

fault(
  'RES-05: what is posted while a reader is cut off is read when it is back, woken without being told',
  async (t, each) => {
    const { server, log } = each
    let woken = 0
    await log.watch(key, () => woken++)
    const numbers: number[] = []
    const posting = { on: true }
    const writing = (async () => {
      while (posting.on) {
        const number = await each.writer.append(data).catch(() => undefined)
        if (number === undefined) await sleep(5)
        else numbers.push(number)
      }
    })()
    for (let i = 0; i < 5; i++) {
      await sleep(20)
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    }
    await until('the connection for signals', () => each.redis.up)
    posting.on = false
    await writing
    woken = 0
    const last = await each.writer.append(data)
    await until('the wake', () => woken > 0)
    const read = (await log.read(key, 0, 10_000)).entries.map(({ number }) => number)
    t.same(
      read,
      Array.from({ length: last }, (_, i) => i + 1)
    )
    t.ok(numbers.every(number => read.includes(number)))
  }
)
