import t from 'tap'
import { parse } from '../../src/config/parse.ts'

const values = {
  env: (name: string) => ({ PORT: '81', TOKEN: '123', LEVEL: 'debug', RATIO: '0.25' })[name],
  file: () => ''
}

const configOf = (text: string) => {
  const parsed = parse(text, '/etc/causeway', values)
  if (parsed.config === undefined) throw new Error(parsed.problems.map(({ message }) => message).join('\n'))
  return parsed.config
}

/** What every kind of backend has. */
const common = {
  extensions: [],
  hints: { lists: { ttl: 0, scope: 'private' }, reads: { ttl: 0, scope: 'private' } },
  calls: 1000,
  queue: 1000,
  queueTime: 5000,
  breaker: { failures: 5, ratio: 0.5, window: 30_000, minimum: 20, pause: 1000, maxPause: 30_000 }
}

const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']

t.test('every setting has the default of the documentation', async t => {
  const { backends, routes, ...rest } = configOf('backends: { demo: { kind: module, path: ./demo.js } }')
  t.strictSame(rest, {
    server: {
      host: '127.0.0.1',
      port: 8080,
      allowedHosts: [],
      trustProxy: [],
      limits: {
        body: 4 * 1024 ** 2,
        upstream: 32 * 1024 ** 2,
        depth: 64,
        batch: 50,
        maxConnections: 10_000,
        headersTimeout: 15_000,
        requestTimeout: 30_000
      },
      shutdown: { delay: 0, deadline: 25_000 }
    },
    admin: { host: '127.0.0.1', port: 9090 },
    store: { kind: 'memory', prefix: 'causeway', deadline: 250 },
    sessions: { mode: 'required', idle: 1_800_000, max: 10_000, perAddress: 1000 },
    streams: {
      response: 'auto',
      sseAfter: 1000,
      retain: 600_000,
      events: 1000,
      bytes: 4 * 1024 ** 2,
      total: 256 * 1024 ** 2,
      keepAlive: 15_000,
      retry: 1000,
      closeAfter: undefined,
      highWater: 1024 ** 2,
      behind: 256,
      stall: 30_000
    },
    secrets: {},
    input: { timeout: 600_000, rounds: 10 },
    protocolVersion: { onMismatch: 'useSession' },
    logging: { level: 'info', format: 'json' }
  })
  t.strictSame(backends, [
    {
      name: 'demo',
      kind: 'module',
      path: '/etc/causeway/demo.js',
      strict: false,
      worker: false,
      memory: 268_435_456,
      watch: false,
      timeout: 60_000,
      maxTime: 300_000,
      ...common
    }
  ])
  t.strictSame(
    routes,
    ['/mcp', '/mcp/demo'].map(path => ({
      path,
      backends: ['demo'],
      prefix: 'auto',
      separator: '_',
      onError: 'skip',
      initTimeout: 2000,
      listTimeout: 5000,
      listTtl: 300_000,
      page: 1000,
      protocol: { versions }
    }))
  )
})

t.test('each kind of backend has its settings, and paths are relative to the file', async t => {
  const { backends } = configOf(`backends:
  docs: { kind: http, url: "https://docs/mcp?x=1", headers: { Authorization: Bearer x }, timeout: 10s, maxTime: 1h }
  old: { kind: sse, url: "HTTP://old/sse" }
  files: { kind: stdio, command: npx, args: [-y, server], env: { A: b }, cwd: ../data, scope: shared, era: modern, maxProcesses: 2 }
  tools: { kind: stdio, command: tools }
  local: { kind: module, path: /opt/handlers, strict: true, worker: true, memory: 1GiB, watch: true }`)
  const times = { timeout: 60_000, maxTime: 300_000, ...common }
  t.strictSame(backends, [
    {
      name: 'docs',
      kind: 'http',
      url: 'https://docs/mcp?x=1',
      headers: { Authorization: 'Bearer x' },
      timeout: 10_000,
      maxTime: 3_600_000,
      era: 'auto',
      ...common
    },
    { name: 'old', kind: 'sse', url: 'HTTP://old/sse', headers: {}, ...times },
    {
      name: 'files',
      kind: 'stdio',
      command: 'npx',
      args: ['-y', 'server'],
      env: { A: 'b' },
      cwd: '/etc/data',
      scope: 'shared',
      era: 'modern',
      maxProcesses: 2,
      ...times
    },
    {
      name: 'tools',
      kind: 'stdio',
      command: 'tools',
      args: [],
      env: {},
      cwd: '/etc/causeway',
      scope: 'session',
      era: 'auto',
      maxProcesses: 32,
      ...times
    },
    {
      name: 'local',
      kind: 'module',
      path: '/opt/handlers',
      strict: true,
      worker: true,
      memory: 1_073_741_824,
      watch: true,
      ...times
    }
  ])
})

