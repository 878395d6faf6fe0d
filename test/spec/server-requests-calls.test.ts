/** Calls between client and upstream: progress, cancellation, silence, dead and wrong upstreams (R100, R102, R103, CAN-01, CAN-05, CAN-06, B1-B3, B7). */
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { textParam } from '../../src/protocol/message.ts'
import { behind, proxied } from '../helpers/behind.ts'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { RawClient, type RawResponse } from '../helpers/raw-client.ts'
import { contractTools, Scripted, type Turn } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

const isResponse = ({ result, error }: any): boolean => result !== undefined || error !== undefined

/** The response, whether it came as JSON or on a stream. */
const answerOf = async ({ json, events }: RawResponse): Promise<any> => json ?? events.message(isResponse)

const cancels = (server: Scripted): { id: string | undefined; reason: string | undefined }[] =>
  server.heardOf('notifications/cancelled').map(message => ({
    id: textParam(message, 'requestId'),
    reason: textParam(message, 'reason')
  }))

const fast = { file: { streams: { sseAfter: '50ms' } } }

for (const kind of proxied) {
  void t.test(kind, async t => {
    const turns: Turn[] = []
    const server = contractTools(new Scripted())
    server.on('tools/call:hold', turn => void turns.push(turn))
    server.on('tools/call:progress-of', turn => {
      for (const [token, progress] of JSON.parse(turn.arguments).said) {
        turn.progress(progress, token === 'own' ? turn.token : JSON.stringify(token))
      }
      turn.answer('{"content":[]}')
      turn.progress(99)
    })
    const { url } = await behind(t, kind, { server, ...fast })
    const [client, other] = await Promise.all([RawClient.open(url), RawClient.open(url)])

    t.test(
      'progress carries the token as the client wrote it, on the stream of its call, before the response (CAN-05)',
      async t => {
        for (const token of ['1', '"1"', '0', '""', '"\\u0041"', '9007199254740993']) {
          const body = (who: string): string =>
            `{"jsonrpc":"2.0","id":${token === '""' ? 1 : token},"method":"tools/call","params":{"name":"progress-of",` +
            `"arguments":{"said":[["own",0],["own",5],["own",5],["own",4],["${who}",1],[null,2]]},"_meta":{"progressToken":${token}}}}`
          const streams = await Promise.all([client.post(body('a')), other!.post(body('b'))])
          for (const { events } of streams) {
            await events.whole()
            const texts = events.all.flatMap(({ data }) => (data ? [data] : []))
            t.same(
              texts.slice(0, -1),
              [0, 5, 5, 4].map(
                progress =>
                  `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${progress}}}`
              ),
              token
            )
            t.match(JSON.parse(texts.at(-1)!), { result: {} })
          }
        }
      }
    )

    t.test('without a token there is no progress (R100d)', async t => {
      const { json } = await client!.call('progress-of', { said: [['x', 1]] })
      t.match(json, { result: {} })
      t.notMatch(String(server.heardOf('tools/call').at(-1)!.source), /progressToken/)
    })

    t.test(
      'a cancel reaches the upstream at once, with its id and the reason, and ends the POST (CAN-01, R102)',
      async t => {
        server.heard.length = 0
        turns.length = 0
        const body = (id: string): string =>
          `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"hold"}}`
        const ids = ['101', '"101"', '9007199254740993', '9007199254740992', '102', '102']
        const calls = await Promise.all(ids.map(id => client!.post(body(id))))
        await until('all are upstream', () => turns.length === ids.length)
        const cancel = (who: RawClient, id: string): Promise<RawResponse> =>
          who.post(
            `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"\\u0041 \\"x\\""}}`
          )
        const upstreamIdOf = (i: number): string => turns[i]!.message.id!
        for (const [who, id] of [
          [other!, '101'],
          [client!, '102'],
          [client!, '103'],
          [client!, 'null'],
          [client!, '"init"']
        ] as const) {
          t.equal((await cancel(who, id)).status, 202)
        }
        await client!.post({ method: 'notifications/cancelled' })
        await client!.post({ method: 'notifications/cancelled', params: {} })
        t.same(cancels(server), [], "another session's, ambiguous, unknown: ignored")
        const began = performance.now()
        t.equal((await cancel(client!, '9007199254740993')).status, 202)
        await until('the upstream knows', () => cancels(server).length === 1)
        t.ok(performance.now() - began < 1_000)
        const upstream = turns.findIndex(turn => turn.message.id === cancels(server)[0]!.id)
        t.match(cancels(server)[0]!.reason, /^"A \\"x\\""$/)
        const order = await Promise.all(
          calls.map(async ({ events }, i) => (i === 2 ? (await events.whole()).messages : events.ended))
        )
        t.same(order, [false, false, [], false, false, false], 'that one ended, with nothing')
        turns[upstream]!.answer('{"content":[],"late":true}')
        await cancel(client!, '"101"')
        await calls[1]!.events.whole()
        await until('the second', () => cancels(server).length === 2)
        t.not(cancels(server)[1]!.id, cancels(server)[0]!.id)
        t.equal((await cancel(client!, '9007199254740993')).status, 202, 'over already')
        const cancelled = cancels(server).map(({ id }) => id)
        for (const [i, turn] of turns.entries()) {
          if (!cancelled.includes(upstreamIdOf(i))) turn.answer('{"content":[]}')
        }
        const rest = await Promise.all([0, 3, 4, 5].map(i => answerOf(calls[i]!)))
        t.match(rest, Array(4).fill({ result: { content: [] } }))
        for (const { events } of calls) t.notMatch(JSON.stringify(events.messages), /late/)
      }
    )

    t.test('a cancel before anything was sent ends the POST with an empty stream', async t => {
      turns.length = 0
      const calling = client!.post({ id: 'quick', method: 'tools/call', params: { name: 'hold' } })
      await until('it is upstream', () => turns.length === 1)
      await client!.post({ method: 'notifications/cancelled', params: { requestId: 'quick' } })
      const { status, headers, events } = await calling
      t.equal(status, 200)
      t.equal(headers['content-type'], 'text/event-stream')
      t.same((await events.whole()).messages, [])
    })

    t.test('wrong answers reach nobody (B7)', async t => {
      turns.length = 0
      const [one, two] = [client!.call('hold'), other!.call('hold')]
      await until('both are upstream', () => turns.length === 2)
      const [first] = turns as [Turn, Turn]
      for (const raw of [
        '{"jsonrpc":"2.0","id":424242,"result":{"wrong":1}}',
        '{"jsonrpc":"2.0","id":"x","result":{"wrong":1}}',
        `{"jsonrpc":"2.0","id":${first.message.id},"result":{"wrong":1},"error":{"code":1,"message":"both"}}`,
        `{"jsonrpc":"2.0","id":${first.message.id}}`,
        '{"jsonrpc":"2.0","id":true,"result":{"wrong":1}}'
      ]) {
        first.raw(raw)
      }
      for (const turn of turns) {
        turn.raw('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":1}}')
        turn.answer('{"content":[]}', turn === first ? `"${turn.message.id}"` : turn.message.id)
      }
      for (const response of await Promise.all([one, two])) {
        t.match(await answerOf(response), { id: Number, result: { content: [] } })
        t.notMatch(JSON.stringify(response.events.messages), /wrong|nobody/)
      }
    })
  })
}

