/** Which member of `params` the header `Mcp-Name` mirrors (2026-07-28 basic/transports/streamable-http, "Standard Request Headers"; extensions/tasks). */

export type NameParam = 'name' | 'uri' | 'taskId'

const params: Readonly<Record<string, NameParam>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId'
}

/** Undefined: requests of this method have no `Mcp-Name`. */
export const nameParam = (method: string): NameParam | undefined =>
  Object.hasOwn(params, method) ? params[method] : undefined
