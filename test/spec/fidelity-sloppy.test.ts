/** Upstreams that take the specification lightly are served all the same: each quirk alone, and all at once (R194, HDR-06). */
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { connectV1 } from '../e2e/clients/v1.ts'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream, type HttpUpstreamOptions } from '../helpers/http-upstream.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { Scripted, type Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

const quirks = [
  'no session id',
  'initialized is answered with 200 and nothing',
  'no serverInfo',
  'no capabilities',
  'ids come back as strings',
  'nextCursor is null',
  'GET is answered with 200 and no event stream',
  'an older revision',
  'the content type has parameters',
  'id null in errors'
] as const
type Quirk = (typeof quirks)[number]

/** What `notifications/initialized` may be answered with: status, type, body. */
const acknowledgements: readonly (readonly [number, string | undefined, string])[] = [
  [200, undefined, ''],
  [200, 'application/json', 'null'],
  [204, undefined, ''],
  [202, 'text/plain', 'Accepted'],
  [200, 'application/json', '{}'],
  [400, undefined, ''],
  [500, 'text/html', '<h1>oops</h1>']
]

const lists: Readonly<Record<string, string>> = {
  'tools/list': '"tools":[{"name":"t","inputSchema":{"type":"object"}}]',
  'resources/list': '"resources":[{"uri":"file:///r","name":"r"}]',
  'resources/templates/list': '"resourceTemplates":[{"uriTemplate":"file:///{r}","name":"r"}]',
  'prompts/list': '"prompts":[{"name":"p"}]'
}
const others: Readonly<Record<string, string>> = {
  'tools/call': '{"content":[{"type":"text","text":"called"}]}',
  'resources/read': '{"contents":[{"uri":"file:///r","text":"read"}]}',
  'prompts/get': '{"messages":[{"role":"user","content":{"type":"text","text":"got"}}]}'
}

