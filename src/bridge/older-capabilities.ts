/** Capabilities across the eras (decisions: "Legacy client, modern backend: capabilities"). */
import { tasksKey } from '../protocol/modern.ts'
import { hasElicitation, hasElicitationMode, hasSamplingArrays } from '../protocol/version.ts'

type Capabilities = Readonly<Record<string, unknown>>

/** What a legacy client of that version declared, as its requests declare it to a modern server. JSON texts. */
export function toModern(declared: string, version: string): string {
  const given = withoutTasks(JSON.parse(declared) as Capabilities)
  const { tasks: _, extensions, roots, sampling, elicitation, ...rest } = given
  return JSON.stringify({
    ...rest,
    ...(isObject(extensions) && { extensions }),
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

/** The eras have tasks each in its own way: what one side says of the extension means nothing to the other. The same object when it says nothing. */
export function withoutTasks(capabilities: Capabilities): Capabilities {
  const { extensions, ...rest } = capabilities
  if (!isObject(extensions) || !Object.hasOwn(extensions, tasksKey)) return capabilities
  const { [tasksKey]: _, ...others } = extensions
  return Object.keys(others).length === 0 ? rest : { ...rest, extensions: others }
}

const isObject = (value: unknown): value is Capabilities =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
