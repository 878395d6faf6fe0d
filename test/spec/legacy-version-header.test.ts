/** decisions: row "Version header after that"; R15, VER-03. */
import t from 'tap'
import { isRefusal } from '../helpers/edge.ts'
import { type Legacy, startLegacy } from '../helpers/legacy.ts'
import type { RawClient, RawResponse } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'

failOnRejections(t)

const kinds: readonly [
  string,
  (client: RawClient, headers: Record<string, string | string[] | undefined>) => Promise<RawResponse>,
  boolean
][] = [
  ['a request', (client, headers) => client.post({ id: 7, method: 'ping' }, headers), true],
  ['a notification', (client, headers) => client.post({ method: 'notifications/x' }, headers), false],
  ['a response', (client, headers) => client.post({ id: 1, result: {} }, headers), false],
  ['GET', (client, headers) => client.get(undefined, headers), false],
  ['DELETE', (client, headers) => client.delete(headers), false]
]

t.test('a version that is not served', async t => {
  const { open } = await startLegacy(t)
  const client = await open()
  for (const version of ['2020-01-01', 'banana', '', '2025-11-25 x', '2025-11-26']) {
    for (const [kind, act, hasId] of kinds) {
      await t.test(`${JSON.stringify(version)} on ${kind}: 400 (VER-03)`, async t => {
        isRefusal(t, await act(client, { 'mcp-protocol-version': version }), 400, -32600, hasId ? 7 : undefined)
      })
    }
  }
  for (const values of [['2025-11-25', '2025-11-25'], ['2025-11-25, 2025-03-26']]) {
    t.equal((await client.post({ id: 7, method: 'ping' }, { 'mcp-protocol-version': values })).status, 400)
  }
  t.equal((await client.request('ping')).status, 200, 'the session goes on')
})

t.test('absent: the version of the session (R15)', async t => {
  const { open } = await startLegacy(t)
  const client = await open({ version: '2025-03-26' })
  const none = { 'mcp-protocol-version': undefined }
  t.equal((await client.post([{ id: 1, method: 'ping' }], none)).status, 200, 'it may still send batches')
  const { events, status } = await client.get(undefined, none)
  t.equal(status, 200)
  await events.until(({ comments }) => comments.length > 0)
  t.equal((await client.delete(none)).status, 204)
})

t.test('another version that is served: by the session, never by the header (R15)', async t => {
  const { open } = await startLegacy(t)
  const client = await open({ version: '2025-06-18' })
  const other = { 'mcp-protocol-version': '2025-03-26' }
  t.equal((await client.post({ id: 1, method: 'ping' }, other)).status, 200)
  isRefusal(t, await client.post([{ id: 1, method: 'ping' }], other), 400, -32600)
})

t.test('another version that is served, with onMismatch: reject', async t => {
  const { open } = await startLegacy(t, { file: { protocolVersion: { onMismatch: 'reject' } } })
  const client = await open({ version: '2025-06-18' })
  isRefusal(t, await client.post({ id: 1, method: 'ping' }, { 'mcp-protocol-version': '2025-11-25' }), 400, -32600, 1)
  t.equal((await client.request('ping')).status, 200)
})

t.test('a dead session with a bad version is 404, so that the client starts anew', async t => {
  const { open } = await startLegacy(t)
  const client = await open()
  await client.delete()
  for (const [kind, act, hasId] of kinds) {
    isRefusal(t, await act(client, { 'mcp-protocol-version': 'banana' }), 404, -32600, hasId ? 7 : undefined)
    t.pass(kind)
  }
})

t.test('each session is judged by its own version (M ticket-02)', async t => {
  const gateway: Legacy = await startLegacy(t, { file: { protocolVersion: { onMismatch: 'reject' } } })
  const clients = await Promise.all(
    ['2024-11-05', '2025-06-18', '2025-11-25'].map(version => gateway.open({ version }))
  )
  const answers = await Promise.all(clients.map(client => client.call('echo', { version: client.version })))
  t.same(
    answers.map(({ json }) => JSON.parse(json.result.content[0].text).version),
    ['2024-11-05', '2025-06-18', '2025-11-25']
  )
})
