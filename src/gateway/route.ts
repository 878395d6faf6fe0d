/** A downstream path and what it serves. */
import type { Backend } from '../backends/backend.ts'
import { isVersion } from '../protocol/version.ts'
import type { Union } from './union.ts'

export interface Route {
  readonly path: string
  /** In the order of the config. */
  readonly backends: readonly Backend[]
  /** The only one, where nothing of it is changed: it answers for itself. */
  readonly backend: Backend | undefined
  /** Of several backends, or of one that is not served as it is. */
  readonly union: Union | undefined
  /** The revisions served, oldest first. */
  readonly versions: readonly string[]
}

/** What is served where, at this moment. */
export interface Routes {
  /** `path`: exactly as a client wrote it. */
  find(path: string): Route | undefined
}

/** The newest legacy revision that the route serves: the answer to a client that asks for an unknown one. */
export const newest = (route: Route): string => route.versions.findLast(isVersion)!
