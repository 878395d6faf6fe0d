/** Config files: references are expanded as their parts say, whatever is wrong is told with its place, and no secret is told. */
/** biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what it is about */
import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { expand, type Values } from '../../src/config/expand.ts'
import { parse } from '../../src/config/parse.ts'
import { ConfigError } from '../../src/config/problem.ts'
import { render } from '../../src/config/render.ts'
import type { Target } from './target.ts'

const secret = 'hush'

const variables: Readonly<Record<string, string>> = {
  NAME: 'value',
  EMPTY: '',
  NESTED: '${NAME} $${ }',
  LINES: 'x\nadmin: false',
  PORT: '8123',
  TOKEN: secret
}

const values: Values = {
  env: name => variables[name],
  file(path) {
    if (path === '/run/secrets/x') return secret
    throw new Error(`expected a readable file at ${path}: there is no such file`)
  }
}

/** Parts of a text and what each comes to; undefined: an error. */
const part: fc.Arbitrary<readonly [string, string | undefined]> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .string({ unit: fc.constantFrom('a', ' ', '}', '{', '\\', '"', '\n', 'é', ':', '-'), maxLength: 6 })
      .map(text => [text, text] as const)
  },
  fc.constantFrom(['$5', '$5'], ['$ ', '$ '], ['$NAME', '$NAME'], ['$${', '${'], ['$$5', '$$5']),
  fc.constantFrom(...Object.entries(variables)).map(([name, value]) => [`\${${name}}`, value] as const),
  fc.constantFrom(...Object.entries(variables)).map(([name, value]) => [`\${env:${name}}`, value] as const),
  fc.constant(['${file:/run/secrets/x}', secret] as const),
  fc
    .tuple(
      fc.constantFrom('NAME', 'EMPTY', 'NOPE'),
      fc.string({ unit: fc.constantFrom('a', ':', '-', '$', '{', ' ', '\n'), maxLength: 5 })
    )
    .map(([name, other]) => [`\${${name}:-${other}}`, name === 'NAME' ? 'value' : other] as const),
  fc.constantFrom(
    ['${NOPE}', undefined],
    ['${}', undefined],
    ['${a b}', undefined],
    ['${1}', undefined],
    ['${NAME:x}', undefined],
    ['${file:/nope}', undefined]
  )
) as any

const references = fc.property(fc.array(part, { maxLength: 8 }), parts => {
  const text = parts.map(([written]) => written).join('')
  const got = expand(text, values)
  if (parts.some(([, value]) => value === undefined)) assert('error' in got, text)
  else assert('text' in got && got.text === parts.map(([, value]) => value).join(''), text)
})

const anyReference = fc.property(
  fc.string({
    unit: fc.constantFrom('$', '{', '}', ':', '-', 'N', 'A', 'M', 'E', 'env:', 'file:', ' '),
    maxLength: 20
  }),
  text => {
    const got = expand(text, values)
    // A text without a reference is itself.
    if (!text.includes('${')) assert.deepEqual(got, { text, used: false })
    if ('error' in got) assert(got.error.length > 0 && text.includes('${'))
  }
)

const few = <T>(...all: T[]): fc.Arbitrary<T> => fc.constantFrom(...all)

/** Values that a setting may have, and those that none may. */
const good = {
  server: fc.record(
    {
      host: few('127.0.0.1', 'localhost', '::1', '${NOPE:-127.0.0.1}'),
      port: few<unknown>(0, 8123, '${PORT}'),
      publicUrl: few('https://mcp.example.com', 'http://a:1/'),
      allowedOrigins: fc.array(few('https://a.example.com', 'http://localhost:3000'), { maxLength: 2 }),
      allowedHosts: fc.array(few('a.example.com', 'b:1'), { maxLength: 2 }),
      trustProxy: fc.array(few('10.0.0.0/8', '::1'), { maxLength: 2 }),
      limits: fc.record(
        { body: few('1MiB', '512B'), depth: few(8, 64), requestTimeout: few('30s', '1m') },
        { requiredKeys: [] }
      )
    },
    { requiredKeys: [] }
  ),
  admin: few<unknown>(false, { port: 0 }, { host: '127.0.0.1', port: 9999 }),
  sessions: fc.record(
    { mode: few('required', 'optional', 'stateless'), idle: few('30m', '1h'), max: few(1, 10) },
    { requiredKeys: [] }
  ),
  streams: fc.record(
    { response: few('auto', 'json', 'sse'), closeAfter: few('off', '90s'), retry: few('1500ms'), total: few('3KiB') },
    { requiredKeys: [] }
  ),
  logging: fc.record({ level: few('info', 'silent'), format: few('json', 'pretty') }, { requiredKeys: [] })
}

