/** Legacy clients over modern backends, as their own HTTP shows it (areas 17 to 19 of the field cases). */
import t, { type Test } from 'tap'
import { startModernHttp } from '../fixtures/modern/http.ts'
import { legacy, modern, refusal, result, startAnswering } from '../helpers/answering.ts'
import { startGateway } from '../helpers/gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { until } from '../helpers/until.ts'

failOnRejections(t)

const overFixture = async (t: Test, file: Record<string, unknown> = {}) => {
  const server = await startModernHttp()
  t.teardown(server.stop)
  const { url } = await startGateway(t, { ...file, backends: { modern: { kind: 'http', url: server.url } } })
  return { server, url }
}

const asked = ({ method }: { method?: string }): boolean => method === 'elicitation/create'

t.test('the stream of a call that asks can be cut and resumed; its answer may come meanwhile (R17, R110)', async t => {
  const { url } = await overFixture(t)
  const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
  const { events, destroy } = await client.call('greet')
  const { id } = await events.message(asked)
  destroy()
  t.equal((await client.post({ id, result: { action: 'accept', content: { name: 'Ada' } } })).status, 202)
  const again = await client.get(events.lastId)
  const { messages } = await again.events.whole()
  t.equal(messages.length, 1)
  t.match(JSON.parse(messages[0].result.content[0].text), { answer: { content: { name: 'Ada' } } })
  t.equal(messages[0].result.resultType, undefined)
})

t.test('a client that cancels while it is asked ends the call; nothing is sent upstream any more (CAN-01)', async t => {
  const { server, url } = await overFixture(t)
  const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
  const { events } = await client.call('greet')
  const { id } = await events.message(asked)
  await client.post({ method: 'notifications/cancelled', params: { requestId: client.lastId } })
  await events.whole()
  const before = server.heard.length
  t.equal((await client.post({ id, result: { action: 'accept' } })).status, 202)
  t.match((await client.call('echo', { message: 'x' })).json, { result: { content: [{ text: 'Echo: x' }] } })
  t.equal(server.heard.length, before + 1)
})

t.test('who does not answer in time: the elicitation is cancelled, and the call goes on', async t => {
  const { url } = await overFixture(t, { input: { timeout: '100ms' } })
  const client = await RawClient.open(url, { capabilities: { elicitation: {} } })
  const { events } = await client.call('greet')
  const { messages } = await events.whole()
  t.ok(messages.some(({ method }) => method === 'notifications/cancelled'))
  t.match(JSON.parse(messages.at(-1).result.content[0].text), { answer: { action: 'cancel' } })
})

t.test('a client that was not declared able to answer gets the error of the backend', async t => {
  const { url } = await overFixture(t)
  const client = await RawClient.open(url)
  t.match((await client.call('greet')).json, { error: { code: -32021 } })
})

t.test('a client that is cut off during a call cancels nothing; DELETE closes the streams upstream', async t => {
  const { server, url } = await overFixture(t)
  const client = await RawClient.open(url)
  const { destroy } = await client.call('wait', { label: 'kept' }, { progressToken: 1 })
  destroy()
  await client.call('echo', { message: 'x' })
  await until('one call is open', () => server.open() === 1)
  await client.delete()
  await until('none is', () => server.open() === 0)
})

t.test('sessions listen over one subscription; the last one that leaves ends it', async t => {
  const { server, url } = await overFixture(t)
  const clients = [await RawClient.open(url), await RawClient.open(url), await RawClient.open(url)]
  const channels = await Promise.all(clients.map(client => client.get()))
  await until('one listens', () => server.open() === 1)
  server.notify.promptsChanged()
  for (const { events } of channels) {
    await events.message(({ method }) => method === 'notifications/prompts/list_changed')
  }
  t.equal(server.open(), 1)
  for (const client of clients) await client.delete()
  await until('none is', () => server.open() === 0)
})

t.test('a resource that the backend does not tell of is refused with -32602', async t => {
  const upstream = await startAnswering(
    t,
    modern(
      request => ({
        events: [
          {
            jsonrpc: '2.0',
            method: 'notifications/subscriptions/acknowledged',
            params: { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': request.body.id } }
          }
        ]
      }),
      { capabilities: { resources: { subscribe: true } } }
    )
  )
  const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  const client = await RawClient.open(url)
  t.match((await client.request('resources/subscribe', { uri: 'a:b' })).json, { error: { code: -32602 } })
})

t.test('a backend that is replaced by one of the other era serves the same session on (both ways)', async t => {
  const upstream = await startAnswering(t, legacy())
  const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  const client = await RawClient.open(url)
  t.match((await client.call('x')).json, { result: { content: [] } })
  upstream.answer = modern(request =>
    request.headers['mcp-method'] === undefined
      ? refusal(request, 400, -32020)
      : result(request, { resultType: 'complete', content: [{ type: 'text', text: 'new' }] })
  )
  t.match((await client.call('x')).json, { result: { content: [{ text: 'new' }] } })
  upstream.answer = legacy(() => ({ status: 400 }))
  t.match((await client.call('x')).json, { result: { content: [] } })
  const again = await RawClient.open(url)
  t.match((await again.call('x')).json, { result: { content: [] } })
})

t.test('a modern backend that breaks off in a call is one error, and is not sent the call again (SSE-10)', async t => {
  const upstream = await startAnswering(
    t,
    modern(() => ({
      events: [{ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } }]
    }))
  )
  const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  const client = await RawClient.open(url)
  const { events } = await client.call('x')
  const { messages } = await events.whole()
  t.match(messages.at(-1), { error: { code: -32603, data: { reason: 'backend_broke' } } })
  t.equal(upstream.methods().filter(method => method === 'tools/call').length, 1)
})

t.test('nothing of the client reaches a modern backend but what its requests say (S14)', async t => {
  const { server, url } = await overFixture(t)
  const client = await RawClient.open(url)
  await client.request('tools/call', { name: 'echo', arguments: { message: 'x' } }, { authorization: 'Bearer secret' })
  for (const { headers } of server.heard) {
    t.equal(headers.authorization, undefined)
    t.equal(headers['mcp-session-id'], undefined)
    t.equal(headers['last-event-id'], undefined)
  }
})

t.test('a modern client is not asked what its request did not declare: 400 and -32021', async t => {
  const upstream = await startAnswering(
    t,
    modern(request =>
      result(request, {
        resultType: 'input_required',
        inputRequests: { a: { method: 'roots/list' } },
        requestState: 's'
      })
    )
  )
  const { url } = await startGateway(t, { backends: { docs: { kind: 'http', url: upstream.url } } })
  const call = (clientCapabilities: object): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'x'
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'x',
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': clientCapabilities
          }
        }
      })
    })
  const refused = await call({})
  t.equal(refused.status, 400)
  t.match(await refused.json(), { id: 1, error: { code: -32021, data: { requiredCapabilities: { roots: {} } } } })
  const passed = await call({ roots: {} })
  t.match(await passed.json(), { result: { inputRequests: { a: { method: 'roots/list' } }, requestState: 's' } })
})
