import t from 'tap'
import { parse } from '../../src/config/parse.ts'
import { defaultRoutes, notes } from '../../src/config/resolve.ts'

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

t.test('several backends have a path each, and a note says that /mcp is not served', async t => {
  const config = configOf(`backends: { a: ${entry}, b: ${entry} }`)
  t.strictSame(
    config.routes.map(({ path, backends }) => [path, backends]),
    [
      ['/mcp/a', ['a']],
      ['/mcp/b', ['b']]
    ]
  )
  t.match(notes(config), [/^\/mcp is not served/])
})

t.test('routes that are written are the routes; a backend behind none gets a note', async t => {
  const config = configOf(
    `backends: { a: ${entry}, b: ${entry} }\nroutes: { /x/y: { backends: [a], protocol: { versions: ["2025-11-25"] } } }`
  )
  t.strictSame(config.routes, [{ path: '/x/y', backends: ['a'], protocol: { versions: ['2025-11-25'] } }])
  t.strictSame(notes(config), ['backend b is behind no route'])
})
