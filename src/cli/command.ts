import { readFileSync } from 'node:fs'
import { ConfigError } from '../config/problem.ts'
import { ConfigWatch } from '../config/watch.ts'
import { help, parseArguments, UsageError, usage } from './arguments.ts'
import { check } from './check.ts'
import { configured } from './configured.ts'
import { type ExitCode, exit, type Output } from './exit.ts'
import { init } from './init.ts'
import { type Follow, run } from './run.ts'
import { schema } from './schema.ts'

/** From `src/cli` and from `dist/cli` alike. */
const version = (): string =>
  (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version

/** Does what the command line says. `run` comes back once the gateway listens. */
export const perform = async (args: readonly string[], output: Output): Promise<ExitCode> => {
  try {
    const parsed = parseArguments(args)
    switch (parsed.command) {
      case 'help':
        output.out(help)
        return exit.ok
      case 'version':
        output.out(`${version()}\n`)
        return exit.ok
      case 'schema':
        return schema(output)
      case 'init':
        return await init(parsed.folder, output)
      case 'check':
        return await check(parsed.config, output)
      case 'run': {
        const { path, config, origin } = await configured(parsed.config)
        // Imported only here, so that the other commands start quickly.
        const { createGateway } = await import('../compose.ts')
        const follow: Follow = changed => new ConfigWatch(path, { from: origin, changed })
        return await run(config, createGateway, output.error, follow)
      }
    }
  } catch (error) {
    if (error instanceof UsageError) {
      output.error(`causeway: ${error.message}\n\n${usage}\n\ncauseway --help says more.\n`)
      return exit.usage
    }
    if (error instanceof ConfigError) {
      output.error(`${error.message}\n`)
      return exit.config
    }
    throw error
  }
}
