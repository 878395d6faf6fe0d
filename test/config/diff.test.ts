/** What a change of the config means (LIF-03, C2). */
import t from 'tap'
import type { Config } from '../../src/config/config.ts'
import { type ConfigDiff, diff, isEmpty, needsRestart, withoutRestart } from '../../src/config/diff.ts'
import { readText, tablesOf } from '../helpers/docs.ts'
import { configOf } from '../helpers/gateway.ts'
import { schemaKeys } from '../helpers/schema-keys.ts'

const a = { kind: 'http', url: 'http://a/mcp' }
const b = { kind: 'http', url: 'http://b/mcp' }
const program = { kind: 'stdio', command: 'x' }
const files = { kind: 'module', path: './x' }
const one = { '/mcp': { backends: ['a'] } }
const changes = (before: Record<string, unknown>, after: Record<string, unknown>): ConfigDiff =>
  diff(configOf(before), configOf(after))

t.test('the order of keys means nothing; nothing changed is nothing to do', t => {
  const found = changes({ backends: { a, b } }, { backends: { b: { url: b.url, kind: b.kind }, a } })
  t.same([found.backends.changed, found.backends.tuned, found.settings, found.restart], [[], [], [], []])
  t.same(found.routes.changed, ['/mcp'], 'only where all are served: in the order of the file')
  t.ok(isEmpty(changes({ backends: { a, b } }, { backends: { a, b } })))
  t.notOk(isEmpty(changes({ backends: { a } }, { backends: { a }, sessions: { max: 1 } })))
  t.ok(isEmpty(changes({ backends: { a } }, { backends: { a }, server: { port: 1 } })))
  t.end()
})

t.test('backends and routes come and go', t => {
  const { backends, routes } = changes({ backends: { a } }, { backends: { b } })
  t.same([backends.added, backends.removed], [['b'], ['a']])
  t.same([routes.added, routes.removed, routes.changed], [['/mcp/b'], ['/mcp/a'], ['/mcp']])
  t.end()
})

const cases: [string, object, object, 'changed' | 'tuned', 'changed' | 'unchanged'][] = [
  ['another address', a, b, 'changed', 'changed'],
  ['another kind', a, { ...a, kind: 'sse' }, 'changed', 'changed'],
  ['another program', program, { ...program, command: 'y' }, 'changed', 'changed'],
  ['other arguments', program, { ...program, args: ['y'] }, 'changed', 'changed'],
  ['another environment', program, { ...program, env: { Y: '1' } }, 'changed', 'changed'],
  ['another folder', program, { ...program, cwd: '/' }, 'changed', 'changed'],
  ['another scope', program, { ...program, scope: 'shared' }, 'changed', 'changed'],
  ['another era', program, { ...program, era: 'modern' }, 'changed', 'changed'],
  ['more processes', program, { ...program, maxProcesses: 64 }, 'tuned', 'unchanged'],
  ['another file', files, { ...files, path: './y' }, 'changed', 'changed'],
  ['a thread', files, { ...files, worker: true }, 'changed', 'changed'],
  ['its memory', files, { ...files, memory: '1GiB' }, 'changed', 'changed'],
  ['strict', files, { ...files, strict: true }, 'changed', 'changed'],
  ['watch', files, { ...files, watch: true }, 'changed', 'changed'],
  ['headers', a, { ...a, headers: { 'x-a': 'b' } }, 'tuned', 'unchanged'],
  ['timeout', a, { ...a, timeout: '1s' }, 'tuned', 'unchanged'],
  ['maxTime', a, { ...a, maxTime: '1s' }, 'tuned', 'unchanged'],
  ['pool', a, { ...a, pool: 'call' }, 'tuned', 'unchanged'],
  ['calls', a, { ...a, calls: 1 }, 'tuned', 'unchanged'],
  ['queue', a, { ...a, queue: 1 }, 'tuned', 'unchanged'],
  ['queueTime', a, { ...a, queueTime: '1s' }, 'tuned', 'unchanged'],
  ['hints', a, { ...a, hints: { reads: { ttl: '1s' } } }, 'tuned', 'unchanged'],
  ['no breaker', a, { ...a, breaker: 'off' }, 'tuned', 'unchanged'],
  ['another breaker', a, { ...a, breaker: { failures: 1 } }, 'tuned', 'unchanged'],
  ['another prefix', a, { ...a, prefix: 'x' }, 'tuned', 'changed'],
  ['another uriPrefix', a, { ...a, uriPrefix: 'x:' }, 'tuned', 'changed'],
  ['other tools', a, { ...a, tools: { deny: ['x'] } }, 'tuned', 'changed'],
  ['other prompts', a, { ...a, prompts: { deny: ['x'] } }, 'tuned', 'changed'],
  ['other resources', a, { ...a, resources: { deny: ['x'] } }, 'tuned', 'changed'],
  ['other extensions', a, { ...a, extensions: ['x/'] }, 'tuned', 'changed']
]
for (const [what, before, after, backend, route] of cases) {
  t.test(`a backend with ${what} is ${backend}, its route ${route}`, t => {
    const found = changes({ backends: { a: before }, routes: one }, { backends: { a: after }, routes: one })
    t.same([found.backends[backend], found.routes[route]], [['a'], ['/mcp']])
    t.end()
  })
}

