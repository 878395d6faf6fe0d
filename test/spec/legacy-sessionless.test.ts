/** decisions: row "sessions.mode"; SES-05. */
import t, { type Test } from 'tap'
import { initialize, isRefusal } from '../helpers/edge.ts'
import { type Legacy, type LegacyOptions, startLegacy } from '../helpers/legacy.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const start = (t: Test, mode: string, options: LegacyOptions = {}): Promise<Legacy> =>
  startLegacy(t, { ...options, file: { sessions: { mode }, ...options.file } })

const version = { 'mcp-protocol-version': '2025-06-18' }

/** Every upstream session was given back, and nothing is left here. */
async function nothingLeft(t: Test, { upstream, status }: Legacy, opened: number): Promise<void> {
  await until('every upstream session is given back', () => upstream.seenOf('DELETE').length === opened)
  t.equal(upstream.sessions.size, 0)
  t.match(await status(), { sessions: 0, streams: 0, backends: [{ inflight: 0 }] })
}

for (const mode of ['optional', 'stateless']) {
  for (const sessions of [true, false]) {
    t.test(
      `${mode}: a call without a session, the backend ${sessions ? 'has' : 'has no'} sessions (SES-05)`,
      async t => {
        const gateway = await start(t, mode, { upstream: { sessions } })
        const client = new RawClient(gateway.url)
        const { status, json, headers } = await client.post(
          { id: 1, method: 'tools/call', params: { name: 'echo', arguments: { a: 1 } } },
          version
        )
        t.equal(status, 200)
        t.match(json, { id: 1, result: { content: [{ text: '{"a":1}' }] } })
        t.equal(headers['mcp-session-id'], undefined)
        t.equal(gateway.server.heardOf('initialize').length, 1)
        t.equal(gateway.server.heardOf('notifications/initialized').length, 1)
        await nothingLeft(t, gateway, sessions ? 1 : 0)
      }
    )
  }
}

t.test('required: the same call is 400', async t => {
  const { url, server } = await start(t, 'required')
  const response = await new RawClient(url).post({ id: 1, method: 'tools/list' }, version)
  isRefusal(t, response, 400, -32600, 1)
  t.equal(server.heard.length, 0)
})

t.test('stateless: initialize mints no id, and gives the upstream session back', async t => {
  const gateway = await start(t, 'stateless')
  const { json, headers, status } = await new RawClient(gateway.url).post(initialize('2025-06-18'))
  t.equal(status, 200)
  t.match(json.result, { protocolVersion: '2025-06-18', serverInfo: { name: 'scripted' } })
  t.equal(headers['mcp-session-id'], undefined)
  await nothingLeft(t, gateway, 1)
  t.equal((await new RawClient(gateway.url).post({ method: 'notifications/initialized' })).status, 202)
})

t.test('stateless: a backend that refuses initialize is an error, and leaves nothing', async t => {
  const gateway = await start(t, 'stateless')
  gateway.server.on('initialize', turn => turn.refuse(-32603, 'no'))
  const { json } = await new RawClient(gateway.url).post(initialize())
  t.match(json, { id: 1, error: { code: -32603 } })
  t.equal((await gateway.status()).sessions, 0)
})

t.test('optional: initialize mints an id; both ways live side by side', async t => {
  const { open, url } = await start(t, 'optional')
  const client = await open()
  t.ok(client.session)
  t.equal((await client.call('echo')).status, 200)
  t.equal((await client.get()).status, 200)
  t.equal((await new RawClient(url).call('echo')).status, 200)
  const stale = new RawClient(url)
  stale.session = 'never-was'
  t.equal((await stale.call('echo')).status, 404, 'an id that is sent must be alive')
})

t.test('without a session there is no channel, nothing to delete, nothing to resume', async t => {
  const { url } = await start(t, 'stateless')
  const client = new RawClient(url)
  const get = await client.get()
  isRefusal(t, get, 405, -32600)
  t.equal(get.headers.allow, 'POST')
  t.equal((await client.get('abcdefgh_0')).status, 405)
  isRefusal(t, await client.delete(), 400, -32600)
})

