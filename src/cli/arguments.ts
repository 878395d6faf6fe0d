import { parseArgs } from 'node:util'
import { nearest } from '../config/suggest.ts'

export type Command =
  | { readonly command: 'run' | 'check'; readonly config?: string | undefined }
  | { readonly command: 'init'; readonly folder: string }
  | { readonly command: 'schema' | 'help' | 'version' }

/** The command line makes no sense; the message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const usage = `Usage: causeway [run] [-c FILE]     serve
       causeway check [-c FILE]    validate the config, print it with every default, secrets hidden
       causeway init [DIR]         write a config, a handler of your own and its test
       causeway schema             print the JSON Schema of the config`

export const help = `Causeway, a gateway for the Model Context Protocol

${usage}

Options:
  -c, --config FILE   the config; without it the first of ./causeway.yaml, ./config/causeway.yaml
                      and /etc/causeway/causeway.yaml
  -h, --help          this text
  -v, --version       the version

Examples:
  causeway                                serve from one of the usual places
  causeway run -c gateway.yaml            serve from a config of yours
  causeway check -c gateway.yaml          is it right, and what does it come to?
  causeway init my-server                 begin with a handler of your own
  causeway schema > causeway.schema.json  for editors that complete YAML by a schema

SIGTERM and SIGINT let calls in flight finish and end the process; a second one ends it at once.
Exit codes: 0 fine, 1 failed while running or starting, 2 wrong usage, 78 bad config.
`

const commands = ['run', 'check', 'init', 'schema'] as const

/** Throws UsageError. */
export const parseArguments = (args: readonly string[]): Command => {
  const { values, positionals } = parse(args)
  if (values.help) return { command: 'help' }
  if (values.version) return { command: 'version' }
  const [word = 'run', ...rest] = positionals
  const command = commands.find(known => known === word)
  if (command === undefined) {
    const meant = nearest(word, commands)
    throw new UsageError(`unknown command ${word}${meant === undefined ? '' : `. Did you mean ${meant}?`}`)
  }
  const extra = rest[command === 'init' ? 1 : 0]
  if (extra !== undefined) throw new UsageError(`unexpected argument ${extra}`)
  if (command === 'run' || command === 'check') return { command, config: values.config }
  if (values.config !== undefined) throw new UsageError(`${command} takes no --config`)
  return command === 'init' ? { command, folder: rest[0] ?? '.' } : { command }
}

const parse = (args: readonly string[]) => {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        config: { type: 'string', short: 'c' },
        help: { type: 'boolean', short: 'h', default: false },
        version: { type: 'boolean', short: 'v', default: false }
      }
    })
  } catch (error) {
    // The first sentence; the second explains how to pass a positional that begins with a dash.
    throw new UsageError((error as Error).message.split('. ')[0])
  }
}
