/** deploy/haproxy.cfg, and a HAProxy that waits little (E5, SSE-08). */
import t from 'tap'
import { certificate, example, findProgram, type ProxyPorts, replaced, startHaproxy } from '../helpers/proxy.ts'
import { failOnRejections } from '../helpers/rejections.ts'
import { addresses, fronted, impatient, overHttp2, throughIt, times } from './through.ts'

failOnRejections(t)
if (process.env.CAUSEWAY_LONG !== undefined) t.setTimeout(600_000)

const skip = (await findProgram('haproxy')) === undefined && 'HAProxy is not installed'

const shipped = await example('haproxy.cfg')
const ours = (ports: ProxyPorts): string =>
  replaced(shipped, [
    ['maxconn 20000', 'maxconn 100'],
    [
      'bind :443 ssl crt /etc/haproxy/tls/mcp.example.com.pem',
      `bind 127.0.0.1:${ports.plain}\n  bind 127.0.0.1:${ports.tls} ssl crt ${certificate}`
    ],
    ['127.0.0.1:8080 check port 9090', `127.0.0.1:${ports.gateway} check port ${ports.admin}`]
  ])

const plain = ({ plain, gateway }: ProxyPorts): string => `
global
  maxconn 100
defaults
  mode http
  timeout connect 5s
  timeout client ${times.readTimeout}ms
  timeout server ${times.readTimeout}ms
frontend mcp
  bind 127.0.0.1:${plain}
  default_backend causeway
backend causeway
  server causeway1 127.0.0.1:${gateway}
`

t.test(
  'deploy/haproxy.cfg: idle streams live, nothing is held back, resuming works (E5, SSE-08)',
  { skip },
  async t => {
    const gateway = await fronted(t)
    await throughIt(t, gateway, await startHaproxy(t, gateway, ours))
  }
)

t.test('deploy/haproxy.cfg: TLS and HTTP/2', { skip }, async t => {
  const gateway = await fronted(t)
  await overHttp2(t, gateway, await startHaproxy(t, gateway, ours))
})

t.test('deploy/haproxy.cfg: clients are told apart by their addresses (H17)', { skip }, async t => {
  const gateway = await fronted(t)
  await addresses(t, await startHaproxy(t, gateway, ours))
})

t.test('a HAProxy that waits little: the same (E5, SSE-08)', { skip }, async t => {
  const gateway = await fronted(t)
  await throughIt(t, gateway, await startHaproxy(t, gateway, plain))
})

t.test('a HAProxy that waits less than the keep-alive: cut, resumed, nothing lost (E5)', { skip }, async t => {
  const gateway = await fronted(t, 10 * times.readTimeout)
  await impatient(t, gateway, await startHaproxy(t, gateway, plain))
})
