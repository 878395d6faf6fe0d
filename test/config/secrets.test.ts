import t from 'tap'
import { secretsOf } from '../../src/config/secrets.ts'
import { configOf } from '../helpers/gateway.ts'

const key = 'k'.repeat(43)
const docs = { kind: 'http', url: 'http://docs/mcp', headers: { Authorization: 'Bearer hush' } }

t.test(
  'no line of the log may show the key, headers to backends, and the password of Redis as it is and as it is written (C6, R8)',
  async t => {
    const store = { kind: 'redis', url: 'redis://user:h%40sh@redis:6379' }
    const secrets = secretsOf(configOf({ store, secrets: { key }, backends: { docs } }))
    t.same(secrets.toSorted(), ['Bearer hush', 'h%40sh', 'h@sh', key].toSorted())
    t.same(
      secretsOf(configOf({ store: { ...store, url: 'redis://redis' }, secrets: { key }, backends: { docs } })).length,
      2
    )
  }
)
