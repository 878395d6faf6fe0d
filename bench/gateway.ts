import fs from 'node:fs'
import path from 'node:path'
import { freePort, Program } from './program.ts'

const main = path.join(import.meta.dirname, '../dist/cli/main.js')

export const broadcastMethod = 'notifications/tools/list_changed'

export interface GatewayOptions {
  /** A folder for its config and log. */
  readonly folder: string
  /** One member of `backends` in the config, or all of them by name. */
  readonly backend?: Record<string, unknown>
  readonly backends?: Readonly<Record<string, Record<string, unknown>>>
  /** Further members of the route. */
  readonly route?: Readonly<Record<string, unknown>>
  /** `info` writes a line per request, into a file; `warn` none. */
  readonly level?: 'info' | 'warn'
  readonly sessions?: Record<string, unknown>
}

export interface Gateway {
  readonly program: Program
  readonly url: string
  readonly adminUrl: string
}

export const gatewayIsBuilt = (): boolean => fs.existsSync(main)

/** The built gateway with its backends on `/mcp`, as a user would start it. */
export const startGateway = async (options: GatewayOptions): Promise<Gateway> => {
  const [port, adminPort] = [await freePort(), await freePort()]
  const level = options.level ?? 'warn'
  const backends = options.backends ?? { bench: options.backend }
  const file = path.join(options.folder, `gateway-${port}.yaml`)
  const config = {
    server: { host: '127.0.0.1', port },
    admin: { host: '127.0.0.1', port: adminPort },
    logging: { level },
    sessions: { max: 100_000, perAddress: 100_000, ...options.sessions },
    backends,
    routes: { '/mcp': { backends: Object.keys(backends), ...options.route } }
  }
  fs.writeFileSync(file, JSON.stringify(config, null, 2))
  const output = path.join(options.folder, `gateway-${port}.log`)
  const program = await Program.start({ args: [main, 'run', '-c', file], port, output })
  return { program, url: `http://127.0.0.1:${port}/mcp`, adminUrl: `http://127.0.0.1:${adminPort}` }
}
