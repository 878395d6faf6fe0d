/** What several servers can do together, as `initialize` says it (basic/lifecycle, "Capability Negotiation"; MUX-03). */
import type { Server } from '../backends/backend.ts'

type Capabilities = Readonly<Record<string, unknown>>

/** What is declared while a server was never met: it adds itself by `list_changed` when it comes. */
const anything: Capabilities = { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} }

/** Lists of the gateway's own change whatever the servers say: one that was away comes back. */
const listed = ['tools', 'prompts', 'resources']

/** `servers`: what each can do; undefined for one that was never met. */
export function capabilitiesOf(servers: readonly (Capabilities | undefined)[]): Capabilities {
  const all = servers.map(server => server ?? anything).reduce(together, {})
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      name,
      listed.includes(name) ? together({ listChanged: true }, objectOf(value)) : value
    ])
  )
}

/** Every member of both; of what is no object in both the first, unless it is false. */
function together(one: Capabilities, other: Capabilities): Capabilities {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries(
    [...names].map(name => {
      const [first, second] = [own(one, name), own(other, name)]
      if (isObject(first) && isObject(second)) return [name, together(first, second)]
      return [name, first === undefined || first === false ? (second ?? first) : first]
    })
  )
}

/** Not what every object has. */
const own = (object: Capabilities, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined)

const isObject = (value: unknown): value is Capabilities =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const objectOf = (value: unknown): Capabilities => (isObject(value) ? value : {})

/** Those of all, each under its backend's name. Undefined when there are none. */
export function instructionsOf(servers: readonly { readonly name: string; readonly server: Server | undefined }[]) {
  const parts = servers.flatMap(({ name, server }) => {
    const { instructions } = (server === undefined ? {} : JSON.parse(server.result)) as { instructions?: unknown }
    return typeof instructions === 'string' && instructions.trim() !== '' ? [`# ${name}\n\n${instructions}`] : []
  })
  return parts.length === 0 ? undefined : parts.join('\n\n')
}
