/** Several instances as they go wrong in the field (REP-01 to REP-06), and what stands in Redis meanwhile (R5, R6, R8, R9; E6, E8). */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { GatewayProcess } from '../helpers/gateway-process.ts'
import { saying } from '../helpers/legacy.ts'
import { Random } from '../helpers/random.ts'
import { withoutRedis } from '../helpers/redis.ts'
import { until } from '../helpers/until.ts'
import { startWorld, type World } from './world.ts'

t.setTimeout(300_000)

const idleMs = 4_000

let started: Promise<World> | undefined

/** One world for all of them. Sessions that nobody uses are over soon. */
const start = (): Promise<World> => {
  started ??= startWorld(t, { file: { sessions: { idle: `${idleMs}ms`, perAddress: 10_000 } } })
  return started
}

type Three = [GatewayProcess, GatewayProcess, GatewayProcess]

const test = (title: string, run: (t: Test, world: World, three: Three) => Promise<void>): unknown =>
  t.test(title, { skip: withoutRedis }, async t => {
    const world = await start()
    await run(t, world, world.all.slice(0, 3) as Three)
  })

const numbers = (messages: readonly any[]): unknown[] =>
  messages.map(({ params, result, error }) => params?.progress ?? result?.content[0].text ?? error.data.reason)

/** Payloads of everything that is published from now on. */
async function eavesdrop(t: Test, { server }: World): Promise<{ channel: string; payload: string }[]> {
  const heard: { channel: string; payload: string }[] = []
  const socket = connect(server.port, '127.0.0.1').setEncoding('utf8')
  t.teardown(() => socket.destroy())
  let rest = ''
  socket.on('data', (text: string) => {
    rest += text
    const one = /\*4\r\n\$8\r\npmessage\r\n\$\d+\r\n[^\r]*\r\n\$\d+\r\n([^\r]*)\r\n\$\d+\r\n([^\r]*)\r\n/g
    let end = 0
    for (const found of rest.matchAll(one)) {
      heard.push({ channel: found[1]!, payload: found[2]! })
      end = found.index + found[0].length
    }
    rest = rest.slice(end)
  })
  const { promise: listening, resolve } = Promise.withResolvers<void>()
  socket.once('data', () => resolve())
  socket.write('PSUBSCRIBE *\r\n')
  await listening
  return heard
}

test('REP-01: a session opened at one instance, used, listened to and ended at another', async (t, world, [
  one,
  two
]) => {
  const first = await world.open(one)
  const second = world.at(first, two)
  t.equal((await second.post({ method: 'notifications/initialized' })).status, 202)
  t.match((await second.request('tools/list')).json, { result: { tools: [] } })
  const channel = await second.get()
  t.equal(channel.status, 200)
  t.match((await first.call('echo', { a: 1 })).json, { result: {} })
  t.equal((await second.delete()).status, 204)
  const after = await Promise.all([first.request('tools/list'), second.request('tools/list')])
  t.same(
    after.map(({ status }) => status),
    [404, 404]
  )
  await channel.events.whole()
})

test('REP-06: a hundred requests a second at an instance that never saw the session: one upstream request for each', async (t, world, [
  one,
  two,
  three
]) => {
  const session = await world.open(one)
  await session.call('echo')
  world.scripted.forget()
  const statuses: number[] = []
  const sending: Promise<unknown>[] = []
  for (let i = 0; i < 100; i++) {
    const at = world.at(session, i % 2 === 0 ? two : three)
    sending.push(at.call('echo', { i }).then(({ status }) => statuses.push(status)))
    await sleep(10)
  }
  await Promise.all(sending)
  t.same([...new Set(statuses)], [200])
  t.equal(statuses.length, 100)
  t.equal(world.scripted.heardOf('tools/call').length, 100)
  t.equal(world.scripted.heardOf('initialize').length, 0, 'in the one session upstream')
  await session.delete()
})

test('REP-05: what somebody without the key publishes is not heard: forged, moved, sent again, huge, no text', async (t, world, [
  one,
  two
]) => {
  const session = await world.open(one, {})
  const call = session.call('held', {}, { progressToken: 1 })
  const turn = await world.held()
  turn.progress(1)
  const { events } = await call
  const heard = await eavesdrop(t, world)
  const other = world.at(session, two)
  await other.post({ method: 'notifications/cancelled', params: { requestId: 'another', reason: 'no' } })
  await until('what instances say', () => heard.some(({ channel }) => channel.endsWith(':bus:sessions')))
  const { channel, payload } = heard.find(({ channel }) => channel.endsWith(':bus:sessions'))!
  t.notOk(payload.includes('another'), 'it is sealed')
  const news = { session: session.session, cancelled: `${session.lastId}` }
  const forged = [
    JSON.stringify(news),
    Buffer.from(JSON.stringify(news)).toString('base64url'),
    `${payload.slice(0, -2)}AA`,
    payload,
    '\u0000\ufffd',
    ''
  ]
  for (const one of forged) await world.server.command('PUBLISH', channel, one)
  const channels = [channel, ...new Set(heard.map(({ channel }) => channel))]
  for (const one of channels) await world.server.command('PUBLISH', one, payload)
  for (const one of channels) await world.server.command('PUBLISH', one, 'x'.repeat(50 << 20))
  turn.progress(2)
  await events.message(({ params }) => params?.progress === 2)
  t.same(numbers(events.messages), [1, 2], 'the call goes on')
  const cancel = { method: 'notifications/cancelled', params: { requestId: session.lastId, reason: 'yes' } }
  const cancelled = turn.cancelled
  let isOver = false
  void cancelled.then(() => {
    isOver = true
  })
  await until('signals to be heard as before', async () => {
    await other.post(cancel)
    await sleep(50)
    return isOver
  })
  t.equal(await cancelled, 'yes')
  for (const instance of world.all) t.match((await world.at(session, instance).call('echo')).json, { result: {} })
  await session.delete()
})

