/** What clients take. */
import type { RouteConfig } from '../config/config.ts'

/** The block `mcpServers` of desktop clients: each backend at the first of its routes. */
export function clientBlock(routes: readonly RouteConfig[], url: (path: string) => string): object {
  const firsts = new Map<string, string>()
  for (const { path, backends } of routes) {
    const [name = ''] = backends
    if (!firsts.has(name)) firsts.set(name, path)
  }
  return Object.fromEntries([...firsts].map(([name, path]) => [name, { type: 'http', url: url(path) }]))
}
