/** Order of checks (decisions "Order of checks"; R23): of several faults in one request the earliest check answers. */
import t from 'tap'
import { isRefusal, startEdge } from '../helpers/edge.ts'
import { RawClient, send } from '../helpers/raw-client.ts'

/** Every fault at once, latest check last; each row mends the ones before it. */
const faults: readonly {
  readonly name: string
  readonly status: number
  readonly code: number
  readonly mend: (request: Faulty) => void
}[] = [
  { name: 'path', status: 404, code: -32600, mend: request => (request.path = '/mcp') },
  {
    name: 'repeated header',
    status: 400,
    code: -32600,
    mend: request => (request.headers['mcp-session-id'] = 'one')
  },
  { name: 'Host', status: 403, code: -32600, mend: request => (request.headers.host = 'localhost:1') },
  { name: 'Origin', status: 403, code: -32600, mend: request => delete request.headers.origin },
  { name: 'HTTP method', status: 405, code: -32600, mend: request => (request.method = 'POST') },
  {
    name: 'Content-Type',
    status: 415,
    code: -32600,
    mend: request => (request.headers['content-type'] = 'application/json')
  },
  { name: 'Accept', status: 406, code: -32600, mend: request => delete request.headers.accept },
  { name: 'size', status: 413, code: -32600, mend: request => (request.body = '{"a":') },
  { name: 'JSON', status: 400, code: -32700, mend: request => (request.body = '{"jsonrpc":"1.0","method":"x"}') },
  {
    name: 'JSON-RPC shape',
    status: 400,
    code: -32600,
    mend: request => (request.body = '[{"jsonrpc":"2.0","method":"notifications/x"}]')
  },
  {
    name: 'session',
    status: 404,
    code: -32600,
    mend: () => {}
  }
]

interface Faulty {
  path: string
  method: string
  headers: Record<string, string | string[]>
  body: string
}

t.test('of all faults at once the earliest check answers, and no backend is reached (R23)', async t => {
  const { url, server } = await startEdge(t, { server: { limits: { body: '2000B', depth: 8 } } })
  const request: Faulty = {
    path: '/nowhere',
    method: 'PUT',
    headers: {
      'mcp-session-id': ['one', 'two'],
      host: 'evil.test',
      origin: 'https://evil.test',
      'content-type': 'text/plain',
      accept: 'image/png',
      'mcp-protocol-version': '1999-01-01'
    },
    body: 'x'.repeat(3000)
  }
  for (const { name, status, code, mend } of faults) {
    await t.test(name, async t => isRefusal(t, await send(url, request), status, code))
    mend(request)
  }
  t.same(server.heard, [])
})

t.test('the version header is looked at after the session and before the batch rule', async t => {
  const { url } = await startEdge(t)
  const client = await RawClient.open(url)
  const batch = [{ method: 'notifications/x' }]
  const both = await client.post(batch, { 'mcp-protocol-version': '1999-01-01' })
  isRefusal(t, both, 400, -32600)
  t.equal(both.json.error.data.reason, 'version')
  const one = await client.post(batch)
  isRefusal(t, one, 400, -32600)
  t.equal(one.json.error.data.reason, 'invalid')
  await client.delete()
  t.equal(
    (await client.post(batch, { 'mcp-protocol-version': '1999-01-01' })).status,
    404,
    'a dead session comes first'
  )
})

t.test('404 for an unknown session is told before any head of a stream, for POST, GET and DELETE (R13)', async t => {
  const { url } = await startEdge(t)
  const client = new RawClient(url)
  client.session = 'unknown'
  isRefusal(t, await client.post({ id: 7, method: 'ping' }), 404, -32600, 7)
  isRefusal(t, await client.post({ method: 'notifications/x' }), 404, -32600)
  isRefusal(t, await client.get(), 404, -32600)
  isRefusal(t, await client.get('some-1'), 404, -32600)
  isRefusal(t, await client.delete(), 404, -32600)
})
