/** Messages of a task carry its id (basic/utilities/tasks, "Related Task Metadata"). */
import { withMember, withMeta, withParam } from '../../protocol/edit.ts'
import { type Message, readMessage } from '../../protocol/message.ts'
import { bytes } from '../../protocol/write.ts'

const key = 'io.modelcontextprotocol/related-task'

/** Own messages are not nested deeper. */
const anyDepth = 1_000

export const relatedMeta = (taskId: string): Readonly<Record<string, unknown>> => ({ [key]: { taskId } })

/** The message with the task in `params._meta`; the rest of it is not touched. */
export function related(message: Message, taskId: string): Message {
  const { params, meta } = message.scanned
  const whole = JSON.stringify(relatedMeta(taskId))
  const edited =
    meta !== undefined
      ? withMeta(message, key, JSON.stringify({ taskId }))
      : params !== undefined
        ? withParam(message, '_meta', whole)
        : withMember(message, 'params', `{"_meta":${whole}}`)
  return readMessage(bytes(edited), anyDepth)
}
