/** The file as it was written, right or not. */

export const isMapping = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const entries = (value: unknown): readonly (readonly [string, unknown])[] =>
  isMapping(value) ? Object.entries(value) : []

export const isEmpty = (value: unknown): boolean => isMapping(value) && Object.keys(value).length === 0

export const member = (value: unknown, key: string): unknown => entries(value).find(([name]) => name === key)?.[1]

export const namesIn = (list: unknown): readonly string[] =>
  (Array.isArray(list) ? list : []).filter(name => typeof name === 'string')

/** The backends of each route, and those of `/mcp` where no routes are written. */
export const together = (file: unknown): readonly (readonly [path: string, names: readonly string[]])[] => {
  const routes = member(file, 'routes')
  if (routes === undefined) return [['/mcp', entries(member(file, 'backends')).map(([name]) => name)]]
  return entries(routes).map(([path, route]) => [path, [...new Set(namesIn(member(route, 'backends')))]])
}
