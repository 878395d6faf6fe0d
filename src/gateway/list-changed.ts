/** `list_changed` for what a server advertises: said when a client may have missed something. */
import type { Server } from '../backends/backend.ts'
import { listKinds } from '../protocol/list-kinds.ts'
import { makeNotification } from '../protocol/make.ts'
import type { Message } from '../protocol/message.ts'

export function listChanges(server: Server): Message[] {
  return Object.entries(listKinds)
    .filter(([kind]) => (server.capabilities[kind] as { listChanged?: unknown } | undefined)?.listChanged === true)
    .map(([, { method }]) => makeNotification(method))
}
