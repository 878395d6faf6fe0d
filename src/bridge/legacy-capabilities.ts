/** What is declared to a legacy upstream for a modern client (decisions: "Modern client, legacy backend: upstream sessions"). */
import { canonical } from '../protocol/canonical.ts'
import { withoutTasks } from './older-capabilities.ts'

export interface Declared {
  /** JSON text; the same for all who declare the same. */
  readonly text: string
  /** Whether the client can be asked for anything. */
  readonly inputs: boolean
}

/** Clients say the same in every request. */
let latest: { readonly given: string; readonly declared: Declared } | undefined

/** Of the `clientCapabilities` of a request: its own, without tasks, which the eras do not share, and without news of roots. */
export function legacyCapabilities(given: string): Declared {
  if (latest?.given !== given) latest = { given, declared: declaredFrom(given) }
  return latest.declared
}

function declaredFrom(given: string): Declared {
  const { tasks: _, roots, ...rest } = withoutTasks(JSON.parse(given) as Record<string, unknown>)
  const declared = { ...rest, ...(isObject(roots) ? { roots: {} } : {}) }
  const inputs = isObject(roots) || isObject(rest.elicitation) || isObject(rest.sampling)
  return { text: canonical(Buffer.from(JSON.stringify(declared)), 0), inputs }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
