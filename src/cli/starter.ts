/** What `causeway init` writes: a config, a handler, its test, and what npm and editors need. */
import { readFileSync } from 'node:fs'

/** Copied from `config/starter`, as seen from `src/cli` and from `dist/cli` alike. */
const copied = (path: string): string => readFileSync(new URL(`../../config/starter/${path}`, import.meta.url), 'utf8')

/** By path; `dependency` is how npm finds this package. */
export const starter = (dependency: string): Readonly<Record<string, string>> => ({
  'causeway.yaml': config,
  'handlers/greet.ts': copied('handlers/greet.ts'),
  'test/greet.test.ts': copied('test/greet.test.ts'),
  'package.json': json({
    private: true,
    type: 'module',
    scripts: { start: 'causeway', check: 'causeway check', test: 'node --test' },
    dependencies: { causeway: dependency },
    devDependencies: { '@types/node': '^24' }
  }),
  'tsconfig.json': json({
    compilerOptions: {
      target: 'es2024',
      module: 'nodenext',
      types: ['node'],
      strict: true,
      noEmit: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true
    },
    include: ['handlers', 'test']
  })
})

/** These are left as they are when they exist. */
export const keepable: readonly string[] = ['package.json', 'tsconfig.json']

const config = `# yaml-language-server: $schema=./node_modules/causeway/config/causeway.schema.json
server: { port: 8080 }
backends:
  local: { kind: module, path: ./handlers }
`

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`