test('R8: nothing of a session is to be read in Redis, and records of others are no sessions', async (t, world, [
  one,
  two,
  three
]) => {
  const canary = 'canary-4f1c'
  const session = await world.open(one, { elicitation: {}, experimental: { [canary]: {} } })
  const upstream = [...world.upstream.sessions]
  const call = session.call('held', { secret: canary }, { progressToken: canary })
  const turn = await world.held()
  turn.progress(1)
  const { events } = await call
  const asked = turn.ask('elicitation/create', {
    message: canary,
    requestedSchema: { type: 'object', properties: {} }
  })
  const { id } = await events.message(({ method }) => method === 'elicitation/create')
  await world.at(session, two).post({ id, result: { action: 'accept', content: { name: canary } } })
  t.match(await asked, { result: { action: 'accept' } })
  const stored = await world.server.dump()
  t.ok(stored.length > 1_000)
  for (const secret of [canary, session.session!, ...upstream]) t.notOk(stored.includes(secret), secret)
  turn.answer(saying(canary))
  await events.whole()
  t.notOk((await world.server.dump()).includes(canary), 'nor afterwards')
  const before = await world.server.keys()
  const another = await world.open(one)
  const isRecord = (name: string): boolean => /\}$/.test(name) && !name.endsWith('{sessions}')
  const theirs = (await world.server.keys()).find(name => isRecord(name) && !before.includes(name))!
  const own = before.filter(isRecord)
  for (const name of own) await world.server.command('COPY', theirs, name, 'REPLACE')
  t.equal((await world.at(session, three).call('echo')).status, 404, 'the record of another')
  for (const name of own) await world.server.command('SET', name, '{"id":"x"}', 'PX', '60000')
  t.equal((await world.at(session, three).call('echo')).status, 404, 'no record')
  t.match((await another.call('echo')).json, { result: {} })
  await another.delete()
  for (const name of own) await world.server.command('DEL', name)
})

test('R6: signals are lost while a stream is read elsewhere: every message arrives, once, in order', async (t, world, [
  one,
  two
]) => {
  const session = await world.open(one)
  const call = session.call('held', {}, { progressToken: 1 })
  const turn = await world.held()
  turn.progress(0)
  const first = await call
  await first.events.message(({ params }) => params?.progress === 0)
  const { events } = await world.at(session, two).get(first.events.lastId)
  const count = 500
  for (let i = 1; i <= count; i++) {
    turn.progress(i)
    if (i % 100 === 50) await world.server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    if (i % 5 === 0) await sleep(2)
  }
  turn.answer(saying('done'))
  await events.whole(10_000)
  t.same(numbers(events.messages), [...Array.from({ length: count }, (_, i) => i + 1), 'done'])
  await session.delete()
})

test('E6: a client that takes nothing any more comes back at another instance: the first lets it go', async (t, world, [
  one,
  two
]) => {
  const session = await world.open(one)
  const gone = await session.get()
  t.equal(gone.status, 200)
  const streams = async (): Promise<number> => (await world.status(one)).streams
  await until('the stream', async () => (await streams()) === 1)
  gone.pause()
  const { events } = await world.at(session, two).get()
  await until('the first to be let go', async () => (await streams()) === 0)
  const say = () =>
    world.scripted.outside('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"1"}}')
  await until('somebody to listen', say)
  await events.message(({ method }) => method === 'notifications/message')
  gone.destroy()
  await session.delete()
})

test('R9: the clock of an instance is ten minutes wrong: sessions live as long as ever', async (t, world, [one]) => {
  const wrong = []
  for (const by of [600_000, -600_000]) {
    const shift = encodeURIComponent(`const now=Date.now;Date.now=()=>now()+(${by})`)
    wrong.push(await world.start({ NODE_OPTIONS: `--import=data:text/javascript,${shift}` }))
  }
  const session = await world.open(wrong[0]!)
  const all = [one, ...wrong]
  const began = performance.now()
  for (let i = 0; performance.now() - began < 1.5 * idleMs; i++) {
    const { status } = await world.at(session, all[i % 3]!).call('echo')
    if (status !== 200) t.fail(`${status} after ${(performance.now() - began) | 0} ms`)
    await sleep(idleMs / 10)
  }
  await sleep(1.2 * idleMs)
  for (const instance of all) t.equal((await world.at(session, instance).call('echo')).status, 404, 'unused it is over')
  for (const instance of all) t.equal((await world.status(instance)).sessions, 0)
  await Promise.all(wrong.map(({ stop }) => stop()))
})

test('E8: sessions that nobody ends, at any instance: nothing of them is left, anywhere', async (t, world, three) => {
  const random = new Random(8)
  for (let i = 0; i < 60; i++) {
    const session = await world.open(random.pick(three))
    await world.at(session, random.pick(three)).call('echo')
    const { destroy } = await world.at(session, random.pick(three)).get()
    destroy()
  }
  t.ok((await world.server.keys()).length > 60)
  t.equal((await world.status(three[0])).sessions, 60, 'those of all are counted')
  const left = async (): Promise<string[]> => (await world.server.keys()).filter(name => !name.includes(':alive:'))
  const ofSessions = async () => (await left()).filter(name => !name.includes('{sessions}'))
  await until('their records and streams to go', async () => (await ofSessions()).length === 0, 3 * idleMs)
  await until('the sessions upstream to be ended', () => world.upstream.sessions.size === 0, 3 * idleMs)
  for (const instance of three) t.match(await world.status(instance), { sessions: 0, streams: 0 })
  t.same(await left(), [], 'whoever counts them clears the index')
})
