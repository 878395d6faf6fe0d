import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Values } from '../../src/config/expand.ts'
import { parse } from '../../src/config/parse.ts'
import { ConfigError } from '../../src/config/problem.ts'

// The golden messages for broken configs. In the fixture a case begins with `=== what it is`, then comes the config, then
// what is said, each line behind `>>>`, in the order of the file. "hush" is a secret in every one of them.

const golden = readFileSync(new URL('../fixtures/broken-configs.txt', import.meta.url), 'utf8')

const values: Values = {
  env: name => (name === 'TOKEN' ? 'hush' : undefined),
  file(path) {
    throw new Error(`expected a readable file at ${path}: there is no such file`)
  }
}

const cases = golden.split(/^=== /m).slice(1)
t.ok(cases.length >= 100)

for (const block of cases) {
  const [what = '', ...lines] = block.trimEnd().split('\n')
  const says = lines.filter(line => line.startsWith('>>> ')).map(line => `causeway.yaml:${line.slice(4)}`)
  const text = lines.slice(0, -says.length).join('\n')

  t.test(`what is said of ${what} (C1, C6, LIF-03)`, async t => {
    const parsed = parse(text, '/etc/causeway', values)
    const message = parsed.config === undefined ? new ConfigError('causeway.yaml', parsed.problems).message : 'valid'
    t.strictSame(message.split('\n'), says)
    t.notMatch(message, 'hush')
  })
}
