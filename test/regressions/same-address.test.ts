/** Two backends of a route at one address, told apart by their headers: each has an upstream session of its own. */
import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { contractTools, Scripted } from '../helpers/scripted.ts'
import { until } from '../helpers/until.ts'

t.test('two backends at one address share no upstream session', async t => {
  const server = contractTools(new Scripted())
  server.on('tools/list', turn => turn.answer('{"tools":[{"name":"echo","inputSchema":{}}]}'))
  let away = true
  const upstream = await HttpUpstream.start(server, {
    intercept(request, response) {
      if (!away || request.headers['x-tenant'] !== '2') return false
      response.writeHead(503).end()
      return true
    }
  })
  t.teardown(() => upstream.close())
  const of = (tenant: string) => ({ kind: 'http', url: upstream.url, headers: { 'x-tenant': tenant } })
  const { url } = await startGateway(t, { backends: { one: of('1'), two: of('2') } })
  const client = await RawClient.open(new URL('/mcp', url).href)
  // The second comes when the first has its session.
  away = false
  await until('it is back', async () => (await client.call('two_echo')).json.result !== undefined, 10_000)
  for (const name of ['one_echo', 'two_echo'])
    t.match((await client.call(name)).json.result, { content: [{ text: '{}' }] })
  t.equal(upstream.sessions.size, 2)
  const sessions = new Map<unknown, Set<unknown>>()
  for (const { headers } of upstream.seen) {
    const session = headers['mcp-session-id']
    if (session !== undefined) sessions.set(session, (sessions.get(session) ?? new Set()).add(headers['x-tenant']))
  }
  t.same(
    [...sessions.values()].map(tenants => tenants.size),
    [1, 1]
  )
})
