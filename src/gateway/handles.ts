/**
 * Ids of tasks and elicitations on a route with several backends, which may use the same id at once: clients see handles, each
 * made of the backend's name and the backend's own id. Nothing is remembered, so that every instance reads every handle; nothing is
 * sealed, so that a handle is worth what the id in it is worth (docs/decisions.md, "Tasks of several backends").
 */
import { splice } from '../protocol/edit.ts'
import type { Span } from '../protocol/find.ts'
import type { Message } from '../protocol/message.ts'

export interface Handle {
  /** Name of a backend. */
  readonly backend: string
  /** The backend's own id, any string. */
  readonly id: string
}

/** In no name of a backend: the first one ends it. */
const separator = '~'

/** What stands before the own id, in its JSON string too: nothing in it needs an escape. */
export const handlePrefix = (backend: string): string => `${backend}${separator}`

/** The message with handles of the backend for the ids at these spans; what is no string stays as it is. */
export function withHandles(message: Message, ids: Iterable<Span>, backend: string): Message {
  const prefix = handlePrefix(backend)
  let edited = message
  for (const { start } of ids) {
    if (message.source[start] === 0x22) edited = splice(edited, { start: start + 1, end: start + 1, text: prefix })
  }
  return edited
}

/** Undefined for what no handle is. Whether there is such a backend is not looked at. */
export function parseHandle(text: string): Handle | undefined {
  const at = text.indexOf(separator)
  return at < 1 ? undefined : { backend: text.slice(0, at), id: text.slice(at + 1) }
}
