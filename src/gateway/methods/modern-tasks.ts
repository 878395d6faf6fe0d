/** `tasks/get`, `tasks/update`, `tasks/cancel` of 2026-07-28 (extensions/tasks): each to the backend whose task it is. */
import { GatewayError } from '../../errors.ts'
import { type MessageSource, single } from '../../exchanges/source.ts'
import { withParam } from '../../protocol/edit.ts'
import { errorMessage } from '../../protocol/make.ts'
import { type Message, stringParam } from '../../protocol/message.ts'
import type { Context } from '../context.ts'
import type { ModernCall } from '../modern-call.ts'
import type { IncomingPost } from '../request.ts'

/** What is no task of this caller is refused before any backend hears of it. */
export function ofTask(
  request: Message,
  incoming: IncomingPost,
  call: ModernCall,
  { taskHandles }: Pick<Context, 'taskHandles'>
): MessageSource {
  const handle = stringParam(request, 'taskId')
  if (handle === undefined) return refused(request, 'params.taskId must be a string')
  const task = taskHandles.read(handle, incoming)
  if (task === undefined) return refused(request, 'params.taskId: there is no such task')
  const { backend, id } = task
  incoming.note.backend = backend.name
  return call.run(backend, id === handle ? request : withParam(request, 'taskId', JSON.stringify(id)))
}

const refused = ({ id }: Message, text: string): MessageSource =>
  single(errorMessage(new GatewayError('params', text, { id }), id))
