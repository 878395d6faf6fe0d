import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import type { Config } from '../../src/config/config.ts'
import { GatewayError } from '../../src/errors.ts'
import { facts, type RequestFact } from '../../src/telemetry/events.ts'
import { createLogger, type Logger, type LoggerOptions } from '../../src/telemetry/logger.ts'

type Line = Record<string, unknown>
type Logging = Config['logging']

const open = (
  t: Test,
  level: Logging['level'] = 'info',
  options: LoggerOptions = {},
  format: Logging['format'] = 'json'
): { logger: Logger; lines: () => Promise<Line[]>; raw: () => string } => {
  let written = ''
  const logger = createLogger(
    { level, format },
    {
      destination: {
        write: text => {
          written += text
        }
      },
      ...options
    }
  )
  t.teardown(() => logger.close())
  const lines = async (): Promise<Line[]> => {
    await logger.close()
    return written
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as Line)
  }
  return { logger, lines, raw: () => written }
}

const request: RequestFact = {
  id: 'r1',
  route: '/mcp',
  http: 'POST',
  status: 200,
  method: 'tools/call',
  name: 'search',
  backend: 'docs',
  session: '0123456789ab',
  version: '2025-11-25',
  outcome: 'ok',
  durationMs: 12.3456,
  address: '192.0.2.7'
}

t.test('a request is one line with what is known of it', async t => {
  const { lines } = open(t)
  facts.request.publish(request)
  const [line, ...rest] = await lines()
  t.same(rest, [])
  t.type(line?.time, 'number')
  t.same(line, {
    level: 'info',
    time: line?.time,
    reqId: 'r1',
    route: '/mcp',
    http: 'POST',
    status: 200,
    method: 'tools/call',
    name: 'search',
    backend: 'docs',
    session: '0123456789ab',
    version: '2025-11-25',
    outcome: 'ok',
    durMs: 12.35,
    client: '192.0.2.7',
    msg: 'request'
  })
})

