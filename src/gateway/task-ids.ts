/**
 * Where ids of tasks stand in messages (basic/utilities/tasks), and what becomes of them between a client and one of several
 * backends: splices of the ids alone. Ids of tasks that clients run for backends are the client's own, and pass as they are.
 */
import { splice } from '../protocol/edit.ts'
import { elements, find, type Span } from '../protocol/find.ts'
import type { Message } from '../protocol/message.ts'
import { decodeString } from '../protocol/names.ts'
import type { Members } from '../protocol/scan.ts'
import { handlePrefix, parseHandle, withHandles } from './handles.ts'

const relatedTask = 'io.modelcontextprotocol/related-task'

/** Most results have none: a search of the bytes is cheaper than a look at the members. The slash may be written as an escape. */
const relatedPart = Buffer.from('related-task')

/** Something of a backend, with handles for its ids. `request`: what a response answers, as the backend got it. */
export const forClient = (message: Message, backend: string, request?: Message): Message =>
  withHandles(message, ownIds(message, request), backend)

/** Something of a client, with the backend's own ids for its handles; what is no handle of this backend stays as it is. */
export function forBackend(message: Message, backend: string): Message {
  const span = message.kind === 'response' ? relatedOfResult(message) : relatedOfParams(message)
  const id = span && stringAt(message, span)
  const handle = id === undefined ? undefined : parseHandle(id)
  if (handle === undefined || handle.backend !== backend) return message
  return splice(message, { ...span!, text: JSON.stringify(handle.id) })
}

/** Id of the task that a request or notification belongs to, as it stands there. */
export function relatedTaskOf(message: Message): string | undefined {
  const span = relatedOfParams(message)
  return span && stringAt(message, span)
}

const stringAt = ({ source }: Message, { start, end }: Span): string | undefined =>
  source[start] === 0x22 ? decodeString(source, start, end) : undefined

function* ownIds(message: Message, request: Message | undefined): Iterable<Span> {
  const related = message.kind === 'response' ? relatedOfResult(message) : relatedOfParams(message)
  if (related !== undefined) yield related
  const other =
    message.kind === 'response'
      ? request && idOfResult(message, request)
      : message.method === 'notifications/tasks/status'
        ? spanOf(message.scanned.params, 'taskId')
        : undefined
  if (other !== undefined) yield other
}

/** Of a CreateTaskResult, and of the results that are a task. Those of `tasks/list` are merged, not passed. */
function idOfResult(response: Message, request: Message): Span | undefined {
  if (request.method === 'tasks/get' || request.method === 'tasks/cancel') return inResult(response, ['taskId'])
  return request.scanned.params?.keys.includes('task') ? inResult(response, ['task', 'taskId']) : undefined
}

const relatedOfResult = (response: Message): Span | undefined =>
  response.source.includes(relatedPart) ? inResult(response, ['_meta', relatedTask, 'taskId']) : undefined

function relatedOfParams({ source, scanned }: Message): Span | undefined {
  const related = spanOf(scanned.meta, relatedTask)
  return related && find(source, related.start, ['taskId'])
}

function inResult({ source, scanned }: Message, path: readonly string[]): Span | undefined {
  const result = spanOf(scanned.top, 'result')
  return result && find(source, result.start, path)
}

function spanOf(members: Members | undefined, key: string): Span | undefined {
  const i = members === undefined ? -1 : members.keys.indexOf(key)
  return i === -1 ? undefined : { start: members!.spans[2 * i]!, end: members!.spans[2 * i + 1]! }
}

/** JSON texts of the tasks in a `tasks/list` response, with handles, and the cursor of what follows; undefined when it has no list. */
export function listedTasks(
  response: Message,
  backend: string
): { readonly tasks: readonly string[]; readonly next: string | undefined } | undefined {
  const { source } = response
  const list = inResult(response, ['tasks'])
  const spans = list && elements(source, list.start)
  if (spans === undefined) return undefined
  const prefix = handlePrefix(backend)
  const tasks = spans.map(({ start, end }) => {
    const id = find(source, start, ['taskId'])
    if (id === undefined || source[id.start] !== 0x22) return source.toString('utf8', start, end)
    return source.toString('utf8', start, id.start + 1) + prefix + source.toString('utf8', id.start + 1, end)
  })
  const cursor = inResult(response, ['nextCursor'])
  return { tasks, next: cursor && stringAt(response, cursor) }
}
