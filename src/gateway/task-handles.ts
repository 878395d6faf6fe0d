/**
 * Ids of tasks on a route with several backends, which may use the same id at once: clients see handles, each made of the
 * backend's name and the backend's own id. Nothing is remembered, so that every instance reads every handle; nothing is
 * sealed, so that a handle is worth what the id in it is worth (docs/decisions.md, "Tasks of several backends").
 */

export interface TaskHandle {
  /** Name of a backend. */
  readonly backend: string
  /** The backend's own id, any string. */
  readonly id: string
}

/** In no name of a backend: the first one ends it. */
const separator = '~'

/** What stands before the own id, in its JSON string too: nothing in it needs an escape. */
export const handlePrefix = (backend: string): string => `${backend}${separator}`

export const handleOf = ({ backend, id }: TaskHandle): string => handlePrefix(backend) + id

/** Undefined for what no handle is. Whether there is such a backend is not looked at. */
export function parseHandle(text: string): TaskHandle | undefined {
  const at = text.indexOf(separator)
  return at < 1 ? undefined : { backend: text.slice(0, at), id: text.slice(at + 1) }
}
