/** What the log keeps with the stream of a POST: the ids of the requests that it answers, as JSON texts. */
import type { Facts } from '../streams/stream-log.ts'

interface PostFacts {
  readonly ids: readonly string[]
}

export const postFacts = (ids: readonly string[]): Facts => JSON.stringify({ ids } satisfies PostFacts)

export const idsOf = (facts: Facts): readonly string[] => (JSON.parse(facts) as PostFacts).ids
