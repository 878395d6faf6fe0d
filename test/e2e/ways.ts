import type { Test } from 'tap'
import { startGateway } from '../helpers/gateway-process.ts'
import { everythingOverStdio, startEverythingOverHttp } from '../helpers/real-servers.ts'

/** A way to server-everything. What it starts ends with the test. */
export type Way = (t: Test) => Promise<string>

/** Without the gateway: shows that a failure elsewhere is the gateway's. */
export const direct: Way = async t => {
  const server = await startEverythingOverHttp()
  t.teardown(server.stop)
  return server.url
}

export const overHttp =
  (config: Record<string, unknown> = {}): Way =>
  async t => {
    const server = await startEverythingOverHttp()
    // Teardowns run in reverse: the gateway ends while its backend is still there.
    t.teardown(server.stop)
    const gateway = await startGateway({ ...config, backends: { everything: { kind: 'http', url: server.url } } })
    t.teardown(gateway.stop)
    return gateway.url()
  }

export const overStdio =
  (config: Record<string, unknown> = {}): Way =>
  async t => {
    const gateway = await startGateway({
      ...config,
      backends: { everything: { kind: 'stdio', ...everythingOverStdio() } }
    })
    t.teardown(gateway.stop)
    return gateway.url()
  }
