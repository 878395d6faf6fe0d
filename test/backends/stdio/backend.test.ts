import t, { type Test } from 'tap'
import { Backoff } from '../../../src/backends/backoff.ts'
import { GatewayError } from '../../../src/errors.ts'
import { bytes, value } from '../../../src/protocol/write.ts'
import { facts } from '../../../src/telemetry/events.ts'
import { endOf, startChild } from '../../helpers/child.ts'
import { Clock } from '../../helpers/clock.ts'
import { children, runs } from '../../helpers/processes.ts'
import { all, call, client, fixture, open, stdioBackend, textOf } from '../../helpers/stdio.ts'
import { until } from '../../helpers/until.ts'

t.afterEach(async t => {
  await until('no child is left, not even a zombie', () => children().length === 0).catch(error => t.error(error))
})

/** What the test runner puts into every child of its own. */
const ofTheTestRunner = /^(_TAPJS_.*|NODE_OPTIONS)$/

const drops = (t: Test): string[] => {
  const reasons: string[] = []
  t.teardown(facts.drop.subscribe(({ reason }) => reasons.push(reason)))
  return reasons
}

t.test('BKD-08 each link of scope session has a child of its own, and its state', async t => {
  const backend = stdioBackend()
  const [one, two] = await Promise.all([open(backend), open(backend)])
  for (const expected of ['1', '2', '3']) t.equal(await textOf(call(one.link, 'increment')), expected)
  t.equal(await textOf(call(two.link, 'increment')), '1')
  await Promise.all([one.link.close(), two.link.close()])
  t.same([...one.ended, ...two.ended], [], 'a link that was closed has not ended by itself')
})

t.test(
  'the handshake offers the latest version with what the client said, and keeps the answer as it came',
  async t => {
    const backend = stdioBackend()
    const { link } = await open(backend)
    t.equal(link.era, 'legacy')
    t.equal(link.state, undefined)
    t.equal(link.server.version, '2025-11-25')
    t.same(link.server.capabilities, { tools: {} })
    t.match(link.server.result, '"serverInfo":{"name":"fixture"')
    const [initialize, initialized] = JSON.parse(await textOf(call(link, 'seen')))
    t.same(initialize.params, {
      protocolVersion: '2025-11-25',
      capabilities: { roots: {} },
      clientInfo: { name: 'c', version: '1' }
    })
    t.same(initialized, { jsonrpc: '2.0', method: 'notifications/initialized' })
    await backend.close()
  }
)

t.test('S14 a child gets its arguments without a shell, and an environment that holds none of our secrets', async t => {
  process.env.CAUSEWAY_TEST_SECRET = 'x'
  t.teardown(() => delete process.env.CAUSEWAY_TEST_SECRET)
  const backend = stdioBackend(['$(touch /tmp/never)', '; exit 1', '*'], { env: { TOKEN: 'mine', LANG: 'C.UTF-8' } })
  const { link } = await open(backend)
  const environment = JSON.parse(await textOf(call(link, 'environment')))
  const allowed = ['PATH', 'HOME', 'LANG', 'USER', 'SHELL', 'TERM', 'TMPDIR', 'TOKEN']
  t.same(
    Object.keys(environment).filter(name => !allowed.includes(name) && !ofTheTestRunner.test(name)),
    []
  )
  t.match(environment, { PATH: process.env.PATH, TOKEN: 'mine', LANG: 'C.UTF-8' })
  await backend.close()
})

t.test('BKD-01 noise on stdout is skipped and counted, before and between messages', async t => {
  const reasons = drops(t)
  const backend = stdioBackend(['--banner'])
  const { link, received } = await open(backend)
  t.equal(reasons.length, 7)
  const lines = [
    'plain text\n\n  \r\n',
    'null\n[]\n{}\n1\n{"id":$ID,"result":{}}\n',
    '{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":""}}\n',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"kept"}}\r\n',
    'Content-Length: 5\r\n\r\n',
    '{"jsonrpc":"2.0","id":$ID,"result":{"n":1.0}}\r\n'
  ]
  const texts = (await all(call(link, 'raw', { lines }))).map(message => bytes(message).toString())
  t.match(texts[0], '"data":"kept"}}')
  t.match(texts[1], /^\{"jsonrpc":"2.0","id":\d+,"result":\{"n":1.0\}\}$/)
  t.equal(texts.length, 2)
  t.equal(reasons.length - 7, 9)
  t.ok(reasons.every(reason => reason === 'noise'))
  t.same(received, [])
  await backend.close()
})

