/** Who used links uses them no more: what it had at upstreams is given back. */
import type { Live } from '../sessions/lifecycle.ts'
import { subscriptionsAt } from '../sessions/subscribed.ts'
import type { Context } from './context.ts'
import { withdraw } from './methods/subscriptions.ts'

/**
 * Subscriptions at upstreams that others go on sharing are withdrawn; other links are closed. `stays`: those that another instance
 * can open again are let go of. Rejects as `links.release`.
 */
export function giveBack(live: Live, { links, turns }: Pick<Context, 'links' | 'turns'>, stays = false): Promise<void> {
  // A shared upstream outlives the session.
  const shared = [...links.of(live)]
    .filter(({ backend }) => backend.scope === 'shared')
    .map(({ link, backend }) => ({ link, backend, rest: links.users(live, backend) }))
  const released = links.release(live, stays)
  for (const { link, backend, rest } of shared) {
    void withdraw(subscriptionsAt(live.record, backend), link, backend, rest, turns)
  }
  return released
}
