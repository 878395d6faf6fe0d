import { find, load, usualPlaces } from '../config/load.ts'
import { ConfigError } from '../config/problem.ts'

const smallest = `server: { port: 8080 }
backends:
  docs: { kind: http, url: "http://127.0.0.1:3000/mcp" }`

/** The config named on the command line, else the one in the first of the usual places. Throws ConfigError. */
export const configured = async (path: string | undefined, directory = process.cwd()) => {
  const chosen = path ?? (await find(directory))
  if (chosen !== undefined) return { path: chosen, ...(await load(chosen)) }
  const message = `no config here: name one with -c, or write one of the above, for example\n\n${smallest}\n`
  throw new ConfigError(usualPlaces.join(', '), [{ line: 0, column: 0, path: '', message }])
}
