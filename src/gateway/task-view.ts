/** Tasks where several backends are served: ids of theirs are handles to clients, and those of clients are for one of them. Elsewhere nothing is done. */
import type { Backend } from '../backends/backend.ts'
import type { Refusal } from '../exchanges/running.ts'
import { type Message, stringParam } from '../protocol/message.ts'
import { hasTasks } from '../protocol/version.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { ClientTasks } from './client-tasks.ts'
import { withOwnElicitations } from './elicitation-ids.ts'
import { parseHandle } from './handles.ts'
import type { Linked } from './linked.ts'
import { forBackend, forClient, relatedTaskOf } from './task-ids.ts'

export interface TaskView {
  /** Something of a backend, for the client of a session. `request`: what a response answers, as the backend got it. */
  toClient(message: Message, live: Live, backend: Backend, request?: Message): Message
  /** A request or notification of the client, for a backend. */
  toBackend(message: Message, live: Live, backend: Backend): Message
  /** The client's answer to a request of a backend. */
  answerTo(answer: Message, method: string, live: Live, backend: Backend): Message
  /** Why a request of a backend may not be put to the client. */
  refusal(request: Message, live: Live, backend: Backend): Refusal | undefined
  /** Whether a notification of the client is about a task that one backend, `name`, has to do with; undefined: it may be for all. */
  concerned(notice: Message, live: Live): string | undefined
}

/** `several`: whether the route of a session has several backends. */
export function taskView(several: (live: Live) => boolean, linked: Linked): TaskView {
  const clientTasks = new ClientTasks()
  return {
    toClient(message, live, backend, request) {
      if (!several(live)) return message
      linked.learn(message, live, backend, request?.method)
      // Elicitation by URL came with the same revision.
      if (!hasTasks(live.record.client.version)) return message
      return withOwnElicitations(forClient(message, backend.name, request), backend.name)
    },
    toBackend: (message, live, backend) => (several(live) ? forBackend(message, backend.name) : message),
    answerTo(answer, method, live, backend) {
      if (!several(live)) return answer
      clientTasks.learn(answer, method, live, backend)
      return forBackend(answer, backend.name)
    },
    refusal: (request, live, backend) => (several(live) ? clientTasks.refusal(request, live, backend) : undefined),
    concerned(notice, live) {
      if (!several(live)) return undefined
      const own = notice.method === 'notifications/tasks/status' ? stringParam(notice, 'taskId') : relatedTaskOf(notice)
      if (own === undefined) return undefined
      return clientTasks.owner(own, live)?.name ?? parseHandle(own)?.backend
    }
  }
}
