import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'

const handlers = new URL('../../src/handlers/demo.ts', import.meta.url).pathname

t.test('a request without session and version header is refused where 2025-03-26 is not served', async t => {
  const { url } = await startGateway(t, {
    sessions: { mode: 'optional' },
    backends: { demo: { kind: 'module', path: handlers } },
    routes: { '/new': { backends: ['demo'], protocol: { versions: ['2025-06-18', '2025-11-25'] } } }
  })
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hi' } } }
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body: JSON.stringify(body)
    })

  for (const body of [call, [call]]) {
    const refused = await post(body)
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { code: -32600, data: { supported: ['2025-11-25', '2025-06-18'] } } })
  }
  const served = await post(call, { 'mcp-protocol-version': '2025-06-18' })
  t.match(await served.json(), { id: 1, result: { content: [{ text: 'hi' }] } })
})
