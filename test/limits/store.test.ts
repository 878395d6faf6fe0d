/** docs/limits.md, the store that instances share: what is exactly within a bound passes, what takes longer gets what the page says. */
import t from 'tap'
import { initialize, isRefusal } from '../helpers/edge.ts'
import { startGateway } from '../helpers/gateway.ts'
import { HttpUpstream } from '../helpers/http-upstream.ts'
import { RawClient } from '../helpers/raw-client.ts'
import { startRedis, withoutRedis } from '../helpers/redis.ts'
import { contractTools, Scripted } from '../helpers/scripted.ts'
import { slowLink } from '../helpers/slow-link.ts'

t.test(
  'store.deadline: Redis may take so long for a command; when it takes longer the request is 503',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t)
    const link = await slowLink(t, server.port)
    const upstream = await HttpUpstream.start(contractTools(new Scripted()))
    t.teardown(() => upstream.close())
    const { url } = await startGateway(t, {
      store: { kind: 'redis', url: `redis://127.0.0.1:${link.port}`, deadline: '2s' },
      secrets: { key: Buffer.alloc(32, 'secret').toString('base64url') },
      backends: { docs: { kind: 'http', url: upstream.url, era: 'legacy' } },
      routes: { '/mcp': { backends: ['docs'], protocol: { versions: ['2025-11-25'] } } }
    })
    const client = await RawClient.open(url)
    link.delay = 300
    t.equal((await client.request('ping')).status, 200, '600 ms there and back')
    link.delay = 1_500
    const began = performance.now()
    const late = await new RawClient(url).post(initialize())
    isRefusal(t, late, 503, -32603, 1)
    t.match(late.json, { error: { data: { reason: 'store' } } })
    t.match(late.headers, { 'retry-after': /^\d+$/ })
    t.ok(performance.now() - began >= 1_900, 'not before its time was over')
  }
)
