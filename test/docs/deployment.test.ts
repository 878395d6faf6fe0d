import t from 'tap'
import { parse } from 'yaml'
import { readText } from '../helpers/docs.ts'
import { schemaKeys } from '../helpers/schema-keys.ts'

const page = await readText('docs/deployment.md')

/** Seconds or bytes of `25s`, `1h`, `4MiB`, `4m` (nginx). */
const amount = (text: string, units: Readonly<Record<string, number>>): number => {
  const [, digits, unit = ''] = /^(\d+)(\w*)$/.exec(text) ?? []
  return Number(digits) * (units[unit] ?? Number.NaN)
}
const seconds = (text: string): number => amount(text, { ms: 0.001, s: 1, m: 60, h: 3600 })
const fallback = (path: string): string => String(schemaKeys().find(key => key.path === path)?.fallback)
const constant = async (file: string, name: string): Promise<number> =>
  Number(new RegExp(`\\b${name}(?: =|:) ([\\d_]+)`).exec(await readText(file))?.[1]?.replaceAll('_', ''))

const closing = async (): Promise<number> =>
  seconds(fallback('server.shutdown.delay')) +
  seconds(fallback('server.shutdown.deadline')) +
  (await constant('src/cli/run.ts', 'slack')) / 1000

t.test('compose gives the gateway more time to end than it may take', async t => {
  const compose = parse(await readText('deploy/compose.yaml')) as {
    services: { causeway: { stop_grace_period: string; read_only: boolean; init: boolean } }
  }
  const { stop_grace_period: grace, read_only, init } = compose.services.causeway
  t.ok(seconds(grace) > (await closing()), grace)
  t.match({ read_only, init }, { read_only: true, init: true })
})

t.test('the reverse proxies wait longer than the keep-alive, buffer nothing and retry nothing', async t => {
  const keepAlive = seconds(fallback('streams.keepAlive'))
  const nginx = await readText('deploy/nginx.conf')
  for (const [, value = ''] of nginx.matchAll(/proxy_(?:read|send)_timeout (\w+);/g)) t.ok(seconds(value) > keepAlive)
  for (const line of ['proxy_buffering off;', 'proxy_next_upstream off;', 'proxy_http_version 1.1;', 'gzip off;']) {
    t.ok(nginx.includes(line), line)
  }
  const body = amount(/client_max_body_size (\w+);/.exec(nginx)?.[1] ?? '', { m: 1024 ** 2 })
  t.equal(body, amount(fallback('server.limits.body'), { MiB: 1024 ** 2 }))
  const haproxy = await readText('deploy/haproxy.cfg')
  for (const [, value = ''] of haproxy.matchAll(/timeout (?:client|server) (\w+)/g)) t.ok(seconds(value) > keepAlive)
  t.match(haproxy, /\n {2}retries 0\n/)
})

t.test('docs/deployment.md has the times of shutting down that the code has', async t => {
  const retry = (await constant('src/generations/shutdown.ts', 'retryMs')) / 1000
  const spread = (await constant('src/generations/shutdown.ts', 'spreadMs')) / 1000
  const flush = (await constant('src/generations/shutdown.ts', 'flushMs')) / 1000
  const slack = (await constant('src/cli/run.ts', 'slack')) / 1000
  const input = (await constant('src/backends/stdio/backend.ts', 'input')) / 1000
  const terminate = (await constant('src/backends/stdio/backend.ts', 'terminate')) / 1000
  const idle = (await constant('src/http/server.ts', 'keepAliveTimeout')) / 1000
  for (const text of [
    `(${fallback('server.shutdown.delay').replace('s', ' s')})`,
    `(${fallback('server.shutdown.deadline').replace('s', ' s')})`,
    `\`retry\` with ${retry} to ${retry + spread} s`,
    `${flush} s for it to be written`,
    `SIGTERM after ${input} s, SIGKILL after ${terminate} s more`,
    `${slack} s after delay and deadline`,
    `idle ones after ${idle} s`,
    `\`streams.keepAlive\`** (${fallback('streams.keepAlive').replace('s', ' s')})`
  ]) {
    t.ok(page.includes(text), text)
  }
})

t.test('docs/deployment.md says of the image what the Dockerfile does', async t => {
  const dockerfile = await readText('Dockerfile')
  t.match(dockerfile, /^USER node$/m)
  t.match(dockerfile, /^COPY deploy\/causeway\.yaml \/etc\/causeway\/causeway\.yaml$/m)
  t.match(dockerfile, /^HEALTHCHECK .*\n.*127\.0\.0\.1:9090\/healthz/m)
  t.match(parse(await readText('deploy/causeway.yaml')), { server: { host: '0.0.0.0' }, admin: { port: 9090 } })
})
