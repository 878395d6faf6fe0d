import { parseArgs } from 'node:util'

export const paths = [
  'calls',
  'eras',
  'module',
  'large',
  'several',
  'lists',
  'merge',
  'streams',
  'sessions',
  'peers'
] as const
export type Path = (typeof paths)[number]

export interface Options {
  readonly only: readonly Path[]
  readonly rounds: number
  /** Measured seconds of each load, after a warm-up of one. */
  readonly seconds: number
  readonly streams: number
  readonly sessions: number
  /** Exit 1 when a bar is missed. */
  readonly check: boolean
  readonly json: string | undefined
}

export const usage = `Usage: npm run bench -- [options]
  --only LIST       of ${paths.join(',')}; default: all
  --rounds N        rounds of each comparison, default 5
  --seconds N       measured seconds of each load, default 3
  --streams N       idle streams, default 5000
  --sessions N      abandoned sessions, default 20000
  --json FILE       writes the figures there too
  --check           exit 1 when a bar is missed
  --smoke           everything once and small, to see that it works; the figures mean nothing`

/** Throws a TypeError that tells what was wrong with the arguments. */
export const readOptions = (args: string[]): Options | 'help' => {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      streams: { type: 'string' },
      sessions: { type: 'string' },
      json: { type: 'string' },
      check: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false }
    }
  })
  if (values.help) return 'help'
  const { smoke } = values
  const number = (name: 'rounds' | 'seconds' | 'streams' | 'sessions', normal: number, small: number): number => {
    const value = Number(values[name] ?? (smoke ? small : normal))
    if (!(value > 0)) throw new TypeError(`--${name} takes a positive number`)
    return value
  }
  const only = (values.only?.split(',') ?? paths.filter(path => !smoke || path !== 'peers')) as Path[]
  const unknown = only.find(path => !paths.includes(path))
  if (unknown !== undefined) throw new TypeError(`--only knows ${paths.join(', ')}, not ${unknown}`)
  return {
    only,
    rounds: number('rounds', 5, 1),
    seconds: number('seconds', 3, 0.3),
    streams: number('streams', 5000, 100),
    sessions: number('sessions', 20_000, 300),
    check: values.check,
    json: values.json
  }
}
