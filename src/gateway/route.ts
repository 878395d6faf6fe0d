/** A downstream path and what it serves. */
import type { Backend } from '../backends/backend.ts'

export interface Route {
  readonly path: string
  readonly backend: Backend
  /** The revisions served, oldest first. */
  readonly versions: readonly string[]
}

/** What is served where, at this moment. */
export interface Routes {
  /** `path`: exactly as a client wrote it. */
  find(path: string): Route | undefined
}

/** The newest revision that the route serves: the answer to a client that asks for an unknown one. */
export const newest = (route: Route): string => route.versions.at(-1)!
