/** A gateway in this process, on ports of its own, from a config as an author writes it. */

import { withoutRestart } from '../../src/config/diff.ts'
import { parse } from '../../src/config/parse.ts'
import { type Config, createGateway, type Gateway, type Parts } from '../../src/index.ts'

export interface RunningGateway {
  readonly gateway: Gateway
  /** URL of a route: `/mcp` unless named. */
  readonly url: string
  readonly adminUrl: string
  readonly config: Config
}

/** The test that owns it: closes it at its end. */
interface Owner {
  teardown(handler: () => Promise<void>): void
}

/** The config of a file as an author writes it. Ports, and a quiet log, are filled in. `directory`: what paths are relative to. */
export function configOf(file: Record<string, unknown>, directory = import.meta.dirname): Config {
  const whole = {
    admin: { port: 0 },
    logging: { level: 'silent' },
    ...file,
    server: { port: 0, ...(file.server as object | undefined) }
  }
  const parsed = parse(JSON.stringify(whole), directory, { env: name => process.env[name], file: () => '' })
  if (parsed.config !== undefined) return parsed.config
  throw new Error(parsed.problems.map(({ path, ...rest }) => `${path}: ${JSON.stringify(rest)}`).join('\n'))
}

/** From the config of such a file. `parts`: what is brought along. */
export async function startGateway(
  t: Owner,
  file: Record<string, unknown>,
  directory = import.meta.dirname,
  parts: Parts = {}
): Promise<RunningGateway> {
  const config = configOf(file, directory)
  const gateway = await createGateway(reloaded ? before(config) : config, parts)
  t.teardown(() => gateway.close({ deadline: 0 }))
  await gateway.listen()
  if (reloaded) await gateway.reload(config)
  return { gateway, url: gateway.url(config.routes[0]!.path), adminUrl: gateway.adminUrl!, config }
}

/** Whether everything that can change comes by a reload: what holds for a config holds for one that came later. */
const reloaded = process.env.CAUSEWAY_RELOADED === '1'

/** A config that differs in all that a reload changes. */
const before = (config: Config): Config =>
  withoutRestart(config, configOf({ backends: { before: { kind: 'http', url: 'http://127.0.0.1:1/mcp' } } }))
