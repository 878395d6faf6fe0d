/**
 * Ids of elicitations by URL (2025-11-25 client/elicitation): a client takes all backends of its route for one server, whose
 * ids are unique. Those of several backends get the name of theirs in front. They only ever go to the client.
 */
import { elements, find, type Span } from '../protocol/find.ts'
import type { Message } from '../protocol/message.ts'
import { withHandles } from './handles.ts'

const member = 'elicitationId'

/** Something of a backend, for the client. */
export const withOwnElicitations = (message: Message, backend: string): Message =>
  withHandles(message, idsIn(message), backend)

function* idsIn({ method, source, scanned: { top, params } }: Message): Iterable<Span> {
  if (method === 'elicitation/create' || method === 'notifications/elicitation/complete') {
    const id = params && find(source, params.start, [member])
    if (id !== undefined) yield id
    return
  }
  const i = top.keys.indexOf('error')
  if (i === -1 || !source.includes(member)) return
  // A URLElicitationRequiredError names those that the call waits for.
  const list = find(source, top.spans[2 * i]!, ['data', 'elicitations'])
  for (const { start } of (list && elements(source, list.start)) ?? []) {
    const id = find(source, start, [member])
    if (id !== undefined) yield id
  }
}
