/** What passes between the two sides besides messages: nothing (decisions "Credentials of the client"; S2, H16-H18, HTP-01, HTP-06). */
import t from 'tap'
import { startEdge } from '../helpers/edge.ts'
import { RawClient, send } from '../helpers/raw-client.ts'
import { until } from '../helpers/until.ts'

const canary = 'canary-5f1d'

/** Each with the canary in it. */
const headers: Record<string, string> = {
  authorization: `Bearer ${canary}`,
  cookie: `a=${canary}`,
  'proxy-authorization': `Basic ${canary}`,
  'x-api-key': canary,
  'x-forwarded-for': `1.2.3.4, ${canary}`,
  'x-forwarded-host': canary,
  'x-forwarded-proto': canary,
  'x-real-ip': canary,
  forwarded: `for=${canary}`,
  via: `1.1 ${canary}`,
  referer: `http://${canary}/`,
  'user-agent': canary,
  'accept-language': canary,
  'keep-alive': canary,
  te: 'trailers',
  traceparent: canary,
  'mcp-name': canary,
  'mcp-param-x': canary,
  'x-custom': canary,
  connection: 'authorization, x-custom'
}

t.test('no header of a client reaches a backend, on any kind of request (S2, H16, H17, HTP-06)', async t => {
  const { upstream, url } = await startEdge(t, { streams: { sseAfter: '10ms' } }, { events: true })
  const client = new RawClient(`${url}?access_token=${canary}`)
  const opened = await client.post(
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
    },
    headers
  )
  client.session = opened.headers['mcp-session-id'] as string
  await client.post({ method: 'notifications/initialized' }, headers)
  await client.post({ method: 'notifications/x' }, headers)
  await client.request('tools/call', { name: 'echo' }, headers)
  const stream = await client.request('tools/call', { name: 'progress', _meta: { progressToken: 1 } }, headers)
  await stream.events.whole()
  const channel = await client.get(undefined, headers)
  await channel.events.until(({ all }) => all.length > 0)
  channel.destroy()
  await client.delete(headers)

  await until('the upstream session is ended', () => upstream.seenOf('DELETE').length > 0)
  const methods = new Set(upstream.seen.map(({ method }) => method))
  t.same([...methods].sort(), ['DELETE', 'GET', 'POST'])
  t.notMatch(JSON.stringify(upstream.seen), new RegExp(canary))
  for (const { headers, method } of upstream.seen) {
    t.not(headers['mcp-session-id'], client.session, 'sessions of the two sides are two')
    t.equal(headers['accept-encoding'], 'identity', `${method}: nothing is asked to be encoded`)
    for (const name of ['te', 'keep-alive', 'upgrade', 'trailer', 'proxy-authorization'])
      t.equal(headers[name], undefined)
  }
})

t.test('what is configured for a backend is sent, and the client cannot strip it (H16)', async t => {
  const own = { Authorization: 'Bearer own', 'X-Tenant': 'a' }
  const { upstream } = await startEdge(t)
  const { url } = await startEdge(t, { backends: { docs: { kind: 'http', url: upstream.url, headers: own } } })
  const client = await RawClient.open(url)
  await client.request(
    'tools/call',
    { name: 'echo' },
    { connection: 'authorization, x-tenant, close', authorization: 'Bearer client' }
  )
  for (const { headers } of upstream.seen) t.match(headers, { authorization: 'Bearer own', 'x-tenant': 'a' })
})

t.test('no header of a backend reaches a client, with JSON, streams and errors (H18, HTP-06)', async t => {
  const { upstream, url } = await startEdge(t)
  const evil = {
    'set-cookie': `a=${canary}`,
    'www-authenticate': `Bearer resource_metadata="https://${canary}"`,
    'access-control-allow-origin': '*',
    'access-control-allow-credentials': 'true',
    'content-security-policy': canary,
    'content-disposition': canary,
    'retry-after': '99',
    allow: canary,
    etag: canary,
    location: `https://${canary}/`,
    server: canary,
    'x-powered-by': canary
  }
  let status = 200
  let stream = false
  upstream.options.intercept = (_request, response, body) => {
    for (const [name, value] of Object.entries(evil)) response.setHeader(name, value)
    if (!body.includes('tools/call')) return false
    const { id } = JSON.parse(body)
    response.setHeader('mcp-session-id', 'another')
    const answer = `{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`
    if (stream) {
      response.writeHead(status, { 'content-type': 'text/event-stream' })
      response.write(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n`)
      response.end(`data: ${answer}\n\n`)
    } else response.writeHead(status, { 'content-type': 'application/json' }).end(answer)
    return true
  }
  const client = await RawClient.open(url)
  const seen: unknown[] = []
  for (status of [200, 302, 401, 403, 429, 500, 502]) {
    for (stream of [false, true]) {
      const response = await client.call('x')
      t.equal(response.status, 200, `${status}: what goes wrong between the two of us is not the client's HTTP`)
      await response.events.whole()
      seen.push(response.headers, response.text, response.events.messages)
      t.equal(response.headers['mcp-session-id'], undefined)
      for (const name of Object.keys(evil)) t.equal(response.headers[name], undefined, `${status}: ${name}`)
    }
  }
  t.notMatch(JSON.stringify(seen), new RegExp(canary))
  const opened = await send(url, {
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
  })
  t.equal(opened.headers['set-cookie'], undefined)
  t.not(opened.headers['mcp-session-id'], [...upstream.sessions].at(-1), "the id of the gateway, not the backend's")
})

t.test('X-Forwarded-For counts from proxies that are trusted, and from nobody else (H17)', async t => {
  const sessions = { perAddress: 2 }
  const open = (url: string, address: string): Promise<number> =>
    send(url, {
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
    }).then(({ status }) => status)
  const plain = await startEdge(t, { sessions })
  t.same(
    [await open(plain.url, '1.1.1.1'), await open(plain.url, '2.2.2.2'), await open(plain.url, '3.3.3.3')],
    [200, 200, 503]
  )
  const trusting = await startEdge(t, { sessions, server: { trustProxy: ['127.0.0.0/8'] } })
  t.same(
    [
      await open(trusting.url, '1.1.1.1'),
      await open(trusting.url, '9.9.9.9, 1.1.1.1'),
      await open(trusting.url, '1.1.1.1'),
      await open(trusting.url, '2.2.2.2')
    ],
    [200, 200, 503, 200],
    'the last address that no trusted proxy vouches for'
  )
  const distrusting = await startEdge(t, { sessions, server: { trustProxy: ['10.0.0.0/8'] } })
  t.same(
    [
      await open(distrusting.url, '1.1.1.1'),
      await open(distrusting.url, '2.2.2.2'),
      await open(distrusting.url, '3.3.3.3')
    ],
    [200, 200, 503]
  )
})

t.test('nothing inner is told: no stack, no address, no path (HTP-08)', async t => {
  const { url } = await startEdge(t, { backends: { docs: { kind: 'http', url: 'http://127.0.0.1:1/secret-path' } } })
  const { json, text } = await send(url, {
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
  })
  t.match(json, { id: 1, error: { code: -32603, data: { reason: 'backend_unavailable', backend: 'docs' } } })
  t.notMatch(text, /secret-path|127\.0\.0\.1|ECONNREFUSED|\.ts:|node_modules/)
})
