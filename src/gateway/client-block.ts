/** What clients take. */
import type { RouteConfig } from '../config/config.ts'

/**
 * The block `mcpServers` of desktop clients: routes in their order, without those that add no backend, so that a client has
 * every tool once. A route of one backend has its name, one of several that of its path.
 */
export function clientBlock(routes: readonly RouteConfig[], url: (path: string) => string): object {
  const served = new Set<string>()
  const block = new Map<string, object>()
  for (const { path, backends } of routes) {
    if (backends.every(name => served.has(name))) continue
    for (const name of backends) served.add(name)
    const [only, second] = backends
    const usual = second === undefined ? only! : nameOf(path)
    let name = usual
    for (let count = 2; block.has(name); count++) name = `${usual}-${count}`
    block.set(name, { type: 'http', url: url(path) })
  }
  return Object.fromEntries(block)
}

/** The usual path says nothing. */
const nameOf = (path: string): string => (path === '/mcp' ? 'causeway' : path.slice(1).replaceAll('/', '-'))