t.test('BKD-01 a flood on stderr blocks nothing and fails nothing', async t => {
  const backend = stdioBackend()
  let notices = 0
  t.teardown(facts.notice.subscribe(({ level }) => void (level === 'info' && notices++)))
  const { link, ended } = await open(backend)
  t.equal(await textOf(call(link, 'flood-stderr', { lines: 3_000 })), 'done')
  await until('the log was read', () => notices >= 20)
  t.same(ended, [])
  await backend.close()
})

t.test('BKD-01 a child that only ever writes garbage fails its start in time', async t => {
  const backend = stdioBackend([], {
    args: ['-e', 'setInterval(() => console.log("starting..."), 5); process.stdin.resume()'],
    timeout: 200
  })
  await t.rejects(open(backend), { code: 'timeout', backend: 'files' })
  t.same(children(), [], 'nothing is left behind')
})

t.test('SSE-01 SSE-05 text that comes byte by byte, and separators of other languages, arrive unharmed', async t => {
  const backend = stdioBackend()
  const { link } = await open(backend)
  const text = '你好😀“ \u2028\u2029\u0085\v\f'
  t.equal(await textOf(call(link, 'bytewise', { text })), text)
  t.equal(await textOf(call(link, 'echo', { text })), JSON.stringify({ text }))
  await backend.close()
})

t.test('a message that was written on several lines is sent on one', async t => {
  const backend = stdioBackend()
  const { link } = await open(backend)
  const { readMessage } = await import('../../../src/protocol/message.ts')
  const request = readMessage(
    Buffer.from('{\r\n "jsonrpc":"2.0",\n"id":"a","method":"tools/call","params":{"name":"echo","arguments":\n[1]}}\n'),
    64
  )
  t.equal(await textOf(link.exchange(request, { principal: { key: 'anonymous' } })), '[1]')
  await backend.close()
})

t.test('SSE-06 20 MB in one line arrive, and over the bound the call fails and the child stays usable', async t => {
  const backend = stdioBackend()
  const { link } = await open(backend)
  t.equal((await textOf(call(link, 'big', { bytes: 20_000_000 }))).length, 20_000_000)
  await backend.close()
  const small = stdioBackend([], { limits: { upstream: 100_000 } })
  const opened = await open(small)
  const [large, other] = [call(opened.link, 'big', { bytes: 250_000 }), call(opened.link, 'increment')]
  await t.rejects(all(large), { code: 'backend_too_large' })
  t.equal(await textOf(other), '1')
  t.equal(await textOf(call(opened.link, 'increment')), '2')
  t.same(opened.ended, [])
  await small.close()
})

t.test('SSE-06 a request of the upstream that is too large is dropped and fails no call', async t => {
  const reasons = drops(t)
  const backend = stdioBackend([], { limits: { upstream: 10_000 } })
  const { link } = await open(backend)
  const lines = [
    `{"method":"sampling/createMessage","params":{"x":"${'x'.repeat(20_000)}"},"jsonrpc":"2.0","id":2}\n`,
    '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"text":"fine"}]}}\n'
  ]
  t.equal(await textOf(call(link, 'raw', { lines })), 'fine')
  t.same(reasons, ['too_large'])
  await backend.close()
})

t.test('SSE-06 a line without an end costs its call, then its child, and no memory', async t => {
  const backend = stdioBackend([], { limits: { upstream: 1_000_000 } })
  const { link, ended } = await open(backend)
  await t.rejects(all(call(link, 'endless-line')), { code: 'backend_too_large' })
  await until('the link ended', () => ended.length === 1)
  t.match(ended[0], { code: 'backend_broke' })
  await backend.close()
})

t.test('SSE-06 an answer before the exit is delivered although its line has no end', async t => {
  const backend = stdioBackend()
  const { link, ended } = await open(backend)
  const messages = await all(call(link, 'answer-and-exit'))
  t.same(value(messages[0]!).result, { content: [] })
  await until('the link ended', () => ended.length === 1)
})

t.test('an answer that is too deep or not quite JSON fails its call, and nothing else', async t => {
  const backend = stdioBackend([], { limits: { depth: 10 } })
  const { link } = await open(backend)
  for (const result of [`${'['.repeat(20)}${']'.repeat(20)}`, '{"a":}', '{"a":1']) {
    const lines = [`{"jsonrpc":"2.0","id":$ID,"result":${result}}\n`]
    await t.rejects(all(call(link, 'raw', { lines })), { code: 'backend_invalid' })
  }
  t.equal(await textOf(call(link, 'increment')), '1')
  await backend.close()
})

