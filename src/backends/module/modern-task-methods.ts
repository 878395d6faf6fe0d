/** What modern clients ask of their tasks (extensions/tasks). */
import { ProtocolError } from '../../handlers/errors.ts'
import type { AnyTool } from '../../handlers/handler.ts'
import { makeNotification } from '../../protocol/make.ts'
import { objectOf } from './ask.ts'
import type { Conversation } from './conversation.ts'
import { statusOf } from './modern-tasks.ts'
import type { Params } from './params.ts'
import type { Json } from './response.ts'
import type { Running } from './running.ts'
import { Taskable } from './taskable.ts'

/** Runs the call so that it may become a task; resolves to what its client gets now. */
export function runAsTask(
  { modernTasks, beside }: Conversation,
  tool: AnyTool,
  outer: Running,
  work: (running: Running) => unknown
): Promise<unknown> {
  const { principal } = outer.call
  const inner = beside(outer, tool.task?.begins === 'handler' ? outer.call : { principal })
  const taskable = new Taskable(outer, inner, () => modernTasks.create(inner, tool))
  if (tool.task?.begins !== 'handler') taskable.becomeTask()
  setImmediate(() => void inner.run(() => work(inner)))
  return taskable.answer
}

export function getModernTask({ modernTasks }: Conversation, params: Params, { call }: Running): Json {
  const task = modernTasks.find(params, call.principal)
  task.fetched ||= task.isOver
  return task.detailed
}

export function updateModernTask({ modernTasks }: Conversation, params: Params, { call }: Running): unknown {
  const task = modernTasks.find(params, call.principal)
  const responses = objectOf(params.inputResponses)
  if (responses === undefined) throw new ProtocolError(-32602, '"params.inputResponses" must be an object.')
  task.update(responses)
  return {}
}

export function cancelModernTask({ modernTasks }: Conversation, params: Params, { call }: Running): unknown {
  modernTasks.find(params, call.principal).cancel('The task was cancelled by request.')
  return {}
}

/** `subscriptions/listen` of tasks: what is known now, then what changes, until the client leaves. */
export async function listenToTasks({ modernTasks }: Conversation, params: Params, running: Running): Promise<unknown> {
  const { taskIds } = (objectOf(params.notifications) ?? {}) as { taskIds?: unknown }
  const tasks = modernTasks.owned(Array.isArray(taskIds) ? taskIds : [], running.call.principal)
  const ids = new Set(tasks.map(({ id }) => id))
  const notifications = ids.size === 0 ? {} : { taskIds: [...ids] }
  void running.say(makeNotification('notifications/subscriptions/acknowledged', { notifications }))
  if (ids.size === 0) return {}
  const leave = modernTasks.listen({ ids, tell: message => void running.say(message) })
  // What happened between the answer to its call and now would never be told.
  for (const task of tasks) if (task.status !== 'working') void running.say(statusOf(task))
  const { signal } = running
  await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
  leave()
  return undefined
}