t.test(
  'a silent upstream is given up: one error with the id, the upstream is told, what comes late is dropped (CAN-06, B3)',
  async t => {
    const server = contractTools(new Scripted())
    const { url } = await behind(t, 'http', { server, ...fast, backend: { timeout: '300ms', maxTime: '900ms' } })
    const client = await RawClient.open(url)
    const { events } = await client.post({ id: 'mine', method: 'tools/call', params: { name: 'slow' } })
    await events.whole()
    t.match(events.messages, [
      { id: 'mine', error: { code: -32603, data: { reason: 'timeout', limit: 'timeout', backend: 'docs' } } }
    ])
    await until('the upstream knows', () => cancels(server).length === 1)
    t.equal(cancels(server)[0]!.id, server.heardOf('tools/call')[0]!.id)
    await sleep(50)
    t.equal(events.messages.length, 1)

    server.on('tools/call:busy', async turn => {
      for (let i = 0; i < 30; i++) {
        turn.progress(i)
        await sleep(100)
      }
    })
    const busy = await client.call('busy', {}, { progressToken: 1 })
    await busy.events.whole()
    const { length } = busy.events.messages
    t.ok(length > 5, 'progress keeps it alive')
    t.match(busy.events.messages.at(-1), { error: { data: { reason: 'timeout', limit: 'maxTime' } } })
    t.match((await client.call('echo')).json, { result: {} })
  }
)

