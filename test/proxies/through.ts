/** What has to hold behind any reverse proxy (E5, SSE-08; docs/deployment.md). */
import { readFileSync } from 'node:fs'
import http2 from 'node:http2'
import type { Test } from 'tap'
import { type Legacy, startLegacy } from '../helpers/legacy.ts'
import { freePorts } from '../helpers/ports.ts'
import { authority, publicHost, type RunningProxy } from '../helpers/proxy.ts'
import { RawClient, type RawResponse, send } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'

/** Milliseconds. `CAUSEWAY_LONG=1` waits as long as proxies in the field do, else all of it is ten times as fast. */
export const times =
  process.env.CAUSEWAY_LONG === undefined
    ? { keepAlive: 800, readTimeout: 2_000, idle: 5_000 }
    : { keepAlive: 15_000, readTimeout: 20_000, idle: 70_000 }

export interface Fronted extends Legacy {
  readonly port: number
  readonly adminPort: number
}

/** A gateway as docs/deployment.md has it behind a proxy, with a keep-alive of `keepAlive` milliseconds. */
export async function fronted(t: Test, keepAlive = times.keepAlive): Promise<Fronted> {
  const [port] = (await freePorts(1)) as [number]
  const legacy = await startLegacy(t, {
    backend: { timeout: '5m' },
    file: {
      server: { port, publicUrl: `https://${publicHost}`, trustProxy: ['127.0.0.1'] },
      sessions: { perAddress: 3 },
      streams: { keepAlive: `${keepAlive}ms`, sseAfter: '100ms' },
      routes: { '/mcp': { backends: ['docs'] }, '/mcp/docs': { backends: ['docs'] } }
    }
  })
  return { ...legacy, port, adminPort: Number(new URL(legacy.adminUrl).port) }
}

/** A client that knows the gateway by its public name; the proxy is what it connects to. */
class Outside extends RawClient {
  override get headers() {
    return { ...super.headers, host: publicHost }
  }
}

