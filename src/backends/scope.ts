/**
 * Whose code runs. An error that nobody caught (a timer that throws, a promise that nobody waits for) is told to whoever
 * runs the code that it came of, and harms no other.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface Scope {
  /** Must not throw. */
  fault(error: unknown): void
}

const scopes = new AsyncLocalStorage<Scope>()

export const inScope = <T>(scope: Scope, work: () => T): T => scopes.run(scope, work)

/**
 * Whether an error that nobody caught came of a handler, which has been told then. For the listener of a process, called
 * where the error arrives: `process.on('uncaughtException', error => faultOfHandler(error) || end(error))`.
 */
export function faultOfHandler(error: unknown): boolean {
  const scope = scopes.getStore()
  scope?.fault(error)
  return scope !== undefined
}
