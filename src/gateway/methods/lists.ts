/** `tools/list` and its like: one list of several backends (server/utilities/pagination; MUX-05, MUX-06). */
import { GatewayError } from '../../errors.ts'
import { later } from '../../exchanges/acting.ts'
import { single } from '../../exchanges/source.ts'
import { withId } from '../../protocol/edit.ts'
import { errorMessage } from '../../protocol/make.ts'
import { type Message, stringParam, textParam } from '../../protocol/message.ts'
import { withHint } from '../hints.ts'
import { type ListCursor, readCursor } from '../list-cursor.ts'
import type { Kind } from '../list-items.ts'
import type { Merged } from '../merge.ts'
import type { UnionMethod } from './union-call.ts'

export const listOf =
  (kind: Kind): UnionMethod =>
  ({ request, live, union }) => {
    const { members, options } = union
    const cursor = cursorOf(request, kind, options.generation)
    const known = cursor === undefined || members.some(({ backend }) => backend.name === cursor.backend)
    if (cursor === invalid || !known) {
      const text = `params.cursor is none that ${kind.method} gave`
      return single(errorMessage(new GatewayError('params', text), request.id))
    }
    const view = union.view(live)
    const answer = (merged: Merged): Message => {
      // Whoever left meanwhile does not know it.
      if (!live.closed) view.give(kind, merged)
      const order = members.map(({ backend }) => backend.name)
      const response = withId(merged.page(cursor, order), request.id!)
      return live.modern === true ? withHint(response, view.hint(kind)) : response
    }
    const reading = view.read(kind, live)
    if (reading === undefined && (options.onError === 'skip' || view.failure(kind) === undefined)) {
      const merged = view.merged(kind)
      if ('page' in merged) return single(answer(merged))
    }
    return later(request.id!, async () => {
      await reading
      const failure = options.onError === 'fail' ? view.failure(kind) : undefined
      if (failure !== undefined) throw failure
      return single(answer(await view.merged(kind)))
    })
  }

const invalid: ListCursor = { backend: '', last: '', place: 0 }

/** Undefined for the first page. */
function cursorOf(request: Message, kind: Kind, generation: string): ListCursor | undefined {
  if (textParam(request, 'cursor') === undefined) return undefined
  const text = stringParam(request, 'cursor')
  return (text === undefined ? undefined : readCursor(text, kind, generation)) ?? invalid
}
