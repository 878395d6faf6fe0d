import { base64, withAnnotations } from '../../handlers/block.ts'
import type { ResourceContents } from '../../handlers/content.ts'
import { ProtocolError } from '../../handlers/errors.ts'
import type { ResourceReturn } from '../../handlers/resource.ts'
import { contextOf } from './context.ts'
import { type Conversation, maxSubscriptions } from './conversation.ts'
import { page } from './page.ts'
import { type Params, stringOf } from './params.ts'
import type { Running } from './running.ts'

export function listResources(conversation: Conversation, params: Params): unknown {
  const listed = [...conversation.catalog.resources.values()].map(resource => resource.listed)
  const { items, nextCursor } = page('resources', listed, params.cursor, conversation.pageSize)
  return { resources: items, nextCursor }
}

export function listTemplates(conversation: Conversation, params: Params): unknown {
  const listed = [...conversation.catalog.templates.values()].map(template => template.listed)
  const { items, nextCursor } = page('templates', listed, params.cursor, conversation.pageSize)
  return { resourceTemplates: items, nextCursor }
}

/** server/resources, "Error Handling": what is not there is -32002 with `data.uri`, never empty contents. */
export async function readResource(conversation: Conversation, params: Params, running: Running): Promise<unknown> {
  const uri = stringOf(params, 'uri')
  const warn = (problem: string): void => conversation.warn(`resource "${uri}"`, problem)
  const { returned, mimeType } = await found(conversation, uri, running)
  if (returned === undefined || returned === null) throw new ProtocolError(-32002, 'Resource not found', { uri })
  const items = (Array.isArray(returned) ? returned : [returned]) as (string | Uint8Array | Partial<ResourceContents>)[]
  if (items.length === 0) throw new ProtocolError(-32002, 'Resource not found', { uri })
  return {
    contents: items.map(item => {
      const type = mimeType === undefined ? {} : { mimeType }
      if (typeof item === 'string') return { uri, ...type, text: item }
      if (item instanceof Uint8Array) return { uri, ...type, blob: base64(item) }
      const whole = withAnnotations({ uri, ...type, ...item }, warn)
      return item.blob === undefined ? whole : { ...whole, blob: base64(item.blob) }
    })
  }
}

async function found(
  conversation: Conversation,
  uri: string,
  running: Running
): Promise<{ readonly returned: ResourceReturn; readonly mimeType: string | undefined }> {
  const { resources, templates } = conversation.catalog
  const resource = resources.get(uri)?.definition
  if (resource !== undefined) {
    const context = contextOf(conversation, running, resource.name)
    const returned = await conversation.invoke(resource.name, () => resource.read(uri, context))
    return { returned, mimeType: resource.mimeType }
  }
  for (const { definition, parsed } of templates.values()) {
    const variables = parsed.match(uri)
    if (variables === undefined) continue
    const context = Object.assign(contextOf(conversation, running, definition.name), { uri })
    const returned = await conversation.invoke(definition.name, () => definition.read(variables, context))
    return { returned, mimeType: definition.mimeType }
  }
  return { returned: undefined, mimeType: undefined }
}

export function subscribe(conversation: Conversation, params: Params): unknown {
  const uri = stringOf(params, 'uri')
  if (!conversation.subscriptions.has(uri) && conversation.subscriptions.size >= maxSubscriptions) {
    throw new ProtocolError(-32603, `A session may subscribe to ${maxSubscriptions} resources.`)
  }
  conversation.subscriptions.add(uri)
  return {}
}

export function unsubscribe(conversation: Conversation, params: Params): unknown {
  conversation.subscriptions.delete(stringOf(params, 'uri'))
  return {}
}
