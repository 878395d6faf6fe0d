import t from 'tap'
import { facts } from '../../src/telemetry/events.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createRedactor } from '../../src/telemetry/redact.ts'

t.test('configured secrets are not seen wherever they stand in a text, nor are their parts', async t => {
  const { text } = createRedactor(['Bearer s3cr3t.t0ken+/=', 'another-one', 'short', ''])
  t.equal(text('it said s3cr3t.t0ken+/= and another-one'), 'it said *** and ***')
  t.equal(text('header Bearer s3cr3t.t0ken+/=!'), 'header ***!')
  t.equal(text('a short word stays'), 'a short word stays')
})

t.test('what looks like a credential is not seen, whoever wrote it', async t => {
  const { text } = createRedactor()
  const hidden = {
    'Authorization: Bearer abcdef012345': 'abcdef',
    'sent basic dXNlcjpwYXNz to it': 'dXNlcjpwYXNz',
    '{"api_key":"k-12345"}': 'k-12345',
    'x-api-key=k-12345': 'k-12345',
    'GITHUB_TOKEN=ghp_abc': 'ghp_abc',
    'password: hunter2, user: me': 'hunter2',
    'cookie: sid=1': 'sid=1',
    'mcp-session-id: 1234': '1234',
    'https://user:hunter2@host/mcp?key=v4lue#x': 'hunter2',
    'https://host/mcp?key=v4lue': 'v4lue',
    'jwt eyJhbGciOi.eyJzdWIi.c2ln here': 'eyJ'
  }
  for (const [given, secret] of Object.entries(hidden)) {
    t.notMatch(text(given), secret, given)
    t.match(text(given), '***', given)
  }
  for (const fine of ['unknown token', 'the session is gone', 'spawn npx ENOENT', 'http://docs:3000/mcp']) {
    t.equal(text(fine), fine)
  }
})

t.test('texts are at most 2 KiB, also when a secret stands at the cut', async t => {
  const { text } = createRedactor(['very-secret-value'])
  t.equal(text('x'.repeat(100_000)).length, 2_049)
  t.notMatch(text(`${'x'.repeat(2_040)}very-secret-value`), 'very')
})

t.test('data is copied without credentials and without what peers sent, bounded in depth and width', async t => {
  const { value } = createRedactor(['very-secret-value'])
  const circle: Record<string, unknown> = { name: 'a' }
  circle.self = circle
  t.same(value(circle), { name: 'a', self: { name: 'a', self: { name: 'a', self: { name: 'a', self: '[...]' } } } })
  t.same(
    value({ headers: { a: 1 }, arguments: [1], apiKey: 'k', tokens: 3, token: 'x', list: ['very-secret-value'] }),
    {
      headers: '***',
      arguments: '***',
      apiKey: '***',
      tokens: 3,
      token: '***',
      list: ['***']
    }
  )
  t.same(value({ big: 2n, fn: () => 1, none: null, date: true }), { big: '2', fn: undefined, none: null, date: true })
  t.equal((value(new Array(1_000).fill(1)) as unknown[]).length, 32)
  t.equal(
    Object.keys(value(Object.fromEntries(new Array(99).fill(0).map((_, i) => [`k${i}`, i]))) as object).length,
    32
  )
})

t.test('an error is told by type, code, message, stack and cause; what else hangs on it is not', async t => {
  const { value } = createRedactor(['very-secret-value'])
  const cause = Object.assign(new TypeError('no very-secret-value'), { code: 'EX', headers: { authorization: 'abc' } })
  const told = value(new Error('outer', { cause })) as Record<string, unknown>
  t.match(told, { type: 'Error', message: 'outer', cause: { type: 'TypeError', code: 'EX', message: 'no ***' } })
  t.notMatch(JSON.stringify(told), /very-secret|abc/)
})

t.test('the canary: a secret in headers, arguments, results, URLs or errors never reaches a line (C6)', async t => {
  const canaries = Array.from({ length: 9 }, (_, i) => `canary-${i}-7f3a9c`)
  const [header, argument, query, password, stack, env, child, result, session] = canaries as [string, ...string[]]
  let written = ''
  const logger = createLogger(
    { level: 'trace', format: 'json' },
    {
      destination: {
        write: text => {
          written += text
        }
      },
      secrets: [`Bearer ${header}`, env!, child!]
    }
  )
  facts.request.publish({
    id: 'r1',
    route: `/mcp?access_token=${query}`,
    http: 'POST',
    status: 200,
    method: 'tools/call',
    outcome: 'ok',
    durationMs: 1,
    address: '127.0.0.1'
  })
  facts.notice.publish({
    level: 'warn',
    text: `backend said: Authorization: Bearer ${header}; MY_VAR is ${env}`,
    error: Object.assign(new Error(`connect https://u:${password}@docs/mcp?key=${query} failed`), {
      stack: `Error: token=${stack}\n at x`,
      body: result,
      headers: { 'set-cookie': session }
    }),
    data: {
      headers: { authorization: `Bearer ${header}` },
      request: { params: { arguments: { password: argument } } },
      result: { content: result },
      line: `stderr of the child ${child}`,
      'mcp-session-id': session
    }
  })
  logger.error(`token=${argument}`, { env: { A: env } })
  facts.backend.publish({ backend: 'docs', up: false, reason: `fetch https://u:${password}@docs failed` })
  await logger.close()
  t.ok(written.split('\n').length >= 4)
  for (const canary of canaries) t.notMatch(written, canary)
})