t.test('CAN-01 a cancel reaches the child with its own id of the call, and ends the exchange', async t => {
  const backend = stdioBackend()
  const { link } = await open(backend)
  const silent = call(link, 'silent')
  const waiting = silent.next()
  silent.cancel('enough')
  t.same(await waiting, { done: true, value: undefined })
  const seen = JSON.parse(await textOf(call(link, 'seen'))) as { id?: number; params?: { name?: string } }[]
  const number = seen.find(({ params }) => params?.name === 'silent')?.id
  t.same(JSON.parse(await textOf(call(link, 'cancelled'))), [{ requestId: number, reason: 'enough' }])
  await backend.close()
})

t.test('CAN-05 B7 64 callers with the same id and token share a child and get what is theirs', async t => {
  const backend = stdioBackend([], { scope: 'shared' })
  const links = await Promise.all(Array.from({ length: 64 }, () => open(backend)))
  t.equal(children().length, 1)
  const { makeRequest } = await import('../../../src/protocol/make.ts')
  const answers = await Promise.all(
    links.map(({ link }, i) => {
      const params = { name: i % 2 ? 'progress' : 'echo', arguments: { count: 3, i }, _meta: { progressToken: 1 } }
      return all(link.exchange(makeRequest('1', 'tools/call', params), { principal: { key: 'anonymous' } }))
    })
  )
  for (const [i, messages] of answers.entries()) {
    const values = messages.map(message => value(message))
    t.match(values.at(-1), { id: 1, result: { content: [{ text: i % 2 ? 'done' : `{"count":3,"i":${i}}` }] } })
    t.same(
      values.slice(0, -1).map(({ params }) => params),
      i % 2 ? [1, 2, 3].map(progress => ({ progressToken: 1, progress })) : []
    )
  }
  await backend.close()
  t.ok(links.every(({ ended }) => ended.length === 1))
})

t.test('a shared child is told no capabilities and our own name', async t => {
  const backend = stdioBackend([], { scope: 'shared', info: '{"name":"causeway","version":"9"}' })
  const { link } = await open(backend)
  const [initialize] = JSON.parse(await textOf(call(link, 'seen')))
  t.same(initialize.params.capabilities, {})
  t.same(initialize.params.clientInfo, { name: 'causeway', version: '9' })
  await backend.close()
})

t.test('a shared child is started once, left by one link after the other, and ends with the last', async t => {
  const backend = stdioBackend([], { scope: 'shared' })
  const [one, two] = await Promise.all([open(backend), open(backend)])
  const [pid] = children()
  t.equal(await textOf(call(one.link, 'increment')), '1')
  const left = all(call(one.link, 'silent'))
  await one.link.close()
  t.same(await left, [])
  t.equal(await textOf(call(two.link, 'increment')), '2')
  t.equal(JSON.parse(await textOf(call(two.link, 'cancelled'))).length, 1, 'the child was told')
  t.same(children(), [pid])
  await Promise.all([two.link.close(), two.link.close()])
  t.same(children(), [])
  const again = await open(backend)
  t.equal(await textOf(call(again.link, 'increment')), '1')
  await again.link.close()
})

t.test(
  'one who gives up does not end the start of a shared child for the others; without others it is ended',
  async t => {
    const backend = stdioBackend([], { scope: 'shared' })
    const abort = new AbortController()
    const first = open(backend, { signal: abort.signal })
    const second = open(backend)
    abort.abort()
    await t.rejects(first, { code: 'backend_unavailable' })
    t.equal(await textOf(call((await second).link, 'increment')), '1')
    await (await second).link.close()
    const alone = new AbortController()
    const third = open(backend, { signal: alone.signal })
    alone.abort()
    await t.rejects(third, { code: 'backend_unavailable' })
  }
)

t.test('what belongs to no exchange is received; with several links a request by one of them', async t => {
  const backend = stdioBackend([], { scope: 'shared' })
  const [one, two] = await Promise.all([open(backend), open(backend)])
  const exchange = call(one.link, 'log')
  t.same(
    (await all(exchange)).map(message => message.method),
    ['notifications/message', undefined]
  )
  t.same(
    one.received.map(({ method }) => method),
    ['notifications/tools/list_changed']
  )
  t.same(
    two.received.map(({ method }) => method),
    ['notifications/tools/list_changed']
  )
  const [a, b] = [call(one.link, 'ask'), call(two.link, 'silent')]
  const answer = all(a)
  await until('the request came', () => one.received.length + two.received.length === 3)
  b.cancel()
  const request = [...one.received, ...two.received].find(({ kind }) => kind === 'request')!
  const { makeResult } = await import('../../../src/protocol/make.ts')
  await two.link.send(makeResult(request.id!, { action: 'decline' }))
  t.match(value((await answer)[0]!), { result: { content: [{ text: '{"action":"decline"}' }] } })
  await backend.close()
})