t.test('docs/observability.md lists the fields of a request line', async t => {
  const { lines } = open(t)
  facts.request.publish({ ...request, error: 'timeout' })
  const [line] = await lines()
  const docs = await readFile(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  const fields = [...docs.matchAll(/^\| `(\w+)` \| [^|]+ \|$/gm)].map(([, name]) => name)
  t.same(
    fields,
    Object.keys(line ?? {}).filter(key => !['level', 'time', 'msg'].includes(key))
  )
})

t.test('a refused request says why, and members that are not known are left out', async t => {
  const { lines } = open(t)
  const { id, route, http, address } = request
  facts.request.publish({ id, route, http, status: 404, outcome: 'rejected', error: 'path', durationMs: 0.1, address })
  const [line] = await lines()
  t.same(Object.keys(line ?? {}).sort(), [
    'client',
    'durMs',
    'error',
    'http',
    'level',
    'msg',
    'outcome',
    'reqId',
    'route',
    'status',
    'time'
  ])
  t.match(line, { status: 404, outcome: 'rejected', error: 'path' })
})

t.test('what peers chose is bounded and cannot break a line (S13)', async t => {
  const { lines } = open(t)
  facts.request.publish({ ...request, name: `a\nb${'x'.repeat(5_000)}`, method: 'y'.repeat(5_000) })
  const [line, ...rest] = await lines()
  t.same(rest, [])
  t.equal(String(line?.name).length, 201)
  t.equal(String(line?.method).length, 201)
})

t.test('at warn nobody listens to requests: they cost nothing', async t => {
  const { lines } = open(t, 'warn')
  t.notOk(facts.request.wanted)
  t.notOk(facts.session.wanted)
  t.notOk(facts.drop.wanted)
  facts.backend.publish({ backend: 'docs', up: true })
  facts.backend.publish({ backend: 'docs', up: false, reason: 'connection refused' })
  t.match(await lines(), [{ level: 'warn', msg: 'backend down', backend: 'docs', reason: 'connection refused' }])
})

t.test('another level, format and secret, while it runs (LIF-03)', async t => {
  const { logger, raw } = open(t, 'warn')
  logger.info('unheard')
  logger.tune({ level: 'info', format: 'json' }, ['a-new-secret'])
  t.ok(facts.request.wanted)
  logger.info('heard, with a-new-secret')
  logger.tune({ level: 'info', format: 'pretty' }, [])
  logger.info('for people, with a-new-secret')
  logger.tune({ level: 'silent', format: 'pretty' }, [])
  t.notOk(facts.request.wanted)
  logger.error('unheard')
  await logger.close()
  const [json = '', pretty = ''] = raw().split('\n')
  t.equal(JSON.parse(json).msg, 'heard, with ***')
  t.match(pretty, /^[^{].*for people, with \*\*\*/)
  t.notMatch(raw(), 'unheard')
})

t.test('silent listens to nothing', async t => {
  const { lines } = open(t, 'silent')
  for (const topic of Object.values(facts)) t.notOk(topic.wanted)
  t.same(await lines(), [])
})

t.test('sessions and drops are told at debug, drops of a kind together', async t => {
  const { lines } = open(t, 'debug')
  facts.session.publish({ route: '/mcp', session: '0123456789ab', version: '2025-11-25', event: 'opened' })
  for (let i = 0; i < 1_000; i++) facts.drop.publish({ reason: 'noise', backend: 'files' })
  facts.drop.publish({ reason: 'noise', backend: 'files', count: 5 })
  facts.drop.publish({ reason: 'log_failed' })
  facts.session.publish({
    route: '/mcp',
    session: '0123456789ab',
    version: '2025-11-25',
    event: 'closed',
    reason: 'expired',
    durationMs: 5
  })
  t.match(await lines(), [
    { level: 'debug', msg: 'session opened', session: '0123456789ab' },
    { level: 'debug', msg: 'session closed', reason: 'expired' },
    { level: 'debug', msg: 'dropped', reason: 'noise', backend: 'files', count: 1_005 },
    { level: 'debug', msg: 'dropped', reason: 'log_failed', count: 1 }
  ])
})

t.test('drops are told within about a second while the gateway runs', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { raw } = open(t, 'debug')
  facts.drop.publish({ reason: 'noise' })
  mock.timers.tick(1_000)
  mock.timers.tick(500)
  t.match(raw(), '"reason":"noise"')
})

t.test('notices carry their data and the chain of causes', async t => {
  const { lines } = open(t)
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', socket: { huge: true } })
  facts.notice.publish({
    level: 'error',
    text: 'a backend failed',
    backend: 'docs',
    error: new GatewayError('backend_unavailable', 'no connection', { cause }),
    data: { attempt: 3, url: 'http://docs/mcp' }
  })
  facts.notice.publish({ level: 'debug', text: 'not at this level' })
  const [line, ...rest] = await lines()
  t.same(rest, [])
  t.match(line, {
    level: 'error',
    msg: 'a backend failed',
    backend: 'docs',
    attempt: 3,
    url: 'http://docs/mcp',
    error: {
      type: 'GatewayError',
      code: 'backend_unavailable',
      message: 'no connection',
      stack: String,
      cause: { type: 'Error', code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' }
    }
  })
  t.notMatch(JSON.stringify(line), 'huge')
})

t.test('lines of the program itself go the same way', async t => {
  const { logger, lines } = open(t, 'debug')
  logger.debug('one')
  logger.info('two', { url: 'http://127.0.0.1:8080/mcp' })
  logger.warn('three', { error: new Error('reason') })
  logger.error('four')
  t.match(await lines(), [
    { level: 'debug', msg: 'one' },
    { level: 'info', msg: 'two', url: 'http://127.0.0.1:8080/mcp' },
    { level: 'warn', msg: 'three', error: { message: 'reason' } },
    { level: 'error', msg: 'four' }
  ])
})

t.test('a quiet gateway prints its request lines within a second', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { raw } = open(t)
  facts.request.publish(request)
  t.equal(raw(), '', 'lines are gathered')
  mock.timers.tick(1_000)
  t.match(raw(), '"reqId":"r1"')
})

t.test('many lines do not wait for the clock', async t => {
  const { raw } = open(t)
  for (let i = 0; i < 100; i++) facts.request.publish(request)
  t.ok(raw().length > 16_000)
})

t.test('after close nothing is listened to and nothing written; closing twice is fine', async t => {
  const listeners = () => process.listenerCount('exit') + process.listenerCount('beforeExit')
  const before = listeners()
  const { logger, raw } = open(t)
  t.equal(listeners(), before + 2)
  await logger.close()
  for (const topic of Object.values(facts)) t.notOk(topic.wanted)
  await logger.close()
  t.equal(raw(), '')
  t.equal(listeners(), before)
})

t.test('pretty lines are for people, and names of peers cannot move the cursor (S13)', async t => {
  const { logger, raw } = open(t, 'info', {}, 'pretty')
  facts.request.publish({ ...request, name: 'a\u001b[2Jb\u202ec d', method: undefined })
  logger.warn('look\r\nhere', { error: new Error('reason'), list: [1, 2], nothing: null })
  await logger.close()
  const [first, second, ...stack] = raw().split('\n')
  t.match(first, /^\d\d:\d\d:\d\d\.\d{3} info {2}request reqId=r1 route=\/mcp http=POST status=200 /)
  t.match(first, 'name="a\\u001b[2Jb\\u202ec d"')
  t.match(second, /warn {2}look\\u000d\\u000ahere list=\[1,2\] nothing=null type=Error message=reason$/)
  t.match(stack[0], /^ {4}at /)
})

// What follows runs in a process of its own: standard output is what is tested.
const program = (body: string): ReturnType<typeof spawn> =>
  spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { createLogger } from ${JSON.stringify(new URL('../../src/telemetry/logger.ts', import.meta.url).href)}
       import { facts } from ${JSON.stringify(new URL('../../src/telemetry/events.ts', import.meta.url).href)}
       const request = ${JSON.stringify(request)}
       ${body}`
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] }
  )

t.test('standard output has every line after close, also when it is a pipe', async t => {
  const child = program(`
    const logger = createLogger({ level: 'info', format: 'json' })
    for (let i = 0; i < 5000; i++) facts.request.publish(request)
    logger.info('last')
    await logger.close()`)
  const [out, error] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'exit')])
  t.equal(error, '')
  const lines = out.trim().split('\n')
  t.equal(lines.length, 5_001)
  t.match(lines.at(-1), '"msg":"last"')
})

t.test('a program that ends without close, by itself or by exit, loses nothing', async t => {
  for (const end of ['', 'process.exit(0)', 'setTimeout(() => { throw new Error("boom") })']) {
    const child = program(`
      createLogger({ level: 'info', format: 'json' })
      facts.request.publish(request)
      ${end}`)
    const [out] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'exit')])
    t.match(out, '"reqId":"r1"', end)
  }
})

t.test('a reader that has gone neither ends the program nor holds up close', async t => {
  const child = program(`
    const logger = createLogger({ level: 'info', format: 'json' })
    for (let i = 0; i < 1000; i++) { logger.info('line'); await new Promise(done => setImmediate(done)) }
    const start = Date.now()
    await logger.close()
    process.stderr.write('closed ' + (Date.now() - start < 500))`)
  child.stdout!.destroy()
  const [error, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')])
  t.equal(error, 'closed true')
  t.equal(code, 0)
})

t.test('a reader that does not read holds up close for a second at most', async t => {
  const child = program(`
    const logger = createLogger({ level: 'info', format: 'json' })
    for (let i = 0; i < 5000; i++) facts.request.publish(request)
    const start = Date.now()
    await logger.close()
    process.stderr.write('closed ' + (Date.now() - start < 2000))
    process.kill(process.pid, 'SIGKILL')`)
  child.stdout!.pause()
  const [error] = await Promise.all([text(child.stderr!), once(child, 'exit')])
  t.equal(error, 'closed true')
})

t.test('what finds no room for a slow reader is lost, counted and told', async t => {
  const child = program(`
    createLogger({ level: 'info', format: 'json' })
    for (let i = 0; i < 60_000; i++) facts.request.publish(request)
    setInterval(() => {}, 1000)`)
  t.teardown(() => child.kill())
  let written = 0
  for await (const line of createInterface(child.stdout!)) {
    const { lost, level } = JSON.parse(line) as { lost?: number; level: string }
    if (lost === undefined) written++
    else {
      t.equal(level, 'warn')
      t.ok(lost > 0)
      t.equal(written + lost, 60_000)
      break
    }
  }
})
