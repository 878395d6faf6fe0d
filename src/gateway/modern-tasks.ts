/** Tasks of 2026-07-28 (extensions/tasks): who may speak of them, and where their ids stand in results. */
import { GatewayError } from '../errors.ts'
import { splice } from '../protocol/edit.ts'
import { eachMember, elements, find, type Span } from '../protocol/find.ts'
import { type Message, textMeta } from '../protocol/message.ts'
import { capabilitiesKey, tasksKey } from '../protocol/modern.ts'
import { decodeString } from '../protocol/names.ts'
import { without } from '../protocol/remove.ts'

/** Whether a request declares the extension: what was declared by others says nothing of it. */
export function declaresTasks(request: Message): boolean {
  const { extensions } = JSON.parse(textMeta(request, capabilitiesKey) ?? '{}') as { extensions?: unknown }
  return typeof extensions === 'object' && extensions !== null && Object.hasOwn(extensions, tasksKey)
}

/** Throws GatewayError `capability` (400, -32021). */
export function requireTasks(request: Message): void {
  if (declaresTasks(request)) return
  throw new GatewayError('capability', `the request does not declare the extension ${tasksKey}`, {
    id: request.id,
    data: { requiredCapabilities: { extensions: { [tasksKey]: {} } } }
  })
}

const relatedTask = 'io.modelcontextprotocol/related-task'
/** Most results have none: a search of the bytes is cheaper than a look at the members. */
const relatedPart = Buffer.from('related-task')

/** Something that is a task, or about one, with a handle for each id in it. `start`: where its `result`, or `params`, begins. */
export function withHandles(message: Message, start: number, handle: (id: string) => string): Message {
  const { source } = message
  const places = [['taskId']]
  if (source.includes(relatedPart)) {
    for (const path of [[], ['result']]) places.push([...path, '_meta', relatedTask, 'taskId'])
  }
  let edited = message
  for (const path of places) edited = withHandleAt(edited, find(source, start, path), handle)
  return edited
}

/** What is no string stays as it is. */
function withHandleAt(message: Message, span: Span | undefined, handle: (id: string) => string): Message {
  const { source } = message
  if (span === undefined || source[span.start] !== 0x22) return message
  const id = decodeString(source, span.start, span.end)
  const own = handle(id)
  return own === id ? message : splice(message, { ...span, text: JSON.stringify(own) })
}

const supportPart = Buffer.from('"taskSupport"')

/** A list of tools without what legacy clients are told of tasks. `start`: where the result begins. */
export function withoutTaskSupport(response: Message, start: number): Message {
  const { source } = response
  if (!source.includes(supportPart)) return response
  const tools = find(source, start, ['tools'])
  let list = response
  for (const tool of (tools && elements(source, tools.start)) ?? []) {
    const execution = find(source, tool.start, ['execution'])
    if (execution === undefined || source[execution.start] !== 0x7b) continue
    const keys: string[] = []
    eachMember(source, execution.start, key => keys.push(key))
    if (!keys.includes('taskSupport')) continue
    list = without(list, tool.start, keys.length === 1 ? ['execution'] : ['execution', 'taskSupport'])
  }
  return list
}