t.test('what comes before the link is handed out is received after it, and a ping is answered at once', async t => {
  const backend = stdioBackend(['--early'])
  const { link, received } = await open(backend)
  await until('it came', () => received.length === 1)
  t.match(bytes(received[0]!).toString(), '"data":"early"')
  const seen = JSON.parse(await textOf(call(link, 'seen')))
  t.same(seen[1], { jsonrpc: '2.0', id: 'early', result: {} })
  await backend.close()
})

t.test('what comes before the link is handed out is bounded', async t => {
  const reasons = drops(t)
  const backend = stdioBackend(['--early-flood'])
  const { received } = await open(backend)
  await until('it came', () => received.length === 256)
  t.same(reasons, Array(44).fill('too_early'))
  await backend.close()
})

t.test('a request of the upstream comes on the only exchange, and its answer goes back', async t => {
  const backend = stdioBackend()
  const { link } = await open(backend)
  const exchange = call(link, 'ask')
  const { value: request } = await exchange.next()
  t.equal(request?.method, 'elicitation/create')
  const { makeResult } = await import('../../../src/protocol/make.ts')
  await link.send(makeResult(request!.id!, { action: 'accept' }))
  t.equal(await textOf(exchange), '{"action":"accept"}')
  await backend.close()
})

t.test(
  'BKD-03 B2 a child that dies in a call fails every call at once, ends its link, and nothing is sent again',
  async t => {
    const backend = stdioBackend()
    const { link, ended } = await open(backend)
    const silent = Array.from({ length: 20 }, () => call(link, 'silent'))
    const results = await Promise.allSettled([...silent.map(all), all(call(link, 'die-mid-line'))])
    for (const result of results) {
      t.match(result, { status: 'rejected', reason: { code: 'backend_broke', backend: 'files' } })
    }
    t.match(ended, [{ code: 'backend_broke', message: /exited with code 1/ }])
    t.equal(ended.length, 1)
    await t.rejects(all(call(link, 'increment')), { code: 'backend_broke' })
    await t.rejects(link.send((await import('../../../src/protocol/make.ts')).makeNotification('x')), GatewayError)
    await link.close()
  }
)

t.test('B2 what a child said before it died is read in order, then the call fails', async t => {
  const backend = stdioBackend()
  const { link, ended } = await open(backend)
  let read = 0
  const reading = (async () => {
    for await (const message of call(link, 'flood-and-exit', { count: 2_000 })) {
      t.equal((value(message) as { params: { data: number } }).params.data, read++)
      if (read % 10 === 0) await new Promise(resolve => setImmediate(resolve))
    }
  })()
  await t.rejects(reading, { code: 'backend_broke' })
  t.equal(read, 2_000)
  t.equal(ended.length, 1)
})

t.test('a child whose call is read slowly is held back instead of filling our memory', async t => {
  const backend = stdioBackend()
  const { link } = await open(backend)
  const { promise, resolve } = Promise.withResolvers<number>()
  t.teardown(facts.notice.subscribe(({ text }) => text.startsWith('waiting') && resolve(Number(text.split(' ')[1]))))
  const exchange = call(link, 'flood-measured')
  await exchange.next()
  t.ok((await promise) > 2_000_000)
  exchange.detach()
  await backend.close()
})

t.test('BKD-03 without free file descriptors a start fails and the gateway lives', async t => {
  const gateway = startChild('sh', ['-c', `ulimit -n 40 && exec "$0" ${fixture('descriptors.ts')}`, process.execPath])
  t.equal(await gateway.line(line => line), 'backend_unavailable')
  t.equal(await endOf(gateway, 5_000), 0)
})

t.test('BKD-03 a command line that is too long for the system is an error of the opening', async t => {
  const backend = stdioBackend(['x'.repeat(1_000_000)])
  await t.rejects(open(backend), { code: 'backend_unavailable', message: /cannot start/ })
})