function sloppyServer(has: (quirk: Quirk) => boolean): Scripted {
  const server = new Scripted()
  const answer = (turn: Turn, result: string): void =>
    turn.answer(result, has('ids come back as strings') ? `"${turn.message.id}"` : turn.message.id)
  const initializeResult = JSON.stringify({
    protocolVersion: has('an older revision') ? '2025-06-18' : '2025-11-25',
    ...(has('no capabilities') ? {} : { capabilities: { tools: {}, resources: {}, prompts: {} } }),
    ...(has('no serverInfo') ? {} : { serverInfo: { name: 'sloppy', version: '1' } })
  })
  server.on('initialize', turn => answer(turn, initializeResult))
  for (const [method, list] of Object.entries(lists)) {
    server.on(method, turn => answer(turn, `{${list}${has('nextCursor is null') ? ',"nextCursor":null' : ''}}`))
  }
  for (const [method, result] of Object.entries(others)) server.on(method, turn => answer(turn, result))
  server.on('x/fails', turn => {
    const id = has('id null in errors') ? 'null' : turn.message.id
    turn.raw(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":"no"}}`)
  })
  return server
}

async function sloppy(
  t: Test,
  active: readonly Quirk[],
  [status, type, body] = acknowledgements[0]!
): Promise<{ url: string; server: Scripted; upstream: HttpUpstream }> {
  const has = (quirk: Quirk): boolean => active.includes(quirk)
  const server = sloppyServer(has)
  const send = (response: ServerResponse, code: number, contentType: string | undefined, text: string): true => {
    response.writeHead(code, contentType === undefined ? {} : { 'content-type': contentType }).end(text)
    return true
  }
  const options: HttpUpstreamOptions = {
    sessions: !has('no session id'),
    intercept(request, response, text) {
      if (has('GET is answered with 200 and no event stream') && request.method === 'GET') {
        return send(response, 200, 'text/html', '<h1>It works!</h1>')
      }
      if (has('initialized is answered with 200 and nothing') && text.includes('"notifications/initialized"')) {
        return send(response, status, type, body)
      }
      if (text.includes('"x/fails"')) {
        server.accept(text, { write: json => void send(response, 200, 'application/json', json), die() {} })
        return true
      }
      if (has('the content type has parameters')) {
        const { writeHead } = response
        response.writeHead = ((code: number, headers: Record<string, string> = {}) =>
          writeHead.call(
            response,
            code,
            headers['content-type'] === 'application/json'
              ? { ...headers, 'content-type': 'Application/JSON;charset=UTF-8' }
              : headers
          )) as typeof writeHead
      }
      return false
    }
  }
  const upstream = await HttpUpstream.start(server, options)
  t.teardown(() => upstream.close())
  const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  return { url, server, upstream }
}

async function flowsOfRaw(t: Test, url: string, active: readonly Quirk[]): Promise<void> {
  const client = await RawClient.open(url)
  t.match(client.server.serverInfo, { name: String, version: String })
  t.type(client.server.capabilities, 'object')
  t.equal(client.server.protocolVersion, '2025-11-25')
  const cursor = active.includes('nextCursor is null') ? ',"nextCursor":null' : ''
  const ids = [7, '"seven"']
  for (const id of ids) {
    for (const [method, list] of Object.entries(lists)) {
      const { text } = await client.post(`{"jsonrpc":"2.0","id":${id},"method":"${method}"}`)
      t.equal(text, `{"jsonrpc":"2.0","id":${id},"result":{${list}${cursor}}}`)
    }
    for (const [method, result] of Object.entries(others)) {
      const { text } = await client.post(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{"name":"t"}}`)
      t.equal(text, `{"jsonrpc":"2.0","id":${id},"result":${result}}`)
    }
  }
  const { json } = await client.request('x/fails')
  t.strictSame(json, { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'no' } })
  t.equal((await client.delete()).status, 204)
}

async function flowsOfSdk(t: Test, url: string, active: readonly Quirk[]): Promise<void> {
  const peer = await connectV1({ url }, { roots: [], sample: '', elicitation: { action: 'cancel' } })
  t.teardown(() => peer.close())
  // The SDK itself does not ask for what is not advertised.
  if (!active.includes('no capabilities') && !active.includes('nextCursor is null')) {
    t.equal((await peer.listTools()).tools.length, 1)
    t.equal((await peer.listResources()).resources.length, 1)
  }
  t.strictSame(await peer.callTool('t'), JSON.parse(others['tools/call']!))
  t.strictSame(await peer.request('resources/read', { uri: 'file:///r' }), JSON.parse(others['resources/read']!))
  t.strictSame(await peer.request('prompts/get', { name: 'p' }), JSON.parse(others['prompts/get']!))
}

for (const active of [...quirks.map(quirk => [quirk]), quirks]) {
  void t.test(active.length === 1 ? active[0]! : 'all of them', async t => {
    const { url } = await sloppy(t, active)
    await t.test('raw client', t => flowsOfRaw(t, url, active))
    await t.test('SDK v1', t => flowsOfSdk(t, url, active))
  })
}

for (const [status, type, body] of acknowledgements) {
  void t.test(`initialized answered with ${status}, ${type}, ${JSON.stringify(body)}`, async t => {
    const active: Quirk[] = ['initialized is answered with 200 and nothing']
    const { url, server } = await sloppy(t, active, [status, type, body])
    await flowsOfRaw(t, url, active)
    t.equal(server.heardOf('initialize').length, 1)
  })
}

t.test('a GET that is no event stream is not tried again, and harms no call (NTF-01)', async t => {
  const { url, upstream } = await sloppy(t, ['GET is answered with 200 and no event stream'])
  const client = await RawClient.open(url)
  const { events } = await client.get()
  await until('the GET upstream', () => upstream.seenOf('GET').length === 1)
  for (let i = 0; i < 5; i++) t.equal((await client.request('tools/list')).status, 200)
  t.equal(upstream.seenOf('GET').length, 1)
  t.same(events.messages, [])
})
