/** biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are what is tested */
import t from 'tap'
import { expand } from '../../src/config/expand.ts'

const values = {
  env: (name: string) => ({ NAME: 'value', EMPTY: '', NESTED: '${NAME}', LINES: 'x\nadmin: false' })[name],
  file(path: string) {
    if (path === '/run/secrets/x') return 'from a file'
    throw new Error('no such file')
  }
}

const cases: Readonly<Record<string, string>> = {
  '': '',
  'no reference': 'no reference',
  $NAME: '$NAME',
  'a $ and a }': 'a $ and a }',
  '${NAME}': 'value',
  'Bearer ${NAME}!': 'Bearer value!',
  '${NAME}${NAME}': 'valuevalue',
  '${env:NAME}': 'value',
  '${EMPTY}': '',
  '${EMPTY:-default}': 'default',
  '${NOPE:-default}': 'default',
  '${env:NOPE:-a:-b}': 'a:-b',
  '${NOPE:-}': '',
  '${NAME:-default}': 'value',
  '${file:/run/secrets/x}': 'from a file',
  '$${NAME}': '${NAME}',
  '$$${NAME}': '$${NAME}',
  'costs $$5': 'costs $$5'
}

for (const [text, expected] of Object.entries(cases)) {
  t.test(`${JSON.stringify(text)} expands to ${JSON.stringify(expected)}`, async t => {
    t.strictSame(expand(text, values), { text: expected, used: /(^|[^$])\$\{/.test(text) })
  })
}

t.test('a value is taken as it is: not expanded again, no YAML in it (C4)', async t => {
  t.match(expand('${NESTED}', values), { text: '${NAME}' })
  t.match(expand('${LINES}', values), { text: 'x\nadmin: false' })
})

t.test('what is no reference is an error, and so is one to nothing', async t => {
  for (const text of [
    '${',
    '${}',
    '${NAME',
    '${NOPE}',
    '${a b}',
    '${1}',
    '${NAME:default}',
    '${file:/nope}',
    '${ NAME }'
  ]) {
    t.type((expand(text, values) as { error: string }).error, 'string', text)
  }
})