t.test('the version is that of the header, else 2025-03-26', async t => {
  const { url } = await start(t, 'stateless')
  const client = new RawClient(url)
  const batch = [{ id: 1, method: 'ping' }]
  t.same((await client.post(batch)).json, [{ jsonrpc: '2.0', id: 1, result: {} }])
  isRefusal(t, await client.post(batch, version), 400, -32600)
  for (const bad of ['banana', '', '2020-01-01']) {
    isRefusal(t, await client.post({ id: 3, method: 'ping' }, { 'mcp-protocol-version': bad }), 400, -32600, 3)
  }
})

t.test('streams carry no ids, whatever the version', async t => {
  const gateway = await start(t, 'stateless')
  const { events } = await new RawClient(gateway.url).post(
    { id: 1, method: 'tools/call', params: { name: 'progress', _meta: { progressToken: 'p' } } },
    { 'mcp-protocol-version': '2025-11-25' }
  )
  await events.whole()
  t.same(
    events.messages.map(({ params, id }) => params?.progress ?? id),
    [1, 2, 3, 1]
  )
  t.equal(events.lastId, undefined)
  t.ok(events.all.every(({ retry }) => retry === undefined))
  await nothingLeft(t, gateway, 1)
})

t.test('requests of the backend are refused: nobody could answer', async t => {
  const gateway = await start(t, 'stateless')
  const { json } = await new RawClient(gateway.url).call('ask')
  t.match(JSON.parse(json.result.content[0].text), { code: -32601 })
  await nothingLeft(t, gateway, 1)
})

t.test('the upstream session is given back in every case', async t => {
  const ways: readonly [string, (gateway: Legacy, client: RawClient) => Promise<void>][] = [
    ['an error of the backend', async (_, client) => void (await client.call('refuse'))],
    ['a backend that breaks off', async (_, client) => void (await client.call('die'))],
    ['an unknown method', async (_, client) => void (await client.request('x/y'))],
    [
      'JSON alone',
      async (_, client) =>
        void (await client.post(
          { id: 1, method: 'tools/call', params: { name: 'progress' } },
          { accept: 'application/json' }
        ))
    ],
    [
      'an event stream alone',
      async (_, client) =>
        void (await (
          await client.post({ id: 1, method: 'tools/call', params: { name: 'echo' } }, { accept: 'text/event-stream' })
        ).events.whole())
    ],
    [
      'a batch',
      async (_, client) =>
        void (await client.post([
          { id: 1, method: 'tools/call', params: { name: 'echo' } },
          { id: 2, method: 'tools/call', params: { name: 'refuse' } }
        ]))
    ],
    [
      'a client that goes before its answer',
      async ({ held }, client) => {
        const call = client.call('held')
        const turn = await held()
        call.catch(() => {})
        turn.answer('{}')
      }
    ],
    [
      'a client that goes in the middle of its stream',
      async ({ held }, client) => {
        const call = client.call('held', {}, { progressToken: 1 })
        const turn = await held()
        turn.progress(1)
        const { events, destroy } = await call
        await events.message(({ method }) => method === 'notifications/progress')
        destroy()
        turn.progress(2)
        turn.answer('{}')
      }
    ]
  ]
  for (const [what, act] of ways) {
    await t.test(what, async t => {
      const gateway = await start(t, 'stateless')
      await act(gateway, new RawClient(gateway.url))
      await nothingLeft(t, gateway, 1)
    })
  }
})

t.test('a call that takes too long is cancelled upstream, and its session given back', async t => {
  const { upstream } = await startLegacy(t)
  const gateway = await start(t, 'stateless', {
    file: { backends: { docs: { kind: 'http', url: upstream.url, timeout: '50ms' } } }
  })
  const { json } = await new RawClient(gateway.url).call('never')
  t.match(json.error.data, { reason: 'timeout', backend: 'docs' })
  await until('given back', () => upstream.seenOf('DELETE').length === 1)
})
