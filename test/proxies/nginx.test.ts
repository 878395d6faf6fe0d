/** deploy/nginx.conf, and an nginx that was told nothing but where the gateway is (E5, SSE-08). */
import t from 'tap'
import { certificate, example, findProgram, type ProxyPorts, replaced, startNginx } from '../helpers/proxy.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { addresses, fronted, impatient, overHttp2, throughIt, times } from './through.ts'

failOnRejections(t)
if (process.env.CAUSEWAY_LONG !== undefined) t.setTimeout(600_000)

const skip = (await findProgram('nginx')) === undefined && 'nginx is not installed'
const seconds = (ms: number): string => `${ms}ms`

const shipped = await example('nginx.conf')
const ours = (ports: ProxyPorts, changes: readonly (readonly [string, string])[] = []): string =>
  replaced(shipped, [
    ['server 127.0.0.1:8080;', `server 127.0.0.1:${ports.gateway};`],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${ports.tls} ssl http2; listen 127.0.0.1:${ports.plain};`],
    ['/etc/nginx/tls/mcp.example.com.crt', certificate],
    ['/etc/nginx/tls/mcp.example.com.key', certificate],
    ...changes
  ])

const plain = ({ plain, gateway }: ProxyPorts): string => `
  server {
    listen 127.0.0.1:${plain};
    client_max_body_size 0;
    proxy_read_timeout ${seconds(times.readTimeout)};
    location / { proxy_pass http://127.0.0.1:${gateway}; }
  }`

t.test('deploy/nginx.conf: idle streams live, nothing is held back, resuming works (E5, SSE-08)', { skip }, async t => {
  const gateway = await fronted(t)
  await throughIt(t, gateway, await startNginx(t, gateway, ports => ours(ports)))
})

t.test('deploy/nginx.conf: TLS and HTTP/2', { skip }, async t => {
  const gateway = await fronted(t)
  await overHttp2(t, gateway, await startNginx(t, gateway, ports => ours(ports)))
})

t.test('deploy/nginx.conf: clients are told apart by their addresses (H17)', { skip }, async t => {
  const gateway = await fronted(t)
  await addresses(t, await startNginx(t, gateway, ports => ours(ports)))
})

t.test('an nginx that buffers, speaks HTTP/1.0 and waits little: the same (E5, SSE-08)', { skip }, async t => {
  const gateway = await fronted(t)
  await throughIt(t, gateway, await startNginx(t, gateway, plain))
})

t.test('an nginx that waits less than the keep-alive: cut, resumed, nothing lost (E5)', { skip }, async t => {
  const gateway = await fronted(t, 10 * times.readTimeout)
  const timeouts = [['proxy_read_timeout 1h;', `proxy_read_timeout ${seconds(times.readTimeout)};`]] as const
  await impatient(t, gateway, await startNginx(t, gateway, ports => ours(ports, timeouts)))
})
