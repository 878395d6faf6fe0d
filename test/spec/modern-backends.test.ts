/** Modern clients over backends of every kind that speak older revisions: calls and all that comes with them. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { stringParam } from '../../src/protocol/message.ts'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { saying, startLegacy } from '../helpers/legacy.ts'
import { lastOf, logLevel, ModernClient } from '../helpers/modern.ts'
import { children } from '../helpers/processes.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { contractTools, Scripted, type Turn } from '../helpers/scripted.ts'
import { SseUpstream } from '../helpers/sse-upstream.ts'
import { stdioUpstream } from '../helpers/stdio-upstream.ts'
import { until } from '../helpers/until.ts'

type Test = Parameters<typeof startGateway>[0]

const ways: Readonly<Record<string, (t: Test, server: Scripted) => Promise<Record<string, unknown>>>> = {
  async http(t, server) {
    const upstream = await HttpUpstream.start(server)
    t.teardown(() => upstream.close())
    return { kind: 'http', url: upstream.url }
  },
  async sse(t, server) {
    const upstream = await SseUpstream.start(server)
    t.teardown(() => upstream.close())
    return { kind: 'sse', url: upstream.url }
  },
  async stdio(t, server) {
    const { command, args, close } = await stdioUpstream(server)
    t.teardown(close)
    return { kind: 'stdio', command, args }
  },
  async shared(t, server) {
    const { command, args, close } = await stdioUpstream(server)
    t.teardown(close)
    return { kind: 'stdio', command, args, scope: 'shared' }
  }
}

for (const [way, start] of Object.entries(ways)) {
  t.test(`over ${way}: calls, progress, logs by level, requests of the backend refused, cancellation`, async t => {
    const server = contractTools(new Scripted())
    server.on('logging/setLevel', turn => turn.answer('{}'))
    server.on('resources/read', turn => turn.answer('{"contents":[{"uri":"a:b","text":"x"}]}'))
    server.on('completion/complete', turn => turn.answer('{"completion":{"values":["x"]}}'))
    let held: Turn | undefined
    server.on('tools/call:held', turn => {
      held = turn
    })
    server.on('tools/call:logs', turn => {
      for (const level of ['debug', 'info', 'error']) turn.notify('notifications/message', { level, data: level })
      turn.notify('notifications/tools/list_changed')
      turn.progress(1, '"of another"')
      turn.answer('{"content":[]}')
    })
    const { url } = await startGateway(t, { backends: { docs: await start(t, server) } })
    const client = new ModernClient(url, { capabilities: { elicitation: {}, sampling: {}, roots: {} } })

    const echo = await client.call('echo', { a: 1 }, { id: 'x' })
    t.match(echo.json, { id: 'x', result: { resultType: 'complete', content: [{ text: '{"a":1}' }] } })
    t.equal(echo.headers['content-type'], 'application/json')
    const [heard] = server.heardOf('tools/call')
    t.notMatch(heard!.source.toString(), /io\.modelcontextprotocol/, 'what is of the other era stays here')

    const progress = await client.call('progress', {}, { meta: { progressToken: 'p' } })
    t.equal(progress.headers['content-type'], 'text/event-stream')
    t.equal(progress.headers['x-accel-buffering'], 'no')
    const { all, messages } = await progress.events.whole()
    t.same(
      messages.map(({ method, params }) => method && [params.progressToken, params.progress]),
      [['p', 1], ['p', 2], ['p', 3], undefined]
    )
    t.ok(
      all.every(({ id, retry }) => id === undefined && retry === undefined),
      'events have no ids'
    )

    const quiet = await lastOf(await client.call('logs'))
    t.equal(quiet.result.resultType, 'complete')
    const loud = await client.call('logs', {}, { meta: logLevel('info') })
    t.same(
      (await loud.events.whole()).messages.map(({ method, params }) => [method, params?.level]),
      [
        ['notifications/message', 'info'],
        ['notifications/message', 'error'],
        [undefined, undefined]
      ]
    )
    t.match(server.heardOf('logging/setLevel').at(-1)?.source.toString(), /"level":"info"/)

    const asked = await lastOf(await client.call('ask'))
    if (way === 'shared') t.match(asked, { result: { content: [{ text: /-32601/ }] } })
    else t.match(asked, { result: { resultType: 'input_required' } })
    t.match(await lastOf(await client.request('resources/read', { uri: 'a:b' })), { result: { ttlMs: 0 } })
    t.match(await lastOf(await client.request('completion/complete', { ref: { type: 'ref/prompt', name: 'x' } })), {
      result: { completion: { values: ['x'] } }
    })
    t.match(await lastOf(await client.call('die')), { error: { code: -32603 } })
    t.match(await lastOf(await client.call('echo')), { result: {} }, 'the next call is none the worse for it')

    const cancelled = async (open: boolean): Promise<number> => {
      held = undefined
      const abort = new AbortController()
      const call = client.call('held', {}, { signal: abort.signal, meta: { progressToken: 1 } })
      call.catch(() => {})
      await until('the call is there', () => held !== undefined)
      if (open) {
        held!.progress(1)
        const { events, destroy } = await call
        await events.message(({ method }) => method === 'notifications/progress')
        destroy()
      } else {
        abort.abort()
      }
      const left = performance.now()
      await (held as Turn | undefined)!.cancelled
      return performance.now() - left
    }
    for (const open of [false, true]) {
      // A machine that is busy with other things may be late, but not each time.
      let took = await cancelled(open)
      for (let i = 0; i < 9 && took >= 100; i++) took = await cancelled(open)
      t.ok(took < 100, `told within 100 ms, ${open ? 'after' : 'before'} the head`)
    }
  })
}

t.test('anonymous callers get an upstream session for each call, which is ended after it', async t => {
  const { url, upstream, server } = await startLegacy(t)
  const client = new ModernClient(url)
  for (let i = 0; i < 3; i++) t.equal((await client.call('echo')).status, 200)
  const sessions = new Set(
    upstream.seen.filter(({ body }) => body.includes('tools/call')).map(({ headers }) => headers['mcp-session-id'])
  )
  t.equal(sessions.size, 3)
  const deleted = () =>
    upstream.seen.filter(({ method }) => method === 'DELETE').map(({ headers }) => headers['mcp-session-id'])
  await until('they are ended', () => deleted().length === 3)
  t.same(new Set(deleted()), sessions)
  t.match(server.heardOf('initialize')[0]?.source.toString(), /"protocolVersion":"2025-11-25"/)
})

t.test('with `pool: principal` they share one, as callers do who are told apart', async t => {
  const { url, server } = await startLegacy(t, { backend: { pool: 'principal' } })
  const client = new ModernClient(url)
  for (let i = 0; i < 3; i++) t.equal((await client.call('echo')).status, 200)
  t.equal(server.heardOf('initialize').length, 1)

  const authenticator = {
    authenticate: ({ authorization }: { authorization: string | undefined }) => ({
      key: `issuer ${authorization}`,
      issuer: 'issuer',
      subject: `${authorization}`
    })
  }
  const told = await startLegacy(t, { parts: { authenticator } })
  const caller = new ModernClient(told.url)
  for (const authorization of ['a', 'b', 'a', 'b']) {
    t.equal((await caller.call('echo', {}, { headers: { authorization } })).status, 200)
  }
  t.equal(told.server.heardOf('initialize').length, 2)
  const apart = await startLegacy(t, { parts: { authenticator }, backend: { pool: 'call' } })
  const single = new ModernClient(apart.url)
  for (let i = 0; i < 2; i++) await single.call('echo', {}, { headers: { authorization: 'a' } })
  t.equal(apart.server.heardOf('initialize').length, 3, 'and one that lists')
})

t.test('upstream sessions that a backend lost are opened again, and the call is sent once more', async t => {
  const { url, upstream, server } = await startLegacy(t, { backend: { pool: 'principal' } })
  const client = new ModernClient(url)
  await client.call('echo')
  upstream.sessions.clear()
  t.equal((await client.call('echo')).json.result.resultType, 'complete')
  t.equal(server.heardOf('initialize').length, 2)
})

t.test('a child that was started for a call ends with it', async t => {
  const server = contractTools(new Scripted())
  const { command, args, close } = await stdioUpstream(server)
  t.teardown(close)
  const before = new Set(children())
  const { url } = await startGateway(t, { backends: { docs: { kind: 'stdio', command, args } } })
  const client = new ModernClient(url)
  t.equal((await client.call('echo')).status, 200)
  t.equal((await client.call('echo')).status, 200)
  await until('one is left, which lists', () => children().filter(pid => !before.has(pid)).length <= 1)
})

t.test('a child of the modern era, which keeps nothing between two calls, is one for all of them', async t => {
  const program = fileURLToPath(new URL('../fixtures/modern/stdio.ts', import.meta.url))
  const before = new Set(children())
  const { url } = await startGateway(t, {
    backends: { docs: { kind: 'stdio', command: process.execPath, args: [program] } }
  })
  const client = new ModernClient(url, { capabilities: { elicitation: { form: {} } } })
  // The first one finds out what it is.
  t.match(await lastOf(await client.call('echo', { message: 'x' })), { result: { resultType: 'complete' } })
  let most = 0
  const asked = Array.from({ length: 20 }, async () => {
    const { result } = await lastOf(await client.call('greet'))
    most = Math.max(most, children().filter(pid => !before.has(pid)).length)
    return result.resultType
  })
  t.same(new Set(await Promise.all(asked)), new Set(['input_required']))
  t.ok(most <= 2, `${most} children`)
})

t.test('a slow call is a stream from sseAfter on, and one answer to a client that takes JSON alone', async t => {
  const { url, held } = await startLegacy(t, { file: { streams: { sseAfter: '20ms' } } })
  const client = new ModernClient(url)
  const slow = client.call('held')
  const turn = await held()
  const { headers, events } = await slow
  t.equal(headers['content-type'], 'text/event-stream')
  await events.until(({ comments }) => comments.length > 0, 1_000)
  turn.answer(saying('done'))
  t.match((await events.whole()).messages, [{ result: { content: [{ text: 'done' }] } }])

  const json = client.call('held', {}, { headers: { accept: 'application/json' } })
  const second = await held()
  second.notify('notifications/message', { level: 'error', data: 'x' })
  second.answer(saying('done'))
  t.match((await json).json, { result: { content: [{ text: 'done' }] } })

  const sse = await client.call('echo', {}, { headers: { accept: 'text/event-stream' } })
  t.match((await sse.events.whole()).messages, [{ result: {} }])
})

t.test('the level of a call is never above what a session of a shared backend asked for', async t => {
  const server = contractTools(new Scripted())
  const levels: string[] = []
  server.on('logging/setLevel', turn => {
    levels.push(stringParam(turn.message, 'level')!)
    turn.answer('{}')
  })
  const { command, args, close } = await stdioUpstream(server)
  t.teardown(close)
  const { url } = await startGateway(t, { backends: { docs: { kind: 'stdio', command, args, scope: 'shared' } } })
  const session = await RawClient.open(url)
  await session.request('logging/setLevel', { level: 'info' })
  const client = new ModernClient(url)
  const ask = async (level: string) => lastOf(await client.call('echo', {}, { meta: logLevel(level) }))
  t.match(await ask('error'), { result: {} })
  t.match(await ask('debug'), { result: {} })
  t.match(await ask('warning'), { result: {} })
  t.same(levels, ['info', 'info', 'debug'], 'told of what is lowest, and not again of what it knows')
  await session.delete()
})

t.test('tasks of the two eras are never taken for each other', async t => {
  const { url, server } = await startLegacy(t)
  const extensions = { 'io.modelcontextprotocol/tasks': {}, 'com.example/x': {} }
  server.initializeResult = server.initializeResult.replace(
    '"tools":',
    `"extensions":${JSON.stringify(extensions)},"tools":`
  )
  const client = new ModernClient(url, { capabilities: { extensions } })
  t.same(
    (await client.request('server/discover')).json.result.capabilities.extensions,
    { 'com.example/x': {} },
    'what a legacy server says of the extension means nothing'
  )
  t.notMatch(server.heardOf('initialize')[0]?.source.toString(), 'modelcontextprotocol/tasks')
  t.match(server.heardOf('initialize')[0]?.source.toString(), 'com.example/x')
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const { status, json } = await client.request(method, { taskId: 'x' })
    t.equal(status, 404)
    t.equal(json.error.code, -32601)
  }
  const call = await client.request('tools/call', { name: 'echo', arguments: {}, task: { ttl: 1 } })
  t.equal(call.json.result.resultType, 'complete')
  t.notMatch(server.heardOf('tools/call')[0]?.source.toString(), 'ttl')
  t.same(
    server.heard.filter(({ method }) => method?.startsWith('tasks/')),
    []
  )
})