const backend = fc.oneof(
  fc.record({
    kind: few('http', 'sse'),
    url: few('http://a/mcp', 'https://b:1/x?y=z'),
    headers: few<unknown>({}, { Authorization: 'Bearer ${TOKEN}' })
  }),
  fc.record({
    kind: few('stdio'),
    command: few('npx', '/bin/x'),
    args: fc.array(few('-y', '--token=${TOKEN}'), { maxLength: 2 }),
    env: few<unknown>({}, { KEY: '${file:/run/secrets/x}' })
  }),
  fc.record({ kind: few('module'), path: few('./handlers', 'x.js') })
)

const valid = fc
  .tuple(
    fc.record(good, { requiredKeys: [] }),
    fc.dictionary(few('docs', 'files', 'a-1', 'B_2'), backend, { minKeys: 1, maxKeys: 3 }),
    fc.boolean()
  )
  .map(([rest, backends, routed]) => ({
    ...rest,
    backends,
    ...(routed ? { routes: { '/mcp': { backends: [Object.keys(backends)[0]] } } } : {})
  }))

/** Two listeners on one port, or a variable in a place that takes none, are no faults of the property. */
const round = fc.property(valid, few<unknown>(undefined, 0, 2), (config, indent) => {
  const text = indent === undefined ? JSON.stringify(config) : stringify(config, { indent: (indent as number) || 4 })
  const parsed = parse(text, '/etc/causeway', values)
  assert(parsed.config !== undefined, JSON.stringify('problems' in parsed ? parsed.problems : ''))
  const shown = render(parsed.config, parsed.source)
  assert(!shown.includes(secret), shown)
  // What is hidden aside, it comes to the same.
  if (!text.includes('${') && !text.includes('y=z'))
    assert.deepEqual(parse(shown, '/etc/causeway', values).config, parsed.config)
})

const broken = readFileSync(new URL('../fixtures/broken-configs.txt', import.meta.url), 'utf8')
  .split(/^=== .*\n/m)
  .slice(1)
  .map(block => block.replace(/^>>> .*\n?/gm, ''))
  .filter(text => !text.includes(secret))

const token = few(
  ...[
    '\n',
    ' ',
    '  ',
    '\t',
    ':',
    ': ',
    '-',
    '- ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '"',
    "'",
    '#',
    '&a ',
    '*a',
    '<<: ',
    '!!js ',
    '!x ',
    '|',
    '>',
    '?',
    '%',
    '---\n',
    '...\n'
  ],
  ...[
    'null',
    'true',
    '1',
    '0x10',
    '1e9',
    '${TOKEN}',
    '${file:/run/secrets/x}',
    '${NOPE}',
    '$${',
    '__proto__: 1\n',
    'backends:',
    'server:',
    '\ufeff',
    '\u0000',
    '\u2028',
    'é',
    '\r\n',
    '\\x',
    '~'
  ]
)

const mutated = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(...broken),
      valid.map(config => stringify(config))
    ),
    fc.array(fc.tuple(fc.nat(), fc.nat(4), fc.oneof(token, fc.string({ maxLength: 3 }))), { maxLength: 5 })
  )
  .map(([text, changes]) => {
    const characters = [...text]
    for (const [at, remove, insert] of changes) characters.splice(at % (characters.length + 1), remove, insert)
    return characters.join('')
  })

const any = fc.property(mutated, text => {
  const parsed = parse(text, '/etc/causeway', values)
  if (parsed.config !== undefined) {
    assert(!render(parsed.config, parsed.source).includes(secret), text)
    return
  }
  assert(parsed.problems.length > 0)
  const lines = text.split(/\r\n|\r|\n/)
  for (const { line, column, message } of parsed.problems) {
    assert(line >= 1 && line <= lines.length + 1, `line ${line} of ${lines.length}: ${message}`)
    assert(column >= 1, `column ${column}: ${message}`)
    assert(message !== '' && !message.includes('undefined'), message)
  }
  const { message } = new ConfigError('causeway.yaml', parsed.problems)
  assert(!message.includes(secret), message)
  assert.equal(message.split('\n').length, parsed.problems.length, `one line each: ${message}`)
})

export const config = {
  properties: {
    'a text is expanded as its parts say': references,
    'whatever looks like a reference is one or an error': anyReference,
    'a config that is shown comes to the same, without its secrets': round,
    'whatever is wrong is told with its place, and no secret is': any
  }
} satisfies Target