t.test('every key of a backend is in the table above, or its name', t => {
  const keys = schemaKeys().filter(({ path }) => /^backends\.<name>\.\w+$/.test(path))
  const changedBy = cases.flatMap(([, before, after]) => Object.keys({ ...before, ...after }))
  for (const { path } of keys) t.ok(changedBy.includes(path.split('.').at(-1)!), path)
  t.end()
})

t.test('settings are followed or need a restart, by their own names', t => {
  const found = changes(
    { backends: { a }, admin: false },
    {
      backends: { a },
      server: { port: 1, limits: { body: '1MiB', batch: 2 } },
      admin: { port: 2 },
      sessions: { max: 1 },
      logging: { level: 'warn' }
    }
  )
  t.same(found.settings.toSorted(), ['logging.level', 'server.limits.batch', 'sessions.max'])
  t.same(found.restart.toSorted(), ['admin', 'server.limits.body', 'server.port'])
  t.end()
})

t.test('what needs a restart stays as it was, the rest is as it is now', t => {
  const before = configOf({ backends: { a }, admin: false })
  const after = configOf({
    backends: { b },
    admin: { port: 2 },
    server: { port: 1, limits: { body: '1MiB', batch: 2 } }
  })
  const next: Config = withoutRestart(before, after)
  t.equal(next.admin, undefined)
  t.same(next.server, { ...before.server, limits: { ...before.server.limits, batch: 2 } })
  t.equal(next.backends, after.backends)
  t.same(after.server.port, 1, 'neither is changed')
  t.end()
})

t.test(
  'a setting that is neither known to be followed nor in the page is a mistake (docs/configuration.md)',
  async t => {
    const isFixed = (path: string): boolean =>
      needsRestart.some(fixed => path === fixed || path.startsWith(`${fixed}.`))
    const others = schemaKeys().flatMap(({ path }) =>
      /^(backends|routes|mcpServers|\$schema)/.test(path) ? [] : [path]
    )
    t.same(
      others.filter(path => !isFixed(path)),
      [
        'server.limits.batch',
        'sessions.mode',
        'sessions.idle',
        'sessions.max',
        'sessions.perAddress',
        'streams.response',
        'streams.sseAfter',
        'streams.retain',
        'streams.events',
        'streams.bytes',
        'streams.total',
        'streams.retry',
        'streams.closeAfter',
        'streams.behind',
        'input.timeout',
        'input.rounds',
        'protocolVersion.onMismatch',
        'logging.level',
        'logging.format'
      ],
      'each is tried by test/generations/settings.test.ts, those of the log by test/telemetry/logger.test.ts'
    )
    const [table] = tablesOf(await readText('docs/configuration.md')).filter(
      ({ head }) => head[0] === 'needs a restart'
    )
    t.same(
      table?.rows.map(([cell]) => cell),
      needsRestart.map(path => `\`${path}\``)
    )
  }
)
