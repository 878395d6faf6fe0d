/** What the log keeps with the stream of a POST: the ids of the requests that it answers, as JSON texts, and what the one asks for. */
import { type Message, readMessage } from '../protocol/message.ts'
import type { Facts } from '../streams/stream-log.ts'

interface PostFacts {
  readonly ids: readonly string[]
  /** Left out for a batch. */
  readonly method?: string | undefined
}

export const postFacts = (ids: readonly string[], method: string | undefined): Facts =>
  JSON.stringify({ ids, method: ids.length === 1 ? method : undefined } satisfies PostFacts)

export const idsOf = (facts: Facts): readonly string[] => (JSON.parse(facts) as PostFacts).ids

/** The one request, without its parameters; undefined for those of a batch. */
export function requestOf(facts: Facts): Message | undefined {
  const { ids, method } = JSON.parse(facts) as PostFacts
  if (method === undefined) return undefined
  return readMessage(Buffer.from(`{"jsonrpc":"2.0","id":${ids[0]},"method":${JSON.stringify(method)}}`), 1)
}