/** A session through the proxy. */
export async function opened(base: string, path = '/mcp', version?: string): Promise<RawClient> {
  const client = new Outside(base + path, version)
  const { headers, json, text } = await client.post({
    id: 'init',
    method: 'initialize',
    params: { protocolVersion: client.version, capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  })
  if (json?.result === undefined) throw new Error(`not initialized: ${text}`)
  client.session = headers['mcp-session-id'] as string
  await client.post({ method: 'notifications/initialized' })
  return client
}

/** A call and a channel that stay silent while other things are tried; what is promised holds for both at their end. */
export async function throughIt(t: Test, gateway: Fronted, proxy: RunningProxy): Promise<void> {
  const client = await opened(proxy.url)
  const began = performance.now()
  const channel = await client.get()
  const call = client.call('held', {}, { progressToken: 1 })
  const turn = await gateway.held()
  const { events } = await call
  await Promise.all([channel.events, events].map(events => events.until(({ all }) => all.length > 0, 1_000)))
  t.pass('the first bytes of both are here, although nobody has said anything')
  turn.progress(1)
  await events.message(({ method }) => method === 'notifications/progress', 1_000)
  t.pass('a message comes while the call goes on')

  await t.test('messages of 1 MB and more pass both ways', async t => {
    t.equal((await textOf(client.call('large', { size: 1_000_000 }))).length, 1_000_000)
    const pad = 'x'.repeat(3_900_000)
    t.equal(await textOf(client.call('echo', { pad })), JSON.stringify({ pad }))
  })

  await t.test('a connection that is cut is resumed, nothing lost and nothing twice', async t => {
    const call = client.call('held', {}, { progressToken: 2 })
    const turn = await gateway.held()
    const first = await call
    turn.progress(1)
    await first.events.message(({ params }) => params?.progress === 1)
    first.destroy()
    turn.progress(2)
    const second = await client.get(first.events.lastId)
    await second.events.message(({ params }) => params?.progress === 2)
    second.destroy()
    turn.progress(3)
    turn.answer('{}')
    const third = await client.get(second.events.lastId)
    await third.events.whole()
    t.same(
      third.events.messages.map(({ params, id }) => params?.progress ?? id),
      [3, client.lastId]
    )
  })

  await t.test('paths are served as they are written, and no others', async t => {
    const other = await opened(proxy.url, '/mcp/docs')
    t.equal((await other.request('ping')).status, 200)
    t.equal((await send(`${proxy.url}/mcp`, { headers: client.headers, path: '/mcp?a=b', body: ping })).status, 200)
    for (const path of ['/mcp/', '/mcpx', '/MCP', '//mcp', '/mc%70', '/mcp/docs/', '/mcp/../mcp/x']) {
      t.equal((await send(proxy.url, { headers: client.headers, path, body: ping })).status, 404, path)
    }
    t.equal(gateway.gateway.url('/mcp/docs'), `https://${publicHost}/mcp/docs`, 'what clients are told')
    t.equal((await other.delete()).status, 204)
    t.equal((await other.request('ping')).status, 404)
  })

  await until('it was idle for long enough', () => performance.now() - began > times.idle, times.idle + 5_000)
  t.notOk(channel.events.ended || events.ended, `both live after ${times.idle} ms of which a proxy takes little`)
  t.ok(channel.events.comments.length >= 4, 'comments came, and nothing else')
  t.same(channel.events.messages, [])
  gateway.server.announce('notifications/tools/list_changed')
  await channel.events.message(({ method }) => method === 'notifications/tools/list_changed', 1_000)
  turn.answer('{}')
  await events.whole()
  t.equal(events.messages.at(-1).id, 1)
  t.equal((await client.delete()).status, 204)
  await channel.events.whole()
}

/** Of the result of a tool, however it is answered: on a slow machine as an event stream. */
async function textOf(call: Promise<RawResponse>): Promise<string> {
  const { json, events } = await call
  const { result } = json ?? (await events.message(message => message.result !== undefined))
  return result.content[0].text
}

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

/** A proxy that waits less than the keep-alive cuts a stream: so the waiting above is not for nothing, and nothing is lost. */
export async function impatient(t: Test, gateway: Fronted, proxy: RunningProxy): Promise<void> {
  const client = await opened(proxy.url)
  const call = client.call('held')
  const turn = await gateway.held()
  const { events } = await call
  await events.whole(times.readTimeout + 5_000)
  t.same(events.messages, [])
  turn.answer('{"content":[]}')
  const rest = await client.get(events.lastId)
  t.match(await rest.events.message(({ id }) => id === 1), { result: { content: [] } })
}

/** Each client has its own address behind the proxy, whatever it claims. */
export async function addresses(t: Test, proxy: RunningProxy): Promise<void> {
  const initialize =
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) {
    const { status } = await send(`${proxy.url}/mcp`, {
      headers: {
        host: publicHost,
        'content-type': 'application/json',
        accept: 'application/json',
        'x-forwarded-for': `10.0.0.${i}`
      },
      body: initialize
    })
    statuses.push(status)
  }
  t.same(statuses, [200, 200, 200, 503], 'three sessions for an address')
}

/** HTTP/2 and TLS to the proxy: a call whose stream begins before its answer is there. */
export async function overHttp2(t: Test, gateway: Fronted, proxy: RunningProxy): Promise<void> {
  const session = http2.connect(proxy.tlsUrl, { ca: readFileSync(authority), servername: publicHost })
  t.teardown(() => session.destroy())
  const request = async (body: string, headers: Record<string, string> = {}) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/mcp',
      ':authority': publicHost,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers
    })
    let text = ''
    let ended = false
    stream.setEncoding('utf8')
    stream.on('data', chunk => {
      text += chunk
    })
    stream.on('end', () => {
      ended = true
    })
    stream.end(body)
    const head = await new Promise<Record<string, unknown>>((resolve, reject) => {
      stream.on('response', resolve)
      stream.on('error', reject)
    })
    return { head, text: () => text, ended: () => ended }
  }
  const initialized = await request(
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
  )
  const id = String(initialized.head['mcp-session-id'])
  const call = await request('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"held"}}', {
    'mcp-session-id': id
  })
  t.equal(call.head['content-type'], 'text/event-stream')
  await until('the priming event is here', () => call.text().includes('retry: '))
  const turn = await gateway.held()
  turn.answer('{"content":[]}')
  await until('the stream is over', call.ended)
  t.match(call.text(), /data: \{"jsonrpc":"2.0","id":2,"result":\{"content":\[\]\}\}\n\n$/)
}
