/** `resultType`: what a modern result is (2026-07-28 basic/index, "ResultType"). */
import { find } from './find.ts'
import type { Message } from './message.ts'
import { decodeString } from './names.ts'
import { resultStart, without } from './remove.ts'

export const complete = 'complete'
export const inputRequired = 'input_required'

/** An absent one means `complete`. Undefined: it is no string, or the response is an error. */
export function resultTypeOf(response: Message): string | undefined {
  const start = resultStart(response)
  if (start === undefined) return undefined
  const { source } = response
  const span = find(source, start, ['resultType'])
  if (span === undefined) return complete
  return source[span.start] === 0x22 ? decodeString(source, span.start, span.end) : undefined
}

/** A result as older revisions have it. */
export const withoutResultType = (response: Message): Message =>
  without(response, resultStart(response)!, ['resultType'])
