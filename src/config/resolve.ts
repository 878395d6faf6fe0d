import { resolve as absolute } from 'node:path'
import { legacyVersions } from '../protocol/version.ts'
import type { BackendConfig, Config, File, RouteConfig } from './config.ts'

const named = (name: string, entry: NonNullable<File['backends']>[string], directory: string): BackendConfig => {
  if (entry.kind === 'module') return { name, ...entry, path: absolute(directory, entry.path) }
  if (entry.kind === 'stdio') return { name, ...entry, cwd: absolute(directory, entry.cwd ?? '.') }
  return { name, ...entry }
}

const single = (path: string, backend: string): RouteConfig => ({
  path,
  backends: [backend],
  protocol: { versions: legacyVersions }
})

/** What is served where nothing says it: each backend at `/mcp/<name>`, and a single one at `/mcp` too. */
export const defaultRoutes = (names: readonly string[]): readonly RouteConfig[] => {
  const own = names.map(name => single(`/mcp/${name}`, name))
  return names.length === 1 ? [single('/mcp', names[0]!), ...own] : own
}

/** From the file to what the gateway runs from. Paths in it are relative to the folder it is in. */
export const resolve = (file: File, directory: string): Config => {
  const { $schema, backends, mcpServers, routes, ...rest } = file
  const entries = Object.entries(backends ?? mcpServers ?? {})
  return {
    ...rest,
    backends: entries.map(([name, entry]) => named(name, entry, directory)),
    routes:
      routes === undefined
        ? defaultRoutes(entries.map(([name]) => name))
        : Object.entries(routes).map(([path, route]) => ({ path, ...route }))
  }
}

/** What is right and still may surprise; for the log. */
export const notes = ({ backends, routes }: Config): readonly string[] => {
  const served = new Set(routes.flatMap(route => route.backends))
  const derived = routes.every(({ path, backends: [name] }) => path === `/mcp/${name}`)
  return [
    ...(derived && routes.length > 1
      ? ['/mcp is not served: with several backends each has a path of its own, /mcp/<name>']
      : []),
    ...backends.filter(({ name }) => !served.has(name)).map(({ name }) => `backend ${name} is behind no route`)
  ]
}
