/** What is listened to (2026-07-28 basic/patterns/subscriptions, "Notification Filter"). */

import { listKinds } from '../protocol/list-kinds.ts'

export interface Filter {
  readonly lists: ReadonlySet<string>
  readonly uris: ReadonlySet<string>
  /** The value of `params.notifications`. */
  params(): Record<string, unknown>
}

/** Everything that one of them wants. */
export function filterOf(wishes: Iterable<Pick<Filter, 'lists' | 'uris'>>): Filter {
  const lists = new Set<string>()
  const uris = new Set<string>()
  for (const wish of wishes) {
    for (const list of wish.lists) lists.add(list)
    for (const uri of wish.uris) uris.add(uri)
  }
  return {
    lists,
    uris,
    params: () => ({
      ...Object.fromEntries([...lists].map(list => [listKinds[list]!.key, true])),
      ...(uris.size > 0 && { resourceSubscriptions: [...uris] })
    })
  }
}

export const isEmpty = ({ lists, uris }: Filter): boolean => lists.size === 0 && uris.size === 0

/** Whether nothing is wanted that is not in it. */
export const holds = (filter: Filter, wanted: Filter): boolean =>
  [...wanted.lists].every(list => filter.lists.has(list)) && [...wanted.uris].every(uri => filter.uris.has(uri))