t.test('a tasks/result may wait for longer than any limit', async t => {
  const server = contractTools(new Scripted())
  server.on('tasks/result', async turn => {
    await sleep(500)
    turn.answer('{"content":[]}')
  })
  const { url } = await behind(t, 'http', { server, ...fast, backend: { timeout: '200ms', maxTime: '300ms' } })
  const client = await RawClient.open(url)
  t.match(await answerOf(await client.request('tasks/result', { taskId: 't' })), { result: { content: [] } })
})

t.test('a slow reader is no silent upstream', async t => {
  const server = contractTools(new Scripted())
  server.on('tools/call:late', async turn => {
    turn.notify('notifications/message', { level: 'info', data: 1 })
    await sleep(150)
    turn.answer('{"content":[]}')
  })
  const { url } = await behind(t, 'http', { server, backend: { timeout: '300ms' } })
  const client = await RawClient.open(url)
  for (let i = 0; i < 3; i++) t.match(await answerOf(await client.call('late')), { result: {} })
})

t.test('upstreams that cannot be reached, hang or break fail one call each, and nothing else (B1, B2, B3)', async t => {
  const good = await HttpUpstream.start(contractTools(new Scripted()))
  const bad = await HttpUpstream.start(contractTools(new Scripted()))
  t.teardown(() => good.close())
  const { gateway } = await startGateway(t, {
    backends: {
      good: { kind: 'http', url: good.url },
      bad: { kind: 'http', url: bad.url, timeout: '300ms' },
      gone: { kind: 'http', url: 'http://127.0.0.1:1/mcp' },
      nowhere: { kind: 'http', url: 'http://nowhere.invalid/mcp' },
      missing: { kind: 'stdio', command: '/no/such/program' },
      exits: { kind: 'stdio', command: process.execPath, args: ['-e', 'process.exit(3)'] }
    }
  })
  const healthy = await RawClient.open(gateway.url('/mcp/good'))
  for (const name of ['gone', 'nowhere', 'missing', 'exits']) {
    const client = new RawClient(gateway.url(`/mcp/${name}`))
    const { status, json, text } = await client.post({
      id: 'i',
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
    })
    t.equal(status, 200)
    t.match(json, { id: 'i', error: { code: -32603, data: { reason: 'backend_unavailable', backend: name } } })
    t.notMatch(text, /127\.0\.0\.1|nowhere\.invalid/)
  }
  const client = await RawClient.open(gateway.url('/mcp/bad'))
  // The head comes, then nothing.
  bad.options.intercept = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":')
    return true
  }
  t.match(await answerOf(await client.call('echo')), { error: { data: { reason: 'timeout', backend: 'bad' } } })
  bad.options.intercept = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"jsonrpc":"2.0","id":')
    setTimeout(() => response.socket!.resetAndDestroy(), 10)
    return true
  }
  t.match(await answerOf(await client.call('echo')), { error: { data: { reason: 'backend_broke', backend: 'bad' } } })
  await bad.close()
  t.match(await answerOf(await client.call('echo')), {
    id: client.lastId,
    error: { code: -32603, data: { reason: 'backend_unavailable', backend: 'bad' } }
  })
  t.match((await healthy.call('echo')).json, { result: {} })
  t.equal((await client.post({ id: 1, method: 'ping' })).status, 200, 'the session lives')
})

t.test('an upstream that takes connections and says nothing does not hold initialize for ever', async t => {
  const sockets: net.Socket[] = []
  const silent = net.createServer(socket => void sockets.push(socket.on('error', () => {})))
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const { port } = silent.address() as net.AddressInfo
  const { url } = await startGateway(t, {
    backends: { docs: { kind: 'http', url: `http://127.0.0.1:${port}/mcp`, timeout: '200ms' } }
  })
  const { json } = await new RawClient(url).post({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  })
  t.match(json, { id: 1, error: { code: -32603, data: { reason: 'timeout', backend: 'docs' } } })
})
