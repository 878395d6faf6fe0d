/** Ids of tasks as one session sees them: handles where several backends are served, elsewhere the backend's own. */
import type { Backend } from '../backends/backend.ts'
import type { Message } from '../protocol/message.ts'
import { hasTasks } from '../protocol/version.ts'
import type { Live } from '../sessions/lifecycle.ts'
import { forBackend, forClient } from './task-ids.ts'

export interface TaskView {
  /** Something of a backend, for the client of a session. `request`: what a response answers, as the backend got it. */
  toClient(message: Message, live: Live, backend: Backend, request?: Message): Message
  /** Something of the client, for a backend. */
  toBackend(message: Message, live: Live, backend: Backend | undefined): Message
}

/** `several`: whether the route of a session has several backends. */
export const taskView = (several: (live: Live) => boolean): TaskView => ({
  toClient: (message, live, backend, request) =>
    several(live) && hasTasks(live.record.client.version) ? forClient(message, backend.name, request) : message,
  toBackend: (message, live, backend) =>
    backend !== undefined && several(live) ? forBackend(message, backend.name) : message
})
