import t from 'tap'
import { notes } from '../../src/config/notes.ts'
import { parse } from '../../src/config/parse.ts'
import { defaultRoutes } from '../../src/config/resolve.ts'

const entry = '{ kind: sse, url: "http://a/" }'

const configOf = (text: string) => {
  const parsed = parse(text, '/', { env: () => undefined, file: () => '' })
  if (parsed.config === undefined) throw new Error(parsed.problems.map(({ message }) => message).join('\n'))
  return parsed.config
}

t.test('a single backend is at /mcp and at its own path', async t => {
  t.strictSame(
    defaultRoutes(['a']).map(({ path, backends }) => [path, backends]),
    [
      ['/mcp', ['a']],
      ['/mcp/a', ['a']]
    ]
  )
  t.strictSame(notes(configOf(`backends: { a: ${entry} }`)), [])
})

t.test('several backends are at /mcp together, and have a path each', async t => {
  const config = configOf(`backends: { b: ${entry}, a: ${entry} }`)
  t.strictSame(
    config.routes.map(({ path, backends }) => [path, backends]),
    [
      ['/mcp', ['b', 'a']],
      ['/mcp/b', ['b']],
      ['/mcp/a', ['a']]
    ]
  )
  t.strictSame(notes(config), [])
})

t.test('more backends than a route takes have a path each, and a note says that /mcp is not served', async t => {
  const names = Array.from({ length: 65 }, (_, index) => `b${index}`)
  const config = configOf(`backends: { ${names.map(name => `${name}: ${entry}`).join(', ')} }`)
  t.equal(config.routes.length, 65)
  t.equal(config.routes[0]!.path, '/mcp/b0')
  t.match(notes(config), [/^\/mcp is not served/])
})

t.test('routes that are written are the routes; a backend behind none gets a note', async t => {
  const config = configOf(
    `backends: { a: ${entry}, b: ${entry} }\nroutes: { /x/y: { backends: [a], protocol: { versions: ["2025-11-25"] } } }`
  )
  t.equal(config.routes.length, 1)
  t.match(config.routes, [{ path: '/x/y', backends: ['a'], protocol: { versions: ['2025-11-25'] } }])
  t.strictSame(notes(config), ['backend b is behind no route'])
})

t.test('what says something only where several backends are served gets a note elsewhere', async t => {
  const config = configOf(`backends:
  a: { kind: sse, url: "http://a/", prefix: x, uriPrefix: "x:", extensions: [com.example/], tools: {}, prompts: { deny: [] } }
  b: { kind: sse, url: "http://b/", prefix: y, tools: { deny: [x] } }
  c: { kind: sse, url: "http://c/", prefix: z }
routes:
  /a: { backends: [a], separator: ".", page: 5, onError: fail }
  /b: { backends: [b], page: 5 }
  /c: { backends: [c], prefix: always, listTtl: 1s }`)
  const only = 'says something only where several backends are served'
  t.strictSame(notes(config), [
    `separator of route /a ${only}`,
    `onError of route /a ${only}`,
    `page of route /a ${only}`,
    `prefix of backend a ${only}`,
    `uriPrefix of backend a ${only}`,
    `extensions of backend a ${only}`
  ])
})