t.test('BKD-03 SIGKILL under load, and while idle', async t => {
  const backend = stdioBackend([], { backoff: new Backoff(new Clock().now) })
  const [busy, idle] = await Promise.all([open(backend), open(backend)])
  const calls = Array.from({ length: 20 }, () => all(call(busy.link, 'silent')))
  for (const pid of children()) process.kill(pid, 'SIGKILL')
  for (const result of await Promise.allSettled(calls)) {
    t.match(result, {
      status: 'rejected',
      reason: { code: 'backend_broke', message: /ended by SIGKILL|its input is closed/ }
    })
  }
  await until('both links ended', () => busy.ended.length === 1 && idle.ended.length === 1)
})

t.test('BKD-03 a child that closes its output or its input is of no use any more', async t => {
  for (const [tool, what] of [
    ['close-output', 'output'],
    ['close-input', 'input']
  ] as const) {
    const backend = stdioBackend([], { graces: { input: 100, terminate: 100 } })
    const { link, ended } = await open(backend)
    const first = call(link, tool)
    if (tool === 'close-output') await t.rejects(all(first), { code: 'backend_broke' })
    else {
      t.equal(await textOf(first), 'done')
      await t.rejects(all(call(link, 'echo', 'x'.repeat(100_000))), { code: 'backend_broke' })
    }
    await until('the link ended', () => ended.length === 1)
    t.match(ended[0]?.message, new RegExp(`closed its ${what}|exited|ended by`))
    await backend.close()
  }
})

t.test('BKD-03 a command that cannot be started, exits at once or refuses is a clear error', async t => {
  const cases: [Parameters<typeof stdioBackend>, { code: string; message?: RegExp }][] = [
    [
      [[], { command: 'no-such-program-anywhere' }],
      { code: 'backend_unavailable', message: /cannot start "no-such-program-anywhere": no such program/ }
    ],
    [[[], { command: fixture('server.mjs') }], { code: 'backend_unavailable', message: /may not be executed/ }],
    [
      [[], { cwd: '/no/such/folder' }],
      { code: 'backend_unavailable', message: /no such program, or no such working directory/ }
    ],
    [[['--exit-at-initialize']], { code: 'backend_unavailable', message: /exited with code 3/ }],
    [[['--refuses']], { code: 'backend_unavailable', message: /refused initialize/ }],
    [[['--no-version']], { code: 'backend_invalid', message: /protocolVersion/ }],
    [[['--future']], { code: 'backend_invalid', message: /2099-01-01/ }],
    [[['--never-answers'], { timeout: 100 }], { code: 'timeout' }]
  ]
  for (const [options, expected] of cases) {
    const backend = stdioBackend(...options)
    await t.rejects(open(backend), { backend: 'files', ...expected })
    t.same(children(), [], 'nothing is left behind')
  }
})

t.test('B3 an opening that is given up leaves nothing behind and counts as no failure', async t => {
  const backend = stdioBackend(['--never-answers'])
  const abort = new AbortController()
  const opening = open(backend, { signal: abort.signal })
  await until('the child runs', () => children().length === 1)
  abort.abort()
  await t.rejects(opening, { code: 'backend_unavailable' })
  t.same(children(), [])
  await t.rejects(open(backend, { signal: AbortSignal.abort() }), { code: 'backend_unavailable' })
})

t.test('B3 a tuned time-out bounds the next handshake', async t => {
  const backend = stdioBackend(['--never-answers'])
  backend.tune({ timeout: 50 })
  backend.tune({})
  await t.rejects(open(backend), { code: 'timeout' })
})

t.test(
  'BKD-03 B13 after a crash the next start waits when that is short, and is refused with a time when it is long',
  async t => {
    const clock = new Clock()
    const backoff = new Backoff(clock.now, () => 0)
    const backend = stdioBackend([], { backoff })
    const states: boolean[] = []
    t.teardown(facts.backend.subscribe(({ up }) => states.push(up)))
    const crash = async () => {
      const { link, ended } = await open(backend)
      await t.rejects(all(call(link, 'exit')), { code: 'backend_broke' })
      t.equal(ended.length, 1)
    }
    await crash()
    t.equal(backoff.remaining, 1_000)
    clock.advance(950)
    await crash()
    clock.advance(2_000)
    t.equal(backoff.remaining, 0, 'the second crash came within the first wait and counts as that one')
    for (let i = 0; i < 3; i++) {
      clock.advance(30_000)
      await crash()
    }
    t.equal(backoff.remaining, 8_000)
    await t.rejects(open(backend), { code: 'backend_unavailable', data: { retryAfter: 8 } })
    clock.advance(8_000)
    const { link } = await open(backend)
    t.equal(await textOf(call(link, 'increment')), '1', 'a new child, with new state')
    t.same(states, [true, false, true, false, true, false, true, false, true, false, true])
    await backend.close()
  }
)

