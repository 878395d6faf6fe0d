import { anonymous, type Principal } from '../../auth/principal.ts'
import type { Tool } from '../../handlers/catalog.ts'
import type { HandlerDefinition } from '../../handlers/definition.ts'
import { listedIcons, text } from '../../handlers/listed.ts'
import { tasksKey } from '../../protocol/modern.ts'
import { hasTasks } from '../../protocol/version.ts'
import type { Server } from '../backend.ts'
import type { Shared } from './shared.ts'

/** What `initialize` answers a client of this version: a capability for whatever exists, and for nothing else (R30). Tasks of both eras are declared: clients hear of those of their own. */
export function serverOf(shared: Shared, info: HandlerDefinition, version: string, principal: Principal): Server {
  const { catalog } = shared
  const { tools, resources, templates, prompts } = catalog
  const completes =
    shared.complete !== undefined ||
    [...prompts.values(), ...templates.values()].some(({ definition }) => definition.complete !== undefined)
  const runsTasks = [...tools.values()].some(supportsTasks)
  const capabilities = {
    ...(shared.logging === false ? {} : { logging: {} }),
    ...(completes ? { completions: {} } : {}),
    ...(prompts.size === 0 ? {} : { prompts: { listChanged: true } }),
    ...(resources.size + templates.size === 0 ? {} : { resources: { subscribe: true, listChanged: true } }),
    ...(runsTasks ? { extensions: { [tasksKey]: {} } } : {}),
    ...(runsTasks && hasTasks(version) ? { tasks: tasksFor(principal) } : {}),
    ...(tools.size === 0 ? {} : { tools: { listChanged: true } })
  }
  const result = {
    protocolVersion: version,
    capabilities,
    serverInfo: {
      name: info.name,
      ...text('title', info.title),
      version: info.version ?? '1.0.0',
      ...text('description', info.description),
      ...listedIcons(info.icons, problem => shared.warn(`handler "${info.name}"`, problem)),
      ...text('websiteUrl', info.websiteUrl)
    },
    ...text('instructions', info.instructions)
  }
  return { version, capabilities, result: JSON.stringify(result) }
}

const supportsTasks = ({ definition: { execution } }: Tool): boolean =>
  execution?.taskSupport === 'optional' || execution?.taskSupport === 'required'

/** Who cannot be told from others gets no list (basic/utilities/tasks, "Task Isolation and Access Control"; R120). */
const tasksFor = ({ key }: Principal): Readonly<Record<string, unknown>> => ({
  ...(key === anonymous.key ? {} : { list: {} }),
  cancel: {},
  requests: { tools: { call: {} } }
})
