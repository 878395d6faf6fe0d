import { resolve as absolute } from 'node:path'
import { type BackendConfig, type Config, type File, maxBackends, type RouteConfig, route } from './config.ts'

const named = (name: string, entry: NonNullable<File['backends']>[string], directory: string): BackendConfig => {
  if (entry.kind === 'module') return { name, ...entry, path: absolute(directory, entry.path) }
  if (entry.kind === 'stdio') return { name, ...entry, cwd: absolute(directory, entry.cwd ?? '.') }
  return { name, ...entry }
}

/** What is served where nothing says it: all backends at `/mcp`, and each at `/mcp/<name>`. */
export const defaultRoutes = (names: readonly string[]): readonly RouteConfig[] => {
  const to = (path: string, backends: readonly string[]): RouteConfig => ({ path, ...route.parse({ backends }) })
  const own = names.map(name => to(`/mcp/${name}`, [name]))
  return names.length > maxBackends ? own : [to('/mcp', names), ...own]
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