t.test('a start that fails is told once', async t => {
  const backend = stdioBackend([], { args: ['-e', 'process.exit(3)'] })
  const told: string[] = []
  t.teardown(facts.notice.subscribe(({ text }) => told.push(text)))
  await t.rejects(open(backend), { code: 'backend_unavailable' })
  t.same(told, [`backend "files": "${process.execPath}" exited with code 3`])
  await backend.close()
})

t.test('no more processes than allowed run at once', async t => {
  const backend = stdioBackend([], { maxProcesses: 2 })
  const [one] = await Promise.all([open(backend), open(backend)])
  await t.rejects(open(backend), { code: 'backend_unavailable', message: /2/ })
  await one.link.close()
  const third = await open(backend)
  await third.link.close()
  await backend.close()
})

t.test('close ends stdin first, then sends SIGTERM, then SIGKILL, to everything the child started', async t => {
  const backend = stdioBackend(['--ignore-signals'], { graces: { input: 50, terminate: 50 } })
  const { link, ended } = await open(backend)
  const grandchild = Number(await textOf(call(link, 'grandchild')))
  const silent = all(call(link, 'silent'))
  t.ok(runs(grandchild))
  await link.close()
  t.same(await silent, [], 'open exchanges end as cancelled')
  t.same(children(), [])
  await until('the grandchild is gone', () => !runs(grandchild))
  t.same(ended, [])
  await t.rejects(all(call(link, 'increment')), { code: 'backend_unavailable' })
  await t.rejects(link.send((await import('../../../src/protocol/make.ts')).makeNotification('x')), {
    code: 'backend_unavailable'
  })
})

t.test('what a crashed child started is ended too', async t => {
  const backend = stdioBackend([], { graces: { input: 50, terminate: 50 } })
  const { link } = await open(backend)
  const grandchild = Number(await textOf(call(link, 'grandchild')))
  await t.rejects(all(call(link, 'exit')), { code: 'backend_broke' })
  await until('the grandchild is gone', () => !runs(grandchild))
  await backend.close()
})

t.test('a closed backend starts nothing, and tells its links', async t => {
  const backend = stdioBackend()
  const { link, ended } = await open(backend)
  const silent = all(call(link, 'silent'))
  silent.catch(() => {})
  await backend.close()
  await t.rejects(silent, { code: 'backend_broke' })
  t.equal(ended.length, 1)
  await t.rejects(open(backend), { code: 'backend_unavailable' })
})

t.test('a child that does not read its input fails calls instead of filling our memory', async t => {
  const backend = stdioBackend([], { graces: { input: 50, terminate: 50 } })
  const { link } = await open(backend)
  await all(call(link, 'stop-reading'))
  const calls = Array.from({ length: 12 }, () => call(link, 'echo', 'x'.repeat(2_000_000)))
  await t.rejects(all(calls.at(-1)!), { code: 'overloaded' })
  await link.close()
  for (const exchange of calls.slice(0, 8)) t.same(await all(exchange), [])
})

t.test('a link on a pipe cannot be resumed and needs no listening', async t => {
  const backend = stdioBackend()
  const { link } = await open(backend)
  link.listen(true)
  await t.rejects(all(link.resume('1', '', { principal: { key: 'anonymous' } })), { code: 'internal' })
  await backend.close()
})

t.test('the identity is what makes it this backend', t => {
  const base = stdioBackend([], { env: { A: '1', B: '2' } }).identity
  t.equal(stdioBackend([], { env: { B: '2', A: '1' }, timeout: 5, maxProcesses: 1 }).identity, base)
  const others = [
    stdioBackend(['-x'], { env: { A: '1', B: '2' } }),
    stdioBackend([], { env: { A: '1', B: '3' } }),
    stdioBackend([], { env: { A: '1', B: '2' }, scope: 'shared' }),
    stdioBackend([], { env: { A: '1', B: '2' }, cwd: '/' }),
    stdioBackend([], { env: { A: '1', B: '2' }, command: 'x' })
  ]
  t.equal(new Set([base, ...others.map(({ identity }) => identity)]).size, 6)
  t.match(client.version, '2025')
  t.end()
})
