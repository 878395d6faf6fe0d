import t from 'tap'
import { parseArguments, UsageError } from '../../src/cli/arguments.ts'

const cases: readonly (readonly [string, object])[] = [
  ['', { command: 'run', config: undefined }],
  ['run', { command: 'run', config: undefined }],
  ['-c x.yaml', { command: 'run', config: 'x.yaml' }],
  ['run --config=x.yaml', { command: 'run', config: 'x.yaml' }],
  ['-c x.yaml check', { command: 'check', config: 'x.yaml' }],
  ['schema', { command: 'schema' }],
  ['init', { command: 'init', folder: '.' }],
  ['init x/y', { command: 'init', folder: 'x/y' }],
  ['-h', { command: 'help' }],
  ['check --help', { command: 'help' }],
  ['-v', { command: 'version' }],
  ['--version', { command: 'version' }]
]
for (const [line, expected] of cases) {
  t.test(`causeway ${line}: ${JSON.stringify(expected)}`, async t => {
    t.strictSame(parseArguments(line.split(' ').filter(Boolean)), expected)
  })
}

const wrong: Readonly<Record<string, string>> = {
  chekc: 'unknown command chekc. Did you mean check?',
  serve: 'unknown command serve',
  'run check': 'unexpected argument check',
  '--port 1': "Unknown option '--port'",
  '-x': "Unknown option '-x'",
  '-c': "Option '-c, --config <value>' argument missing",
  'schema -c x': 'schema takes no --config',
  'init -c x': 'init takes no --config',
  'init x y': 'unexpected argument y',
  '--help=yes': "Option '-h, --help' does not take an argument"
}
for (const [line, message] of Object.entries(wrong)) {
  t.test(`causeway ${line} is no command line`, async t => {
    t.throws(() => parseArguments(line.split(' ')), new UsageError(message))
  })
}
