/** Built gateways as processes of their own, over one Redis, as a load balancer without affinity has them. */
import type { Test } from 'tap'
import { type GatewayProcess, startGateway } from './gateway-process.ts'
import { type RedisServer, startRedis } from './redis.ts'

/** Who ends what was started, the last first. */
type Owner = Pick<Test, 'teardown'>

export interface Instances {
  readonly server: RedisServer
  readonly all: readonly GatewayProcess[]
  /** One more. `env` is added to its environment. */
  start(env?: Record<string, string>): Promise<GatewayProcess>
}

export interface InstancesOptions {
  readonly count?: number
  /** Port at which instances look for Redis, when something is in between. */
  readonly between?: (server: RedisServer) => Promise<number>
}

/** `config`: all but the store, the key, and what listens where. */
export async function startInstances(
  owner: Owner,
  config: Record<string, unknown>,
  { count = 3, between = async ({ port }) => port }: InstancesOptions = {}
): Promise<Instances> {
  const server = await startRedis(owner)
  const whole = {
    logging: { level: 'warn' },
    ...config,
    store: { kind: 'redis', url: `redis://127.0.0.1:${await between(server)}` },
    secrets: { key: Buffer.alloc(32, 'secret').toString('base64url') }
  }
  const all: GatewayProcess[] = []
  const start = async (env?: Record<string, string>): Promise<GatewayProcess> => {
    const gateway = await startGateway(whole, env)
    all.push(gateway)
    let over = false
    void gateway.ended.then(() => {
      over = true
    })
    // A test that ended it itself has seen how.
    owner.teardown(async () => {
      if (over) return
      gateway.kill('SIGCONT')
      await gateway.stop()
    })
    return gateway
  }
  for (let i = 0; i < count; i++) await start()
  return { server, all, start }
}
