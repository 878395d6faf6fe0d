import t from 'tap'
import { type ErrorCode, GatewayError } from '../../src/errors.ts'
import { classify, isPostAlone } from '../../src/protocol/classify.ts'
import { read } from '../../src/protocol/message.ts'

const modern = '2026-07-28'
const legacyOnly = ['2025-06-18', '2025-11-25']
const both = [...legacyOnly, modern]
const modernOnly = [modern]

const meta = (members: Record<string, unknown>) => ({
  _meta: Object.fromEntries(Object.entries(members).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]))
})
const whole = meta({ protocolVersion: modern, clientCapabilities: {} })
const call = (params?: object, method = 'tools/list') => ({ jsonrpc: '2.0', id: 7, method, params })
const notice = (params?: object) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
const initialize = (version: string, params: object = {}) => call({ protocolVersion: version, ...params }, 'initialize')

type Row = readonly [
  what: string,
  body: unknown,
  header: string | undefined,
  versions: readonly string[],
  verdict: 'legacy' | 'modern' | ErrorCode,
  data?: object
]

const supported = [...both].reverse()

/** One row for each way that a body, a header and a route can meet (decisions: "A request is modern when"). */
const table: readonly Row[] = [
  ['a legacy request', call(), '2025-11-25', both, 'legacy'],
  ['one without a header', call(), undefined, both, 'legacy'],
  ['one with a version that nobody knows', call(), '1900-01-01', both, 'legacy'],
  ['one with a header that is no date', call(), 'latest', both, 'legacy'],
  ['one with a `_meta` of its own', call({ _meta: { progressToken: 1 } }), undefined, both, 'legacy'],
  ['a legacy handshake', initialize('2025-11-25'), undefined, both, 'legacy'],
  ['a legacy handshake under a modern header', initialize('2025-11-25'), modern, both, 'legacy'],
  ['a handshake with modern `_meta`', initialize(modern, whole), modern, both, 'modern'],
  ['a batch', [call(), call()], '2025-03-26', both, 'legacy'],
  ['a notification', notice(), undefined, both, 'legacy'],
  ['an answer', { jsonrpc: '2.0', id: 1, result: {} }, undefined, both, 'legacy'],

  ['a modern request', call(whole), modern, both, 'modern'],
  ['one where nothing else is served', call(whole), modern, modernOnly, 'modern'],
  ['one without capabilities', call(meta({ protocolVersion: modern })), modern, both, 'meta'],
  [
    'capabilities that are no object',
    call(meta({ protocolVersion: modern, clientCapabilities: [] })),
    modern,
    both,
    'meta'
  ],
  ['one without `_meta`', call(), modern, both, 'meta'],
  ['one without a version in `_meta`', call(meta({ clientCapabilities: {} })), modern, both, 'meta'],
  ['a version that is no string', call(meta({ protocolVersion: 1, clientCapabilities: {} })), modern, both, 'meta'],
  ['one without a header, modern by `_meta`', call(whole), undefined, both, 'mismatch'],
  ['`_meta` unlike the header', call(whole), '2025-11-25', both, 'mismatch'],
  ['`_meta` unlike a header of the future', call(whole), '2027-01-01', both, 'mismatch'],
  [
    'a version of the future in both',
    call(meta({ protocolVersion: '2027-01-01', clientCapabilities: {} })),
    '2027-01-01',
    both,
    'unsupported_version',
    { supported, requested: '2027-01-01' }
  ],
  ['a version of the future in the header alone', call(), '2027-01-01', both, 'unsupported_version'],
  [
    'a version of the future before anything else that is wrong',
    call(meta({ protocolVersion: '2027-01-01' })),
    '2027-01-01',
    both,
    'unsupported_version'
  ],
  [
    'a modern request that names a legacy version',
    call(meta({ protocolVersion: '2025-11-25', clientCapabilities: {} })),
    '2025-11-25',
    both,
    'unsupported_version'
  ],
  ['a notification under a modern header', notice(), modern, both, 'modern'],
  ['a notification with modern `_meta`', notice(whole), undefined, both, 'modern'],
  ['an answer under a modern header', { jsonrpc: '2.0', id: 1, result: {} }, modern, both, 'invalid'],
  ['a batch under a modern header', [call()], modern, both, 'invalid'],
  ['a batch with a modern request in it', [call(), call(whole)], undefined, both, 'invalid'],

  ['a modern request where the route has not got it', call(whole), modern, legacyOnly, 'invalid'],
  ['a modern header there', call(), modern, legacyOnly, 'invalid'],
  ['a modern batch there', [call(whole)], undefined, legacyOnly, 'invalid'],
  [
    'a legacy handshake where nothing but modern versions is served',
    initialize('2025-11-25'),
    undefined,
    modernOnly,
    'unsupported_version',
    { supported: modernOnly, requested: '2025-11-25' }
  ],
  ['a legacy request there', call(), '2025-06-18', modernOnly, 'unsupported_version', { requested: '2025-06-18' }],
  [
    'a request that says nothing there',
    call(),
    undefined,
    modernOnly,
    'unsupported_version',
    { requested: '2025-03-26' }
  ],
  ['a batch there', [call()], undefined, modernOnly, 'unsupported_version']
]

for (const [what, body, header, versions, verdict, data] of table) {
  t.test(`${what}: ${verdict} (R9)`, async t => {
    const decide = () => classify(read(Buffer.from(JSON.stringify(body)), 64), header, versions)
    if (verdict === 'legacy' || verdict === 'modern') {
      t.equal(decide(), verdict)
      return
    }
    const error = thrown(decide)
    t.equal(error?.code, verdict)
    t.match(error?.data, data ?? {})
    const { id, method } = body as { id?: number; method?: string }
    if (method !== undefined) t.equal(error?.id, id === undefined ? undefined : String(id), 'the id comes back')
    if (versions === legacyOnly) t.equal(error?.rpcCode, -32600, 'no code that keeps a client from falling back')
  })
}

t.test('GET and DELETE mean something to legacy clients of a route that has legacy versions', async t => {
  t.notOk(isPostAlone(undefined, both))
  t.notOk(isPostAlone('2025-11-25', both))
  t.ok(isPostAlone(modern, both))
  t.ok(isPostAlone(undefined, modernOnly))
})

function thrown(act: () => unknown): GatewayError | undefined {
  try {
    act()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  return undefined
}
