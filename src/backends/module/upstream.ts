/** What the gateway itself asks of handlers, as a modern client would. */
import type { Principal } from '../../auth/principal.ts'
import { completed, settled } from '../../protocol/envelope.ts'
import { firstModern } from '../../protocol/version.ts'
import type { Client } from '../../sessions/session.ts'
import type { Link, Upstream } from '../backend.ts'

/** `client`: who the gateway is. */
export const upstreamOf = (
  link: Pick<Link, 'exchange'>,
  principal: Principal,
  { info }: Pick<Client, 'info'>
): Upstream => ({
  exchange: request =>
    link.exchange(settled(completed(request, firstModern, { info, capabilities: '{}' })), { principal })
})
