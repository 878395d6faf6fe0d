/** Which changes a client wants to hear of (2026-07-28 basic/patterns/subscriptions, "Notification Filter"). */
import { GatewayError } from '../errors.ts'
import { listKinds } from '../protocol/list-kinds.ts'
import { type Message, stringParam, textOf } from '../protocol/message.ts'
import { requireTasks } from './modern-tasks.ts'

export interface Filter {
  /** The capabilities whose lists it is about. */
  readonly lists: readonly string[]
  readonly uris: readonly string[]
  /** Handles of tasks (extensions/tasks, "Task Status Notifications"). */
  readonly tasks: readonly string[]
}

/** Resources, and tasks, of one subscription. */
export const maxUris = 1_000

/**
 * What nobody knows is left out. Throws GatewayError `meta` (400, -32602) for a filter that is missing or malformed, and
 * `capability` for tasks that the request did not declare.
 */
export function filterOf(request: Message): Filter {
  const { id, source, scanned } = request
  const { params } = scanned
  const malformed = (what: string): GatewayError => new GatewayError('meta', `params.notifications${what}`, { id })
  const text = textOf(source, params, 'notifications')
  const filter: unknown = text === undefined ? undefined : JSON.parse(text)
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) throw malformed(' must be an object')
  const given = filter as Readonly<Record<string, unknown>>
  const lists = Object.entries(listKinds).flatMap(([list, { key }]) => {
    const wanted = given[key] ?? false
    if (typeof wanted !== 'boolean') throw malformed(`.${key} must be a boolean`)
    return wanted ? [list] : []
  })
  const { resourceSubscriptions: uris = [] } = given
  if (!isStrings(uris)) throw malformed('.resourceSubscriptions must be an array of strings')
  const own = [...new Set(uris)]
  if (own.length > maxUris) throw malformed(`.resourceSubscriptions has more than ${maxUris} resources`)
  if (given.taskIds !== undefined) requireTasks(request)
  const { taskIds = [] } = given
  if (!isStrings(taskIds)) throw malformed('.taskIds must be an array of strings')
  const tasks = [...new Set(taskIds)]
  if (tasks.length > maxUris) throw malformed(`.taskIds has more than ${maxUris} tasks`)
  return { lists, uris: own, tasks }
}

const isStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every(element => typeof element === 'string')

/** As an acknowledgement says it. */
export function told({ lists, uris, tasks }: Filter): Record<string, unknown> {
  const kinds = Object.entries(listKinds).filter(([list]) => lists.includes(list))
  return {
    ...Object.fromEntries(kinds.map(([, { key }]) => [key, true])),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
    ...(tasks.length > 0 && { taskIds: tasks })
  }
}

export const isEmpty = ({ lists, uris, tasks }: Filter): boolean => lists.length + uris.length + tasks.length === 0

/** Whether a notification is one of those. What is part of a resource changes with it. */
export function wants({ lists, uris, tasks }: Filter, message: Message): boolean {
  if (message.kind !== 'notification') return false
  if (message.method === 'notifications/resources/updated') {
    const uri = stringParam(message, 'uri')
    return uri !== undefined && uris.some(subscribed => uri.startsWith(subscribed))
  }
  if (message.method === 'notifications/tasks') return tasks.includes(stringParam(message, 'taskId') ?? '')
  return lists.some(list => message.method === listKinds[list]?.method)
}