t.test('switches: no admin listener, connections of long calls closed', async t => {
  const config = configOf(
    'admin: false\nstreams: { closeAfter: 30s }\nbackends: { demo: { kind: module, path: ./demo.js } }'
  )
  t.equal(config.admin, undefined)
  t.equal(config.streams.closeAfter, 30_000)
})

t.test('what of a backend is served, and how it is guarded', async t => {
  const { backends, routes } = configOf(`backends:
  a:
    kind: http
    url: http://a/
    prefix: A
    uriPrefix: "a://"
    tools: { allow: ["read_*"], deny: [x], rename: { read_a: read }, describe: { read_a: Reads } }
    prompts: { deny: ["*"] }
    resources: { allow: ["a:*"], describe: { "a:1": One } }
    extensions: [com.example/]
    calls: 5
    queue: 0
    queueTime: 1s
    breaker: { ratio: "\${RATIO}", pause: 2s }
  b: { kind: sse, url: "http://b/", breaker: off }
routes: { /mcp: { backends: [b, a], prefix: never, separator: __, onError: fail, page: 2, listTtl: 1h } }`)
  t.match(backends[0], {
    prefix: 'A',
    uriPrefix: 'a://',
    tools: { allow: ['read_*'], deny: ['x'], rename: { read_a: 'read' }, describe: { read_a: 'Reads' } },
    prompts: { deny: ['*'], rename: {} },
    resources: { allow: ['a:*'], describe: { 'a:1': 'One' } },
    extensions: ['com.example/'],
    calls: 5,
    queue: 0,
    queueTime: 1000,
    breaker: { failures: 5, ratio: 0.25, window: 30_000, minimum: 20, pause: 2000, maxPause: 30_000 }
  })
  t.equal(backends[1]!.breaker, undefined)
  t.match(routes, [
    { backends: ['b', 'a'], prefix: 'never', separator: '__', onError: 'fail', page: 2, listTtl: 3_600_000 }
  ])
})

t.test('names that YAML 1.1 or JavaScript reads in another way are names (LIF-03)', async t => {
  const entry = '{ kind: sse, url: "http://a/" }'
  const names = ['no', 'on', 'null', '007', 'constructor', 'toString', 'hasOwnProperty']
  const { backends } = configOf(`backends: { ${names.map(name => `${name}: ${entry}`).join(', ')} }`)
  t.strictSame(backends.map(({ name }) => name).sort(), names.sort())
})

t.test('anchors and aliases are YAML and work', async t => {
  const { backends } = configOf(
    'backends:\n  a: { kind: http, url: "http://a/", headers: &h { X: y } }\n  b: { kind: http, url: "http://b/", headers: *h }'
  )
  t.match(backends, [{ headers: { X: 'y' } }, { headers: { X: 'y' } }])
})

t.test('JSON is accepted', async t => {
  t.equal(configOf('{"server":{"port":81},"backends":{"a":{"kind":"sse","url":"http://a/"}}}').server.port, 81)
})

t.test('an expanded value is a number where one is expected, and text where text is', async t => {
  const config = configOf(`server: { port: "\${PORT}" }
admin: { port: "\${PORT}0" }
logging: { level: "\${LEVEL}" }
backends: { a: { kind: http, url: "http://a/", headers: { X: "\${TOKEN}" }, timeout: "\${PORT}s" } }`)
  t.equal(config.server.port, 81)
  t.equal(config.admin?.port, 810)
  t.equal(config.logging.level, 'debug')
  t.match(config.backends[0], { headers: { X: '123' }, timeout: 81_000 })
})

t.test('mcpServers: entries become backends by type, or by what they have', async t => {
  const { backends, routes } = configOf(`mcpServers:
  a: { command: npx, args: [-y, x], env: { K: v }, cwd: . }
  b: { type: stdio, command: npx }
  c: { url: "http://c/mcp", headers: { X: y } }
  d: { type: http, url: "http://d/mcp" }
  e: { type: streamable-http, url: "http://e/mcp" }
  f: { type: sse, url: "http://f/sse" }`)
  t.strictSame(
    backends.map(({ name, kind }) => `${name} ${kind}`),
    ['a stdio', 'b stdio', 'c http', 'd http', 'e http', 'f sse']
  )
  t.match(backends, [
    { args: ['-y', 'x'], env: { K: 'v' }, cwd: '/etc/causeway', scope: 'session', timeout: 60_000 },
    {},
    { headers: { X: 'y' } }
  ])
  t.strictSame(
    routes.map(({ path }) => path),
    ['/mcp', ...['a', 'b', 'c', 'd', 'e', 'f'].map(name => `/mcp/${name}`)]
  )
})
