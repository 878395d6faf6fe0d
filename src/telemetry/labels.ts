/** Values of metric labels. Peers choose names, methods and codes, so every label takes its values from a bounded set. */
import { type ErrorCode, errorTable } from '../errors.ts'
import { firstModern, legacyVersions } from '../protocol/version.ts'

/** Stands for every value outside of a set. */
export const other = '_other'

const methods = new Set([
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/cancel',
  'tasks/update',
  'server/discover',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/tasks/status'
])

export const methodLabel = (method: string): string => (methods.has(method) ? method : other)

const versions = new Set<string>([...legacyVersions, firstModern])

export const versionLabel = (version: string | undefined): string | undefined =>
  version === undefined || versions.has(version) ? version : other

/** JSON-RPC and MCP codes, of any revision. */
const rpcCodes = new Set([
  -32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32020, -32021, -32022, -32042
])

/** What the conventions let a server report without calling it an error: the client's own mistakes. */
const ofTheClient = new Set([-32700, -32600, -32601, -32602, -32002])

export interface ErrorLabels {
  /** `error.type`: `tool_error`, `cancelled`, a stable code of ours, a JSON-RPC code, or `_other`. */
  readonly type: string
  /** `rpc.response.status_code`, when there was an error response. */
  readonly code: string | undefined
  readonly ofTheClient: boolean
}

const isOwn = (error: string): error is ErrorCode => Object.hasOwn(errorTable, error)

/** `error` as {@link RequestFact} and {@link OperationFact} have it: a JSON-RPC code as text, a stable code, an outcome. */
export const errorLabels = (error: string): ErrorLabels => {
  if (error === 'tool_error' || error === 'cancelled') return { type: error, code: undefined, ofTheClient: false }
  const code = isOwn(error) ? errorTable[error].rpc : Number(error)
  const type = isOwn(error) || rpcCodes.has(code) ? error : other
  return {
    type,
    code: rpcCodes.has(code) ? String(code) : Number.isInteger(code) ? other : undefined,
    ofTheClient: ofTheClient.has(code)
  }
}

/** Reason of a refused request. */
export const reasonLabel = (error: string | undefined): string =>
  error !== undefined && (isOwn(error) || rpcCodes.has(Number(error))) ? error : other

const maxNames = 500
const maxNameLength = 128

/**
 * Names of tools and prompts by backend. A name is one from its first success on: before that it may be an invention of the
 * caller, who could fill the set with them.
 */
export class Names {
  readonly #known = new Map<string, Set<string>>()

  label(backend: string, name: string, succeeded: boolean): string {
    let names = this.#known.get(backend)
    if (names?.has(name)) return name
    if (!succeeded || name.length > maxNameLength) return other
    if (names === undefined) {
      names = new Set()
      this.#known.set(backend, names)
    }
    if (names.size >= maxNames) return other
    names.add(name)
    return name
  }
}
