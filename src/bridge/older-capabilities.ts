/** Capabilities across the eras (decisions: "Legacy client, modern backend: capabilities"). */
import { hasElicitation, hasElicitationMode, hasSamplingArrays } from '../protocol/version.ts'

type Capabilities = Readonly<Record<string, unknown>>

/** Extensions that the eras speak each in its own way: what one side says of them means nothing to the other. */
const tasks = 'io.modelcontextprotocol/tasks'

/** What a legacy client of that version declared, as its requests declare it to a modern server. JSON texts. */
export function toModern(declared: string, version: string): string {
  const { tasks: _, roots, sampling, elicitation, ...rest } = JSON.parse(declared) as Capabilities
  return JSON.stringify({
    ...withoutTasks(rest),
    ...(isObject(roots) && { roots: {} }),
    ...(isObject(sampling) && { sampling: samplingOf(sampling, version) }),
    ...(isObject(elicitation) && hasElicitation(version) && { elicitation: elicitationOf(elicitation, version) })
  })
}

function samplingOf({ tools, context, ...rest }: Capabilities, version: string): Capabilities {
  return hasSamplingArrays(version)
    ? { ...rest, ...(tools !== undefined && { tools }), ...(context !== undefined && { context }) }
    : rest
}

/** `{}` means form mode. */
function elicitationOf({ url, ...rest }: Capabilities, version: string): Capabilities {
  return hasElicitationMode(version) && url !== undefined ? { ...rest, url } : rest
}

/** What a modern server can do, as legacy clients are told. */
export function toLegacy(capabilities: Capabilities): Capabilities {
  const { tasks: _, ...rest } = capabilities
  return withoutTasks(rest)
}

function withoutTasks({ extensions, ...rest }: Capabilities): Capabilities {
  if (!isObject(extensions)) return rest
  const { [tasks]: _, ...others } = extensions
  return Object.keys(others).length === 0 ? rest : { ...rest, extensions: others }
}

const isObject = (value: unknown): value is Capabilities =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
