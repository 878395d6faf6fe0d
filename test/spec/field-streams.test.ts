/** Streams and notifications as they go wrong in the field (E6, SSE-08, HTP-05, NTF-05, RPC-10). */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { startLegacy } from '../helpers/legacy.ts'
import { usedBytes } from '../helpers/memory.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const run = promisify(execFile)
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const ownNetwork = async (): Promise<false | string> => {
  try {
    await run('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up'])
    return false
  } catch {
    return 'no network namespace of our own: that needs Linux, root and iproute2'
  }
}

t.test('a client that is gone without a word is let go (E6, SSE-08)', { skip: await ownNetwork() }, async t => {
  // A twentieth of the default times: 15 s and 30 s make a bound of 90 s.
  const { stdout } = await run('unshare', [
    '--net',
    process.execPath,
    path('../fixtures/half-open.ts'),
    '750',
    '1500',
    '8000'
  ])
  t.ok(Number(stdout) < 4_500, stdout)
})

t.test('a batch whose requests are answered by JSON, by a stream, and not at all (RPC-10)', async t => {
  const { open } = await startLegacy(t, {
    upstream: {
      intercept: (_request, response, body) => {
        if (!body.includes('"broken"')) return false
        response.writeHead(500).end('no')
        return true
      }
    }
  })
  const client = await open({ version: '2025-03-26' })
  const batch = ['echo', 'progress', 'broken'].map((name, i) => ({
    id: i + 1,
    method: 'tools/call',
    params: { name, arguments: {}, _meta: { progressToken: 'p' } }
  }))
  const { events } = await client.post(batch)
  await events.whole()
  const order = events.messages.map(({ id, method }) => id ?? method)
  t.same(order.filter(one => one !== 'notifications/progress').sort(), [1, 2, 3])
  t.equal(order.filter(one => one === 'notifications/progress').length, 3)
  t.ok(order.lastIndexOf('notifications/progress') < order.indexOf(2))
  const failed = events.messages.find(({ id }) => id === 3)
  t.match(failed, { error: { code: -32603, data: { reason: 'backend_status', backend: 'docs' } } })
  const { json } = await client.post(batch, { accept: 'application/json' })
  t.same(json.map(({ id }: { id: number }) => id).sort(), [1, 2, 3])
})

t.test('a change is told to an idle client at once, and only in a form that clients can read (NTF-05)', async t => {
  const { open, upstream, server } = await startLegacy(t)
  const client = await open()
  t.match(client.server.capabilities, { tools: { listChanged: true } })
  const { events } = await client.get()
  for (const params of ['', ',"params":{}', ',"params":{"_meta":{"a/b":1}}']) {
    const before = events.messages.length
    const text = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"${params}}`
    await until('the backend is listened to', () => upstream.listening)
    server.outside(text)
    await events.until(({ messages }) => messages.length > before, 1_000)
    t.equal(events.all.at(-1)!.data, text)
  }
  const before = events.messages.length
  for (const params of ['[]', 'null', '"x"', '1']) {
    server.outside(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":${params}}`)
  }
  server.outside('{"jsonrpc":"2.0","method":"notifications/last"}')
  await events.message(({ method }) => method === 'notifications/last')
  t.equal(events.messages.length, before + 1, 'clients fail at params that are no object')
})

t.test('a handler that throws after the first byte: one error on the stream, nothing inner, once (HTP-05)', async t => {
  const { gateway, url } = await startGateway(t, {
    backends: { local: { kind: 'module', path: '../fixtures/handlers/folder' } },
    streams: { sseAfter: '10ms' }
  })
  gateway.handler('local').addTool({
    name: 'late',
    async handler(_args: unknown, context: { progress(value: number): void }) {
      context.progress(1)
      await new Promise(resolve => setTimeout(resolve, 30))
      throw new Error('inner words')
    }
  } as never)
  const client = await RawClient.open(url)
  for (let i = 0; i < 5; i++) {
    const { events, headers } = await client.call('late', {}, { progressToken: i })
    t.equal(headers['content-type'], 'text/event-stream')
    await events.whole()
    const [progress, last, ...more] = events.messages
    t.match(progress, { method: 'notifications/progress' })
    t.match(last, { id: client.lastId, result: { isError: true } })
    t.same(more, [])
    t.notMatch(JSON.stringify(events.all), /\.ts:|at /)
  }
  t.equal((await client.request('ping')).status, 200)
})

/** `CAUSEWAY_LONG=1` sends a hundred thousand. */
const flooding = process.env.CAUSEWAY_LONG === undefined ? 15_000 : 100_000

t.test('notifications by the thousand that nobody reads: memory is flat, and calls go on (E2)', async t => {
  const { gateway, open } = await startLegacy(t)
  const [client, other] = [await open(), await open()]
  const listening = await client.get()
  listening.pause()
  const flood = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      await gateway.broadcast('/mcp', {
        method: 'notifications/message',
        params: { level: 'info', data: `flood ${i}` }
      })
      if (i % 100 === 0) await new Promise(resolve => setImmediate(resolve))
    }
  }
  await flood(3_000)
  const before = await usedBytes()
  const under = flood(flooding)
  for (let i = 0; i < 20; i++) t.equal((await other.call('echo')).status, 200)
  await under
  const grown = (await usedBytes()) - before
  t.ok(grown < 4 << 20, `${grown} bytes`)
})

t.test('a message in the same packet as one that is too large is delivered before its error (SSE-06)', async t => {
  const { open } = await startLegacy(t, {
    file: { server: { limits: { upstream: '100KiB' } } },
    upstream: {
      intercept: (_request, response, body) => {
        if (!body.includes('"both"')) return false
        const first = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"first"}}'
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(`data: ${first}\n\ndata: {"jsonrpc":"2.0","x":"${'x'.repeat(200_000)}"}\n\n`)
        return true
      }
    }
  })
  const client = await open()
  const { events } = await client.call('both')
  await events.whole()
  t.match(events.messages, [
    { params: { data: 'first' } },
    { id: client.lastId, error: { data: { reason: 'backend_too_large', backend: 'docs' } } }
  ])
  t.equal((await client.call('echo')).status, 200)
})
