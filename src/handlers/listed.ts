/** What lists show of a definition: what the author set, as set; what is unset or empty is absent. */
import { checkAnnotations, checkIcons, type Warn } from './annotations.ts'
import type { Annotations, Described, Icon, Meta } from './content.ts'
import type { AnyPrompt, AnyTool } from './handler.ts'
import type { ResourceDefinition, ResourceTemplateDefinition } from './resource.ts'
import type { JsonSchema } from './schema.ts'

type Listed = Record<string, unknown>

/** What a tool that takes nothing shows. */
const noArguments: JsonSchema = { type: 'object', properties: {} }

export function listedTool(
  tool: AnyTool,
  input: JsonSchema | undefined,
  output: JsonSchema | undefined,
  warn: Warn
): Meta {
  if (!/^[\w.-]{1,128}$/.test(tool.name)) warn('its name should be 1 to 128 letters, digits, "_", "-" or "."')
  return {
    name: tool.name,
    ...described(tool, warn),
    inputSchema: input ?? noArguments,
    ...(output === undefined ? {} : { outputSchema: output }),
    ...filled('annotations', tool.annotations),
    ...filled('execution', tool.execution),
    ...meta(tool)
  }
}

export function listedResource(resource: ResourceDefinition, warn: Warn): Meta {
  const { size } = resource
  const sized = typeof size === 'number' && size >= 0
  if (size !== undefined && size !== null && !sized) warn('its size is no number of bytes')
  return {
    uri: resource.uri,
    name: resource.name,
    ...described(resource, warn),
    ...text('mimeType', resource.mimeType),
    ...annotations(resource.annotations, warn),
    ...(sized ? { size } : {}),
    ...meta(resource)
  }
}

export const listedTemplate = (template: ResourceTemplateDefinition, warn: Warn): Meta => ({
  uriTemplate: template.uriTemplate,
  name: template.name,
  ...described(template, warn),
  ...text('mimeType', template.mimeType),
  ...annotations(template.annotations, warn),
  ...meta(template)
})

export const listedPrompt = (prompt: AnyPrompt, warn: Warn): Meta => ({
  name: prompt.name,
  ...described(prompt, warn),
  ...(prompt.arguments === undefined || prompt.arguments.length === 0 ? {} : { arguments: prompt.arguments }),
  ...meta(prompt)
})

const described = ({ title, description, icons }: Described, warn: Warn): Listed => ({
  ...text('title', title),
  ...text('description', description),
  ...listedIcons(icons, warn)
})

export function listedIcons(icons: readonly Icon[] | undefined, warn: Warn): Listed {
  if (icons === undefined || icons === null || icons.length === 0) return {}
  checkIcons(icons, warn)
  return { icons }
}

const annotations = (value: Annotations | undefined, warn: Warn): Listed =>
  filled('annotations', value === undefined ? undefined : checkAnnotations(value, warn))

export const text = (key: string, value: string | undefined): Listed =>
  value === undefined || value === null || value === '' ? {} : { [key]: value }

const meta = (described: Described): Listed => filled('_meta', described._meta)

const filled = (key: string, value: object | undefined): Listed =>
  value === undefined || value === null || Object.keys(value).length === 0 ? {} : { [key]: value }
