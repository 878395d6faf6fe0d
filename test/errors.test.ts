import { readFile } from 'node:fs/promises'
import t from 'tap'
import { type ErrorCode, errorTable, GatewayError, toGatewayError } from '../src/errors.ts'

t.test('docs/errors.md has a row for each code, in the order of the table, and says the same', async t => {
  const page = await readFile(new URL('../docs/errors.md', import.meta.url), 'utf8')
  const rows = page
    .split('\n')
    .filter(line => line.startsWith('| `'))
    .map(line =>
      line
        .slice(2, -2)
        .split(' | ')
        .map(cell => cell.trim())
    )
  t.same(
    rows.map(([code, rpc, status, what]) => [code, rpc, status, what]),
    Object.entries(errorTable).map(([code, { rpc, status, what }]) => [`\`${code}\``, `${rpc}`, `${status}`, what])
  )
  for (const row of rows) {
    t.equal(row.length, 6, row[0] ?? '')
    for (const cell of row) t.ok(cell.trim().length > 0)
  }
})

t.test('JSON-RPC codes are those of the specification', async t => {
  const own = [-32700, -32600, -32601, -32602, -32603]
  const modern: Record<string, number> = { mismatch: -32020, capability: -32021, unsupported_version: -32022 }
  for (const [code, { rpc, status }] of Object.entries(errorTable)) {
    t.ok(own.includes(rpc) || modern[code] === rpc, code)
    t.ok(status === 200 || (status >= 400 && status < 600), code)
    if (code.startsWith('backend_')) t.equal(status, 200, 'a failure of a backend is the error of that call alone')
  }
})

t.test('an error has the codes of its row, its reason and its backend', async t => {
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const error = new GatewayError(code, 'text', { id: '1', backend: 'docs', data: { more: true } })
    t.match(error, { code, id: '1', backend: 'docs', message: 'text', name: 'GatewayError' })
    t.equal(error.rpcCode, errorTable[code].rpc)
    t.equal(error.status, errorTable[code].status)
    t.same(error.data, { reason: code, backend: 'docs', more: true })
  }
})

t.test('what is not said is not there; an id that is no id is left out', async t => {
  const error = new GatewayError('invalid', 'text', { id: null })
  t.equal(error.id, undefined)
  t.same(error.data, { reason: 'invalid' })
  t.same(error.headers, {})
  t.notOk('cause' in error)
})

t.test('the cause is kept, and the rest when another request is answered with it', async t => {
  const cause = new Error('refused')
  const error = new GatewayError('backend_unavailable', 'text', {
    cause,
    backend: 'docs',
    headers: { 'retry-after': '1' },
    rpcCode: -32002,
    data: { tries: 2 }
  })
  const other = error.withId('"x"')
  t.equal(other.id, '"x"')
  t.equal(error.id, undefined)
  t.equal(other.cause, cause)
  t.same(other.headers, { 'retry-after': '1' })
  t.equal(other.rpcCode, -32002)
  t.same(other.data, error.data)
  t.equal(other.withId(undefined).id, undefined)
})

t.test('whatever else is thrown becomes an internal error that tells nothing', async t => {
  const error = new GatewayError('full', 'text')
  t.equal(toGatewayError(error), error)
  for (const thrown of [new Error('a secret'), 'a string', undefined]) {
    const internal = toGatewayError(thrown)
    t.match(internal, { code: 'internal', message: 'internal error', status: 500, rpcCode: -32603 })
    t.equal(internal.cause, thrown)
    t.same(internal.data, { reason: 'internal' })
  }
})
