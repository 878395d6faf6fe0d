import type { Broken } from './explain.ts'
import { storeRules } from './store-rules.ts'
import { entries, isEmpty, isMapping, member, namesIn, together } from './written.ts'

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

const backendsOnce = (file: unknown): readonly Broken[] =>
  entries(member(file, 'routes')).flatMap(([path, route]) => {
    const list = member(route, 'backends')
    return (Array.isArray(list) ? list : []).flatMap((name: unknown, index, all) =>
      all.indexOf(name) < index
        ? [{ path: ['routes', path, 'backends', index], message: 'expected every backend once' }]
        : []
    )
  })

interface Said {
  readonly backend: string
  readonly text: string
  /** Undefined: nobody wrote it, so it is not at fault. */
  readonly at: readonly PropertyKey[] | undefined
}

/** What two backends of a route say alike, told once however many routes they share. */
const apart = (
  file: unknown,
  says: (backend: string) => readonly Said[],
  message: (other: string, route: string) => string
): readonly Broken[] => {
  const found = new Map<string, Broken>()
  for (const [route, names] of together(file)) {
    const first = new Map<string, Said>()
    for (const said of names.flatMap(says)) {
      const before = first.get(said.text)
      if (before === undefined) first.set(said.text, said)
      if (before === undefined || before.backend === said.backend) continue
      const [told, other] = said.at === undefined ? [before, said] : [said, before]
      found.set(String(told.at), { path: told.at!, message: message(other.backend, route) })
    }
  }
  return [...found.values()]
}

/** What begins with the prefix of two backends could be meant for either. */
const prefixesApart = (file: unknown): readonly Broken[] =>
  apart(
    file,
    backend => {
      const prefix = member(member(member(file, 'backends'), backend), 'prefix')
      return [
        typeof prefix === 'string'
          ? { backend, text: prefix, at: ['backends', backend, 'prefix'] }
          : { backend, text: backend, at: undefined }
      ]
    },
    (other, route) => `expected another prefix than that of ${other}, both are served at ${route}`
  )

const uriPrefixesApart = (file: unknown): readonly Broken[] =>
  apart(
    file,
    backend => {
      const prefix = member(member(member(file, 'backends'), backend), 'uriPrefix')
      return typeof prefix === 'string' ? [{ backend, text: prefix, at: ['backends', backend, 'uriPrefix'] }] : []
    },
    (other, route) => `expected the URIs of one backend, ${other} has them too and both are served at ${route}`
  )

const extensionsApart = (file: unknown): readonly Broken[] =>
  apart(
    file,
    backend =>
      namesIn(member(member(member(file, 'backends'), backend), 'extensions')).map((text, index) => {
        return { backend, text, at: ['backends', backend, 'extensions', index] }
      }),
    (other, route) => `expected methods of one backend, ${other} has them too and both are served at ${route}`
  )

/** Of two tools with one new name, which would be called is nobody's guess. */
const renamedOnce = (file: unknown): readonly Broken[] =>
  entries(member(file, 'backends')).flatMap(([backend, entry]) =>
    ['tools', 'prompts'].flatMap(kind => {
      const pairs = entries(member(member(entry, kind), 'rename'))
      return pairs
        .filter(([, name], index) => pairs.findIndex(pair => pair[1] === name) < index)
        .map(([own]) => ({ path: ['backends', backend, kind, 'rename', own], message: 'expected every new name once' }))
    })
  )

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
  isMapping(file)
    ? [
        oneBlock,
        knownBackends,
        backendsOnce,
        prefixesApart,
        uriPrefixesApart,
        extensionsApart,
        renamedOnce,
        someRoute,
        headersOnce,
        twoPorts,
        ...storeRules
      ].flatMap(rule => rule(file))
    : []
