import type { Broken } from './explain.ts'

const isMapping = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const entries = (value: unknown): readonly (readonly [string, unknown])[] =>
  isMapping(value) ? Object.entries(value) : []

const isEmpty = (value: unknown): boolean => isMapping(value) && Object.keys(value).length === 0

const member = (value: unknown, key: string): unknown => entries(value).find(([name]) => name === key)?.[1]

const oneBlock = (file: unknown): readonly Broken[] => {
  const [first, second] = ['backends', 'mcpServers'].filter(block => member(file, block) !== undefined)
  if (second !== undefined) return [{ path: [second], message: 'expected backends or mcpServers, not both', key: true }]
  const path = [first ?? 'backends']
  const example = '<name>: { kind: http, url: "http://..." }'
  return first === undefined || isEmpty(member(file, first))
    ? [{ path, message: `expected at least one backend, ${example}`, key: first !== undefined }]
    : []
}

const knownBackends = (file: unknown): readonly Broken[] => {
  const words = [...entries(member(file, 'backends')), ...entries(member(file, 'mcpServers'))].map(([name]) => name)
  return entries(member(file, 'routes')).flatMap(([path, route]) => {
    const names = member(route, 'backends')
    return (Array.isArray(names) ? names : []).flatMap((name: unknown, index) =>
      typeof name !== 'string' || words.includes(name)
        ? []
        : [{ path: ['routes', path, 'backends', index], message: 'expected the name of a backend', words }]
    )
  })
}

const someRoute = (file: unknown): readonly Broken[] =>
  isEmpty(member(file, 'routes'))
    ? [{ path: ['routes'], message: 'expected at least one path, or no routes at all', key: true }]
    : []

/** The names of headers are the same in any case: which of two would be sent is nobody's guess. */
const headersOnce = (file: unknown): readonly Broken[] =>
  ['backends', 'mcpServers'].flatMap(block =>
    entries(member(file, block)).flatMap(([backend, entry]) => {
      const names = entries(member(entry, 'headers')).map(([name]) => name)
      return names
        .filter((name, index) => names.findIndex(other => other.toLowerCase() === name.toLowerCase()) < index)
        .map(name => ({ path: [block, backend, 'headers', name], message: 'expected every header once', key: true }))
    })
  )

const twoPorts = (file: unknown): readonly Broken[] => {
  const [server, admin] = [member(file, 'server'), member(file, 'admin')]
  const ports = [member(server, 'port') ?? 8080, member(admin, 'port') ?? 9090]
  const hosts = [member(server, 'host') ?? '127.0.0.1', member(admin, 'host') ?? '127.0.0.1']
  const same = hosts[0] === hosts[1] || hosts.some(host => host === '0.0.0.0' || host === '::')
  return admin !== false && ports[0] === ports[1] && ports[0] !== 0 && same
    ? [
        {
          path: [member(admin, 'port') === undefined ? 'server' : 'admin', 'port'],
          message: 'expected different ports for server and admin'
        }
      ]
    : []
}

/**
 * Rules across keys that a schema of each key cannot hold. They look at the file as it was written, right or not, so that
 * what they find is told together with everything else.
 */
export const rules = (file: unknown): readonly Broken[] =>
  isMapping(file) ? [oneBlock, knownBackends, someRoute, headersOnce, twoPorts].flatMap(rule => rule(file)) : []
